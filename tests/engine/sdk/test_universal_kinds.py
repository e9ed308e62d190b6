"""Universal kinds in the answers of models, through HTTP: every node that calls a model treats them alike."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.adapters.python.fake_node_host import single_node_workflow
from tests.engine.sdk.model_callers import (
    BILL,
    CALLERS,
    ENVELOPES,
    TEXTS,
    TICKET,
    VALUE,
    VALUES,
    CallerHost,
    of,
    open_callers,
    outputs,
    recorded,
    sent,
)
from tests.harness.cases import each_case, fails_without
from weftwork.engine.sdk import generation, model_turn
from weftwork.protocol.envelopes import answer_documents
from weftwork.protocol.envelopes.instructions import UNIVERSAL_DIRECTIVE, UNIVERSAL_USES
from weftwork.protocol.envelopes.text.extraction import extract_value
from weftwork.testing import FakeModel, crash_everywhere

QUESTION = sent("clarification.request", {"questions": [{"id": "who", "question": "Who?"}]})
WANTS = sent("schema.request", {"envelopeType": TICKET})
KNOWS = sent("schema.response", {"envelopeType": TICKET, "ack": True})
AUTHORED = {
    "mock": "You write short texts for a newsletter. Use only the facts in the request, and write in the requested "
    "tone.\n\n",
    "py-text": "You are brief.\n\n",
}
"""The system prompts that callers set."""
PROBLEM = {"code": "no_data", "message": "There is nothing to see."}
ERROR = sent("error", PROBLEM)
WANTS_TOO = sent("schema.request", {"envelopeType": TICKET}, correlationId="1")
TWO_KINDS = f"[{sent('error', PROBLEM, correlationId='1')}, {WANTS_TOO}]"


@pytest.fixture
async def host() -> AsyncIterator[CallerHost]:
    async with open_callers() as opened:
        yield opened


def without_universal_kinds(text: str, schema: Any, origin: Any) -> Any:
    return extract_value(text, clean=True)


def levels(events: list[dict[str, Any]]) -> list[str]:
    return [each["level"] for each in of(events, "log.appended")]


@pytest.mark.rule("ai-07", "env-28")
@fails_without(generation, "read_value", without_universal_kinds)
@each_case("name", *CALLERS)
async def test_a_question_is_asked_and_the_model_continues_with_the_answer(host: CallerHost, name: str) -> None:
    run_id = await host.start(name, QUESTION, VALUE)
    asked = await host.wait_for_interrupt(run_id)
    assert asked["payload"]["data"]["questions"] == [{"id": "who", "question": "Who?"}]
    await host.answer(run_id, name, {"who": "Ada"})
    events = await host.log(run_id)
    assert "Lamp" in json.dumps(outputs(events, name))
    assert recorded(events)[0] == "clarification.request"
    assert "Ada" in host.requests[1].messages[-1].text
    assert len(of(events, "interrupt.requested")) == len(of(events, "clarification.requested")) == 1


@pytest.mark.rule("ai-07")
@each_case("name", *CALLERS, *(f"map-{name}" for name in CALLERS))
async def test_a_schema_is_sent_to_the_model_and_its_confirmation_accepted(host: CallerHost, name: str) -> None:
    events = await host.run(name, WANTS, f"```json\n{KNOWS}\n```\n```json\n{VALUE}\n```")
    assert "Lamp" in json.dumps(outputs(events, name))
    assert recorded(events)[:2] == ["schema.request", "schema.response"]
    assert levels(events) == ["debug", "debug"]
    assert '"title"' in host.requests[1].messages[-1].text


@pytest.mark.rule("ai-07", "env-28")
@fails_without(generation, "read_value", without_universal_kinds)
@each_case("name", *CALLERS, *(f"map-{name}" for name in CALLERS))
async def test_an_error_is_logged_and_fails_nothing(host: CallerHost, name: str) -> None:
    events = await host.run(name, ERROR)
    found = outputs(events, name)
    assert (recorded(events), levels(events)) == (["error"], ["error"])
    assert of(events, "node.failed") == of(events, "envelope.retry.attempted") == []
    caller = name.removeprefix("map-")
    if caller in VALUES:
        assert (found["data"], found["error"]) == (None, PROBLEM)
    elif caller in ENVELOPES:
        assert (found["envelopeType"], found["payload"]) == ("error", PROBLEM)
    else:
        assert PROBLEM["message"] in str(found)


@pytest.mark.rule("ai-07")
@each_case("said, next_node", (VALUE, "value"), (ERROR, "error"))
async def test_a_workflow_can_branch_on_an_error_of_the_model(host: CallerHost, said: str, next_node: str) -> None:
    events = await host.run("branch", said)
    assert [each["nodeId"] for each in events if each["type"] == "node.completed"] == ["branch", next_node]


@pytest.mark.rule("ai-07")
@each_case("name", *(f"map-{name}" for name in CALLERS))
async def test_an_item_of_a_map_cannot_ask_a_person_and_says_so(host: CallerHost, name: str) -> None:
    events = await host.run(name, QUESTION)
    (failed,) = of(events, "node.failed")
    assert failed["error"]["details"]["code"] == "map_body_suspended"
    assert recorded(events) == ["clarification.request"]


@pytest.mark.rule("ai-07", "env-26")
def test_a_crash_anywhere_asks_no_person_twice() -> None:
    config = {"prompt": "Well?", "outputSchema": {"type": "object"}}
    flow = single_node_workflow("one", "core.ai.structuredOutput", config=config)
    answers = {"clarification": {"answers": {"who": "Ada"}}}

    def fresh() -> FakeModel:
        return FakeModel(lambda request: VALUE if len(request.messages) > 1 else QUESTION)

    results = list(crash_everywhere(flow, answers=answers, model=fresh))
    assert len(results) > 10
    for result in results:
        assert result.outputs["n"]["data"] == {"title": "Lamp"}
        assert result.kinds.count("clarification.requested") == 1
        assert result.kinds.count("weftwork.envelope.recorded") == result.kinds.count("weftwork.model.answered") == 2


@pytest.mark.rule("ai-07")
@each_case("name", *CALLERS)
async def test_without_an_error_there_is_no_port_for_it(host: CallerHost, name: str) -> None:
    found = outputs(await host.run(name, VALUE), name)
    assert "error" not in found
    assert name in TEXTS or found.get("data", found.get("payload")) == {"title": "Lamp"}


@pytest.mark.rule("ai-07")
@each_case("name", *CALLERS)
async def test_questions_and_requests_for_schemas_are_counted(host: CallerHost, name: str) -> None:
    events = await host.run(name, *[WANTS] * 9)
    assert (len(host.requests), events[-1]["type"]) == (3, "run.failed")
    assert of(events, "cap.breached")[-1]["kind"] == "schema"
    run_id = await host.start(name, *[QUESTION] * 9)
    last = -1
    for _ in range(3):
        last = (await host.wait_for_interrupt(run_id, last))["sequence"]
        await host.answer(run_id, name, {"who": "Ada"})
    events = await host.log(run_id)
    assert (len(host.requests), events[-1]["type"]) == (4, "run.failed")
    assert of(events, "cap.breached") == [{"kind": "clarification", "limit": 3, "observed": 4, "nodeId": name}]
    events = await host.run(name, f"[{', '.join([ERROR] * 6)}]")
    assert [each["kind"] for each in of(events, "cap.breached")] == ["envelopes"]


BROKEN = (
    f"{QUESTION[:-1]}, }}",
    QUESTION.replace('"', "'"),
    f"```json\n{QUESTION[:-1]}\n```",
)


@pytest.mark.rule("ai-07", "rel-03")
@each_case("name", *CALLERS)
async def test_a_question_in_broken_json_is_repaired_and_asked(host: CallerHost, name: str) -> None:
    await asks_broken_questions(host, name)


async def asks_broken_questions(host: CallerHost, name: str) -> None:
    for said in BROKEN:
        run_id = await host.start(name, said, VALUE)
        await host.wait_for_interrupt(run_id)
        await host.answer(run_id, name, {"who": "Ada"})
        events = await host.log(run_id)
        assert "Lamp" in json.dumps(outputs(events, name))
        assert (recorded(events)[0], of(events, "envelope.retry.attempted")) == ("clarification.request", [])
        assert [each["path"] for each in of(events, "envelope.recovery.applied")] == ["jsonrepair"]


@fails_without("weftwork.protocol.envelopes.answer_documents.repair_document", lambda text: None)
@each_case("name", *TEXTS)
async def test_texts_that_are_broken_envelopes_need_the_repair(host: CallerHost, name: str) -> None:
    await asks_broken_questions(host, name)


FLAT = json.dumps({"type": "clarification.request", "questions": [{"id": "who", "question": "Who?"}]})


@pytest.mark.rule("ai-07", "env-28")
@fails_without(answer_documents, "_DISTINCT_KINDS", frozenset())
@each_case("name", *CALLERS)
async def test_a_question_without_a_payload_is_corrected_and_then_asked(host: CallerHost, name: str) -> None:
    run_id = await host.start(name, FLAT, QUESTION, VALUE)
    await host.wait_for_interrupt(run_id)
    await host.answer(run_id, name, {"who": "Ada"})
    events = await host.log(run_id)
    assert "Lamp" in json.dumps(outputs(events, name))
    (retried,) = of(events, "envelope.retry.attempted")
    assert 'must have the member "payload"' in retried["previousError"]


ASKS_WRONGLY = sent("clarification.request", {"questions": ["Who?"]})


@pytest.mark.rule("ai-07")
@fails_without(generation, "is_universal", lambda document: False)
@each_case("name", *CALLERS)
async def test_a_malformed_question_is_corrected_and_then_asked(host: CallerHost, name: str) -> None:
    run_id = await host.start(name, f"```json\n{ASKS_WRONGLY}\n```", QUESTION, VALUE)
    await host.wait_for_interrupt(run_id)
    await host.answer(run_id, name, {"who": "Ada"})
    events = await host.log(run_id)
    assert "Lamp" in json.dumps(outputs(events, name))
    assert recorded(events)[0] == "clarification.request"
    (retried,) = of(events, "envelope.retry.attempted")
    assert (retried["attempt"], retried["previousError"]) == (2, "/payload/questions/0 must be of type object")
    assert "- /payload/questions/0 must be of type object" in host.requests[1].system


@pytest.mark.rule("ai-07")
@each_case("name", *TEXTS)
async def test_a_malformed_question_stays_text_in_prose_and_after_the_last_attempt(host: CallerHost, name: str) -> None:
    for said, calls in ((f"A question looks like this: {ASKS_WRONGLY}", 1), (ASKS_WRONGLY, 3)):
        events = await host.run(name, *[said] * 9)
        assert said in json.dumps(outputs(events, name)).replace("\\", "")
        assert (len(host.requests), recorded(events), of(events, "envelope.retry.exhausted")) == (calls, [], [])


def without_the_directive(request: Any, directive: str) -> Any:
    return request


@pytest.mark.rule("rel-16")
@fails_without(generation, "_with_system", without_the_directive)
@each_case("name", *CALLERS, *(f"map-{name}" for name in CALLERS))
async def test_every_system_prompt_names_the_universal_kinds(host: CallerHost, name: str) -> None:
    events = await host.run(name, TWO_KINDS, WANTS, VALUE)
    assert len(host.requests) == 3
    for request in host.requests:
        before, directive, after = request.system.partition(UNIVERSAL_DIRECTIVE)
        assert directive
        assert UNIVERSAL_DIRECTIVE not in after
        # The text of the author precedes it, and the form of the answer follows.
        assert before == AUTHORED.get(name.removeprefix("map-"), "")
        assert ("JSON Schema" in after) == (name.removeprefix("map-") not in TEXTS)
    # The event shows the text that was made of a template, which this text of the host is not.
    for composed in of(events, "prompt.composed"):
        assert f"{composed['systemPrompt']}\n\n" == AUTHORED["mock"]


@pytest.mark.rule("rel-16")
@each_case("name", *CALLERS)
async def test_an_envelope_of_the_shape_in_the_prompt_has_not_drifted(host: CallerHost, name: str) -> None:
    shape = UNIVERSAL_DIRECTIVE[UNIVERSAL_DIRECTIVE.index("{") : UNIVERSAL_DIRECTIVE.index("}") + 1]
    said = shape.replace("KIND", '"error"').replace("PAYLOAD", UNIVERSAL_USES["error"][0])
    (record,) = of(await host.run(name, said), "weftwork.envelope.recorded")
    assert (record["type"], record["schemaVersion"], record.get("drift")) == ("error", 1, None)


@pytest.mark.rule("rel-16")
async def test_a_setting_leaves_the_universal_kinds_out_of_prompts() -> None:
    async with open_callers(universal_kinds_in_prompts=False) as silent:
        for name in CALLERS:
            await silent.run(name, VALUE)
            assert "clarification.request" not in silent.requests[0].system, name
        assert recorded(await silent.run("strict", ERROR)) == ["error"]


def pieces(envelope: str, count: int = 3, **partial: Any) -> list[dict[str, Any]]:
    """The envelope in pieces of its payload's text."""
    document = json.loads(envelope)
    text = json.dumps(document["payload"])
    step = -(-len(text) // count)
    return [
        {
            "type": document["type"],
            "correlationId": "p",
            "payload": text[at * step : (at + 1) * step],
            "partial": {"isPartial": at < count - 1, "index": at, "total": count},
        }
        for at in range(count)
    ]


@pytest.mark.rule("env-29")
@fails_without(model_turn, "check_answer_id", lambda envelope, kinds_by_id: None)
@each_case("name", *CALLERS, *(f"map-{name}" for name in CALLERS))
async def test_one_id_of_two_kinds_is_corrected_by_the_model(host: CallerHost, name: str) -> None:
    events = await host.run(name, TWO_KINDS, VALUE)
    assert "Lamp" in json.dumps(outputs(events, name))
    assert recorded(events) in ([], [TICKET])
    (retried,) = of(events, "envelope.retry.attempted")
    assert (retried["attempt"], "/correlationId" in retried["previousError"]) == (2, True)
    assert "/correlationId" in host.requests[1].system
    assert len(host.requests[1].messages) == 1


@pytest.mark.rule("env-29")
@each_case("name", *CALLERS)
async def test_a_model_that_repeats_the_conflict_fails_its_node_with_that_code(host: CallerHost, name: str) -> None:
    events = await host.run(name, *[TWO_KINDS] * 9)
    (failed,) = of(events, "node.failed")
    assert (failed["error"]["code"], len(host.requests)) == ("envelope_correlation_conflict", 3)
    assert of(events, "envelope.retry.exhausted")[0]["finalReason"] == "schema-violation"
    assert recorded(events) == []


@pytest.mark.rule("env-29")
@each_case("name", *CALLERS)
async def test_the_same_id_again_is_a_repetition_and_in_another_turn_another_id(host: CallerHost, name: str) -> None:
    wants, other = (sent("schema.request", {"envelopeType": kind}, correlationId="1") for kind in (TICKET, BILL))
    error = sent("error", PROBLEM, correlationId="1")
    events = await host.run(name, f"[{wants}, {other}]", error)
    assert recorded(events) == ["schema.request", "error"]
    ids = [each["correlationId"] for each in of(events, "weftwork.envelope.recorded")]
    assert len(set(ids)) == 2
    assert not {"1"} & set(ids)


@pytest.mark.rule("env-16")
@fails_without(generation, "reassemble", lambda documents, origin: documents)
@each_case("name", *TEXTS, *ENVELOPES)
async def test_an_envelope_in_pieces_is_joined(host: CallerHost, name: str) -> None:
    await joins_pieces(host, name)


@pytest.mark.rule("env-16")
@fails_without("weftwork.protocol.envelopes.answer_documents.reassemble", lambda documents, origin: documents)
@each_case("name", *VALUES)
async def test_a_universal_envelope_in_pieces_is_joined_where_a_value_is_requested(host: CallerHost, name: str) -> None:
    await joins_pieces(host, name)


async def joins_pieces(host: CallerHost, name: str) -> None:
    first, second, third = pieces(ERROR)
    for order in ([first, second, third], [third, first, second], [first, first, second, third, third, second]):
        events = await host.run(name, "\n".join(f"```json\n{json.dumps(each)}\n```" for each in order))
        assert (recorded(events), events[-1]["type"]) == (["error"], "run.completed"), order
        assert of(events, "weftwork.envelope.recorded")[0]["payload"] == PROBLEM
        assert (of(events, "envelope.retry.attempted"), levels(events)) == ([], ["error"])


@pytest.mark.rule("env-16", "env-23")
@each_case("name", *CALLERS)
async def test_an_envelope_in_pieces_keeps_the_meta_of_all_of_them(host: CallerHost, name: str) -> None:
    first, second, third = pieces(ERROR)
    first["meta"] = {"label": "a draft", "traceparent": "early", "rendering": {"display": "card"}}
    second["meta"] = {"traceparent": "late"}
    for order in ([first, second, third], [third, second, first]):
        (record,) = of(await host.run(name, json.dumps(order)), "weftwork.envelope.recorded")
        assert record.items() >= {**first["meta"], "traceparent": "late"}.items()


@pytest.mark.rule("env-16")
@each_case("name", *CALLERS)
@each_case(
    "partial, place",
    (False, "/partial must be of type object"),
    (True, "/partial must be of type object"),
    ({"isPartial": True, "index": "0", "total": 2}, "/partial/index must be of type integer"),
    ({"isPartial": 1, "index": 0, "total": 2}, "/partial/isPartial must be of type boolean"),
    ({"isPartial": True, "index": 0, "total": 2}, "/partial belongs to an envelope whose other pieces are missing"),
)
async def test_a_malformed_piece_is_corrected_at_its_place(
    host: CallerHost, name: str, partial: Any, place: str
) -> None:
    events = await host.run(name, sent("error", PROBLEM, partial=partial), VALUE)
    assert "Lamp" in json.dumps(outputs(events, name))
    assert of(events, "envelope.retry.attempted")[0]["previousError"] == place
    assert f"- {place}\n" in host.requests[1].system
    assert recorded(events) in ([], [TICKET])


@pytest.mark.rule("env-16")
@each_case("name", *TEXTS)
async def test_a_malformed_piece_of_an_unknown_kind_in_a_text_is_text(host: CallerHost, name: str) -> None:
    said = sent("vendor.acme.unknown", PROBLEM, partial=False)
    events = await host.run(name, said)
    assert said in json.dumps(outputs(events, name)).replace("\\", "")
    assert recorded(events) == []
