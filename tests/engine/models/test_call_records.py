"""What a run records about a model call in addition to its answer: semantic keys of the request, tokens and cost."""

import json
import re
from typing import Any

import msgspec
import pytest

from tests.engine.models.test_model_calls import HIDES, ONE, SECRET, talking
from tests.harness.cases import fails_without
from tests.harness.engine_harness import EngineHarness
from tests.harness.scripted_model import ScriptedModel
from weftwork.engine.models import request_keys as request_keys_module
from weftwork.engine.models.request_keys import request_keys
from weftwork.ports.models import AnswerEnd, Message, ModelMediaPart, ModelRequest, ModelTextPart, ModelTool
from weftwork.protocol.models.answers import ModelAnswer, answer_record, mask_answers
from weftwork.protocol.models.model_catalogue import ModelInfo, ModelPrice
from weftwork.protocol.models.request_key import semantic_keys
from weftwork.protocol.run.header import RunKey


class PricedModel(ScriptedModel):
    models = (ModelInfo("test-1", price=ModelPrice(1.0, 2.0, 0.5)),)


async def recorded(wishes: dict[str, Any], model: ScriptedModel | None = None, **run: Any) -> dict[str, Any]:
    """The request keys that a run with one call records."""
    bench = EngineHarness(talking(**wishes), models=model or ScriptedModel("Hello."))
    key: RunKey = await bench.execute(run.pop("document", ONE), **run)
    (answer,) = await bench.payloads(key, "weftwork.model.answered")
    return answer["requestKeys"]


@pytest.mark.rule("model-40")
async def test_an_answer_is_recorded_with_the_keys_of_its_request() -> None:
    keys = await recorded({"system": "Be brief.", "max_tokens": 9, "stop": ("END",), "temperature": 0.5})
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Well?"}]
    request = {"provider": "test", "model": "test-1", "messages": messages, "temperature": 0.5}
    assert keys["v2"] == semantic_keys({**request, "maxOutputTokens": 9, "stop": ["END"]})["v2"]
    assert re.fullmatch("[0-9a-f]{64}", keys["v1"])
    # The id of the call, the run and the way of delivery say nothing about the answer.
    assert keys == await recorded(
        {
            "system": "Be brief.",
            "max_tokens": 9,
            "stop": ("END",),
            "temperature": 0.5,
            "stream": False,
            "model": "test-1",
        }
    )
    assert keys != await recorded({"system": "Be brief.", "max_tokens": 9, "stop": ("END",)})


@pytest.mark.rule("model-40")
@fails_without(request_keys_module, "redact_value", lambda value, secrets: (value, 0), match="secret")
async def test_a_key_does_not_depend_on_a_secret() -> None:
    """The digest of a short secret could be guessed from the log."""
    keys = [
        await recorded({"messages": (Message("user", f"It is {secret}."),)}, document=HIDES, inputs={"word": secret})
        for secret in (SECRET, "other-secret-1")
    ]
    assert keys[0] == keys[1], "the keys depend on the secret"


def media_request(**members: Any) -> ModelRequest:
    async def read() -> bytes:
        raise AssertionError("the bytes are not needed")

    part = ModelMediaPart("image", "image/png", 3, "0" * 64, read)
    message = Message("user", (ModelTextPart("What is this?"), msgspec.structs.replace(part, **members)))
    return ModelRequest("test", "", (message,))


@pytest.mark.rule("model-40")
def test_media_count_by_their_digest_and_type() -> None:
    keys = request_keys(media_request(), ScriptedModel(), None)
    assert keys is not None
    assert keys == request_keys(media_request(size=4, media_ref="asset:1"), ScriptedModel(), None)
    for change in ({"sha256": "1" * 64}, {"media_type": "image/jpeg"}, {"modality": "document"}):
        assert keys != request_keys(media_request(**change), ScriptedModel(), None)


@pytest.mark.rule("model-40")
def test_a_request_without_a_canonical_form_has_no_keys() -> None:
    request = ModelRequest("test", "", (Message("user", "a\ud800"),))
    assert request_keys(request, ScriptedModel(), None) is not None
    for parameters in ({"x": float("nan")}, {"x": {1}}, {"\ud800": 1}):
        odd = msgspec.structs.replace(request, tools=(ModelTool("t", "", parameters),))
        assert request_keys(odd, ScriptedModel(), None) is None
    assert "requestKeys" not in answer_record("n", "c", ModelAnswer("", "stop", "p", "m")).members()


@pytest.mark.rule("auth-07")
async def test_readers_without_the_scope_do_not_see_the_keys() -> None:
    bench = EngineHarness(talking(), models=ScriptedModel("Hello."))
    key = await bench.execute(ONE)
    masked = mask_answers(await bench.events(key), "acme")
    (answer,) = [json.loads(each.payload) for each in masked if each.type == "weftwork.model.answered"]
    assert list(answer["requestKeys"]) == ["masked"]


@pytest.mark.rule("rel-17")
async def test_the_usage_of_a_call_has_its_cost_and_its_cached_tokens() -> None:
    usage = msgspec.structs.replace(AnswerEnd("stop").usage, input_tokens=10, output_tokens=4, cache_read_tokens=6)
    bench = EngineHarness(talking(), models=PricedModel(["Hi", AnswerEnd("stop", usage, "test-1-dated")]))
    (payload,) = await bench.payloads(await bench.execute(ONE), "provider.usage")
    assert (payload["cacheReadTokens"], payload["costEstimateUsd"]) == (6, 0.000015)
    assert payload["model"] == "test-1-dated"


@pytest.mark.rule("rel-17")
async def test_a_model_without_a_price_has_no_cost() -> None:
    bench = EngineHarness(talking(model="test-2"), models=PricedModel("Hi"))
    (payload,) = await bench.payloads(await bench.execute(ONE), "provider.usage")
    assert payload.keys() == {"provider", "model", "inputTokens", "outputTokens", "totalTokens", "nodeId"}
