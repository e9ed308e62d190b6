"""The semantic keys of a request: what they depend on, and the exact bytes that are digested."""

import hashlib
from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without
from weftwork.protocol.models import request_key
from weftwork.protocol.models.model_catalogue import ModelPrice
from weftwork.protocol.models.request_key import semantic_keys

REQUEST: dict[str, Any] = {
    "provider": "OpenAI",
    "model": "m-1",
    "messages": [{"role": "user", "content": "Grüße 😀"}, {"role": "assistant", "content": "Hi"}],
    "tools": [{"name": "b"}, {"name": "a", "parameters": {"z": 1.0, "a": None}}],
    "temperature": 0.0,
}
MESSAGES = '"messages":[{"content":"Grüße 😀","role":"user"},{"content":"Hi","role":"assistant"}],"model":"m-1"'
TOOLS = '"temperature":0,"tools":[{"name":"a","parameters":{"a":null,"z":1}},{"name":"b"}]}'
REORDERED = {"tools": REQUEST["tools"][::-1]}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.rule("model-40")
def test_the_digest_is_over_the_canonical_form_of_the_semantic_members() -> None:
    assert semantic_keys(REQUEST)["v1"] == sha256(f'{{{MESSAGES},"provider":"openai",{TOOLS}')
    recipe = '"recipe":"openwop-semantic-request-v2"'
    assert semantic_keys(REQUEST)["v2"] == sha256(f'{{{MESSAGES},"provider":"openai",{recipe},{TOOLS}')
    minimal = {"provider": "p", "model": "m", "messages": []}
    assert semantic_keys(minimal)["v1"] == sha256('{"messages":[],"model":"m","provider":"p"}')


@pytest.mark.rule("model-40")
@fails_without(request_key, "V1_MEMBERS", ("provider", "model", "messages"), match="v1")
@fails_without(request_key, "V2_MEMBERS", request_key.V1_MEMBERS, match="v2")
@each_case(
    "more, changes_v1, changes_v2",
    ({"provider": "openai"}, False, False),
    (REORDERED, False, False),
    ({"stream": True, "apiKey": "sk", "user": "u", "requestId": "r"}, False, False),
    ({"temperature": 0}, False, False),
    ({"temperature": 0.1}, True, True),
    ({"model": "m-2"}, True, True),
    ({"provider": "other"}, True, True),
    ({"messages": REQUEST["messages"][::-1]}, True, True),
    ({"topP": 0.5}, True, True),
    ({"topK": 5}, True, True),
    ({"responseFormat": {"type": "json_object"}}, True, True),
    ({"maxOutputTokens": 5}, False, True),
    ({"stop": ["END"]}, False, True),
    ({"seed": 7}, False, True),
    ({"safetySettings": {}}, False, True),
    ({"providerOptions": {"a": 1}}, False, True),
)
def test_what_can_change_the_answer_changes_the_key(more: dict[str, Any], changes_v1: bool, changes_v2: bool) -> None:
    other = {**REQUEST, **more}
    assert (semantic_keys(other)["v1"] != semantic_keys(REQUEST)["v1"]) == changes_v1, "v1"
    assert (semantic_keys(other)["v2"] != semantic_keys(REQUEST)["v2"]) == changes_v2, "v2"
    assert semantic_keys(other)["v1"] != semantic_keys(other)["v2"]


@pytest.mark.rule("rel-17")
@each_case(
    "price, tokens, cost",
    (ModelPrice(0.1, 0.4), (1_000_000, 1_000_000, 0), 0.5),
    (ModelPrice(0.1, 0.4), (10, 2, 8), 0.0000018),
    (ModelPrice(2.0, 0.0, 0.5), (10, 2, 8), 0.000008),
    (ModelPrice(2.0, 0.0, 0.5), (10, 2, 99), 0.000005),
    (ModelPrice(), (10, 2, 0), 0.0),
)
def test_the_cost_of_a_call_follows_from_its_tokens(
    price: ModelPrice, tokens: tuple[int, int, int], cost: float
) -> None:
    assert price.cost(*tokens) == pytest.approx(cost, abs=1e-12)
