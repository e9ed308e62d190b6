"""The seam that computes the key of a model request."""

from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.live import Answer, Host, open_in_process
from weftwork.protocol.json import schema
from weftwork.protocol.models.request_key import semantic_keys

SEAM = "/v1/host/sample/test/llm-cache-key"
REQUEST: dict[str, Any] = {
    "provider": "OpenAI",
    "model": "m",
    "messages": [{"role": "user", "content": "Hi"}],
    "tools": [{"name": "b"}, {"name": "a"}],
    "temperature": 0.2,
}


def ask(host: Host, **more: Any) -> Answer:
    answer = host.call("POST", SEAM, {**REQUEST, **more})
    assert answer.status == 200
    assert schema.check("llm-cache-key-response", answer.document) == []
    return answer


@pytest.mark.rule("model-40")
@pytest.mark.scenario("replay-llm-cache-key-portable")
def test_equal_requests_have_equal_keys(host: Host) -> None:
    key = ask(host).document["cacheKey"]
    assert key == semantic_keys(REQUEST)["v1"]
    same = {"provider": "openai", "tools": [{"name": "a"}, {"name": "b"}], "stream": True, "apiKey": "k", "seed": 1}
    assert ask(host, **same).document["cacheKey"] == key
    for more in ({"temperature": 0.3}, {"model": "n"}, {"topP": 1}, {"tools": []}):
        assert ask(host, **more).document["cacheKey"] != key


@each_case(
    "body",
    {},
    {"provider": "p", "model": "m"},
    {"provider": "p", "messages": []},
    {**REQUEST, "messages": "Hi"},
    {**REQUEST, "provider": 1},
    {**REQUEST, "tools": [{}]},
    {**REQUEST, "temperature": "hot"},
)
def test_a_request_without_its_members_is_refused(host: Host, body: Any) -> None:
    answer = host.call("POST", SEAM, body)
    assert (answer.status, answer.document["error"]["code"]) == (400, "invalid_argument")
    assert schema.check("seam-refusal", answer.document) == []


async def test_the_seam_needs_the_flag() -> None:
    async with open_in_process() as inside:
        assert (await inside.call("POST", SEAM, REQUEST)).status == 404
