"""What the provider for the chat completions API sends, and the options that change it."""

import base64
import hashlib
import json
from typing import Any

import pytest

from tests.adapters.providers.openai_server import (
    KEY,
    provider_context,
    provider_settings,
    serving_provider,
)
from tests.adapters.providers.provider_calls import collect_answer, model_request
from tests.harness.cases import each_case, fails_without
from weftwork.adapters.providers.openai_compatible import provider as module
from weftwork.adapters.providers.openai_compatible.options import parse_options
from weftwork.adapters.providers.openai_compatible.provider import (
    openai_compatible_provider,
)
from weftwork.adapters.providers.steady import SteadyProvider
from weftwork.ports.models import (
    Message,
    ModelMarkerPart,
    ModelMediaPart,
    ModelRequest,
    ModelTextPart,
    ModelTool,
    ProviderFault,
)
from weftwork.protocol.media.message_parts import Modality
from weftwork.protocol.models.provider_settings import InvalidProviderSettings
from weftwork.testing import FakeOutbound


async def sent_body(request: ModelRequest, **members: Any) -> dict[str, Any]:
    async with serving_provider(**members) as (provider, peer):
        await collect_answer(provider, request)
        return json.loads(peer.requests[0].body)


def media_part(modality: Modality, media_type: str, data: bytes) -> ModelMediaPart:
    async def read() -> bytes:
        return data

    return ModelMediaPart(modality, media_type, len(data), hashlib.sha256(data).hexdigest(), read)


@fails_without(module, "encode_request", None, errors=(TypeError,))
async def test_a_request_is_translated() -> None:
    data = b"x" * 300_000
    text = base64.b64encode(data).decode()
    content = (
        ModelMarkerPart("<UNTRUSTED>"),
        media_part("image", "image/png", data),
        media_part("audio", "audio/mpeg", b"a"),
        media_part("audio", "audio/flac", b"f"),
        media_part("document", "application/pdf", b"p"),
        ModelTextPart("What is it?"),
    )
    messages = (Message("user", content), Message("assistant", (ModelTextPart("a"), ModelMarkerPart("b"))))
    schema = {"type": "object"}
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    request = ModelRequest(
        "acme", "", messages, "Be brief.", 0.0, 9_999, ("END",), (ModelTool("f", "F.", parameters),), schema
    )
    body = await sent_body(request, options={"seed": 7, "body": {"top_p": 0.5}})
    file = {"filename": "document.pdf", "file_data": "data:application/pdf;base64,cA=="}
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "<UNTRUSTED>"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{text}"}},
                {"type": "input_audio", "input_audio": {"data": "YQ==", "format": "mp3"}},
                {"type": "input_audio", "input_audio": {"data": "Zg==", "format": "flac"}},
                {"type": "file", "file": file},
                {"type": "text", "text": "What is it?"},
            ],
        },
        {"role": "assistant", "content": "a\nb"},
    ]
    assert (body["temperature"], body["max_tokens"], body["stop"], body["seed"]) == (0.0, 512, ["END"], 7)
    assert body["tools"] == [
        {"type": "function", "function": {"name": "f", "description": "F.", "parameters": parameters}}
    ]
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema, "strict": False},
    }
    assert body["top_p"] == 0.5


SCHEMA = {"type": "object", "title": "x"}


@each_case(
    "options, request_members, expected",
    ({}, {"model": "plain", "response_schema": SCHEMA}, None),
    ({}, {"payload_schema": SCHEMA}, None),
    ({"structured_output": "none"}, {"response_schema": SCHEMA}, None),
    ({"structured_output": "json_schema"}, {"model": "plain", "response_schema": SCHEMA}, "json_schema"),
    ({"structured_output": "json_object"}, {"response_schema": SCHEMA}, "json_object"),
    ({"structured_output": "json_object"}, {"payload_schema": SCHEMA}, "json_object"),
    ({"structured_output": "json_object"}, {}, None),
)
async def test_structured_output_follows_the_settings(
    options: dict[str, Any], request_members: dict[str, Any], expected: str | None
) -> None:
    body = await sent_body(model_request(**request_members), options=options)
    assert body.get("response_format", {}).get("type") == expected


async def test_options_select_headers_query_and_parameters() -> None:
    options = {
        "headers": {"X-Title": "weft"},
        "query": {"api-version": "2024-10-21"},
        "credential_header": "api-key",
        "max_tokens_parameter": "max_completion_tokens",
        "stream_usage": False,
    }
    async with serving_provider(options=options) as (provider, peer):
        await collect_answer(provider, model_request(max_tokens=9))
        heard = peer.requests[0]
    assert heard.path == "/v1/chat/completions?api-version=2024-10-21"
    assert (heard.headers["api-key"], heard.headers["x-title"]) == (KEY, "weft")
    assert "authorization" not in heard.headers
    body = json.loads(heard.body)
    assert (body["max_completion_tokens"], "max_tokens" in body, "stream_options" in body) == (9, False, False)


@each_case("credential, key, header", ("", KEY, None), ("env:KEY", f" {KEY}\n", f"Bearer {KEY}"))
async def test_a_key_is_sent_only_if_the_settings_name_one(credential: str, key: str, header: str | None) -> None:
    async with serving_provider(credential=credential, key=key) as (provider, peer):
        await collect_answer(provider, model_request())
        assert peer.requests[0].headers.get("authorization") == header


@each_case("key", None, "", "a\nb", "ä")
async def test_without_a_usable_key_nothing_is_sent(key: str | None) -> None:
    async with serving_provider(key=key) as (provider, peer):
        with pytest.raises(ProviderFault) as caught:
            await collect_answer(provider, model_request())
        assert (caught.value.code, caught.value.retryable, peer.connections) == ("provider_unavailable", False, 0)


def test_modalities_and_models_come_from_the_settings() -> None:
    context = provider_context(FakeOutbound(), provider_settings())
    provider = openai_compatible_provider(context)
    assert isinstance(provider, SteadyProvider)
    assert (provider.name, provider.default_model) == ("acme", "tiny")
    assert [each.name for each in provider.models] == ["tiny", "plain"]
    assert provider.modalities("") == {"image", "audio", "document"}
    assert provider.modalities("plain") == provider.modalities("unknown") == frozenset()


@pytest.mark.rule("model-54")
@each_case(
    "options, path, text",
    ({"header": {}}, ("header",), "headers"),
    ({"zzz": 1}, ("zzz",), "the members are"),
    ({"headers": {"X": 1}}, ("headers",), "write headers ="),
    ({"headers": {"a b": "x"}}, ("headers", "a b"), "letters, digits and hyphens"),
    ({"headers": {"X-A": "a\nb"}}, ("headers", "X-A"), "one line of ASCII"),
    ({"headers": {"Authorization": "Bearer x"}}, ("headers", "Authorization"), "env:NAME"),
    ({"headers": {"Api-Key": "x"}}, ("headers", "Api-Key"), "env:NAME"),
    ({"headers": {"Host": "x"}}, ("headers", "Host"), "the host sets this header"),
    ({"headers": {"Content-Type": "x"}}, ("headers", "Content-Type"), "the host sets this header"),
    ({"credential_header": "Content-Type"}, ("credential_header",), "the host sets this header"),
    ({"body": {"n": 2}}, ("body", "n"), "remove it"),
    ({"credential_header": ""}, ("credential_header",), "api-key"),
    ({"max_tokens_parameter": "tokens"}, ("max_tokens_parameter",), "max_completion_tokens"),
    ({"stream": "no"}, ("stream",), "stream = false"),
    ({"structured_output": "yes"}, ("structured_output",), "json_object"),
    ({"seed": 1.5}, ("seed",), "seed = 7"),
    ({"seed": 2**60}, ("seed",), "9007199254740992"),
    ({"body": {"messages": []}}, ("body", "messages"), "remove it"),
    ({"body": [1]}, ("body",), "body ="),
)
def test_an_invalid_option_is_refused_with_what_to_write(options: dict[str, Any], path: Any, text: str) -> None:
    with pytest.raises(InvalidProviderSettings, match=text) as caught:
        parse_options(provider_settings(options=options))
    assert caught.value.path == path
    assert "Bearer x" not in caught.value.message


def test_a_provider_needs_an_address_and_a_model() -> None:
    for settings, path in ((provider_settings(""), "base_url"), (provider_settings(models=()), "models")):
        with pytest.raises(InvalidProviderSettings) as caught:
            openai_compatible_provider(provider_context(FakeOutbound(), settings))
        assert caught.value.path == (path,)
