"""core.conversationGate in real runs: turn by turn, over crashes, in loops, and into a channel."""

from typing import Any

import msgspec
import pytest

from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import run, run_ready_tasks
from tests.harness.interrupts import ADA, completed_outputs, snapshot_of, start_run
from weftwork.adapters.nodes.people.conversation_gate import MOCK_ANSWER

DAY = 86_400_000
CHANNEL: dict[str, Any] = {"conversation": {"schema": {"type": "array"}, "reducer": "message"}}
TALK = {"prompts": ["When?", "{{answer}}, and then?", "Sure?"], "initialPrompt": "A trip.", "outcomeSchema": {}}


async def test_a_conversation_goes_on_turn_by_turn_over_crashes() -> None:
    document = workflow([node("talk", "core.conversationGate", config=TALK)], channels=CHANNEL)

    bench, key = await start_run(document)
    for turn, (prompt, value) in enumerate((("When?", "May"), ("May, and then?", {"to": 3}), ("Sure?", True)), 1):
        await run_ready_tasks()
        found = await snapshot_of(bench, key)
        asked = found["interrupt"]
        assert (found["status"], asked["kind"]) == ("waiting-approval", "conversation.exchange")
        assert (asked["data"]["prompt"], asked["data"]["turnIndex"]) == (prompt, turn)
        await bench.crash()
        bench = bench.successor()
        await bench.executor.recover()
        await bench.answer(key, value, "talk", ADA)
    found = (await completed_outputs(bench, key))["talk"]
    assert [each["answer"] for each in found["turns"]] == ["May", {"to": 3}, True]
    assert found["outcome"] is True
    kinds = await bench.event_types(key)
    told = [each for each in kinds if each.startswith(("conversation.", "clarification."))]
    assert told == ["conversation.opened", *["conversation.exchanged"] * 3, "conversation.closed"]
    assert kinds.index("conversation.closed") < kinds.index("node.completed")
    assert kinds.count("node.started") == 1
    ids = {each["conversationId"] for each in await bench.payloads(key, "conversation.exchanged")}
    assert ids == {found["conversationId"]} == {f"{key.run_id}:talk:0"}
    said = (await snapshot_of(bench, key))["channels"]["conversation"]
    assert [(each["role"], each["content"]) for each in said] == [
        *(("system", "A trip."), ("system", "When?"), ("user", "May"), ("system", "May, and then?")),
        *(("user", {"to": 3}), ("system", "Sure?"), ("user", True)),
    ]


async def test_a_conversation_that_answers_itself_says_the_same_in_every_run() -> None:
    config = {"mockAutoResume": True, "turnCount": 3}
    document = workflow([node("talk", "core.conversationGate", config=config)], channels=CHANNEL)

    bench, first = await start_run(document)
    second = await bench.start(document)
    texts: list[bytes] = []
    for key in (first, second):
        found = (await completed_outputs(bench, key))["talk"]
        assert [each["answer"] for each in found["turns"]] == [MOCK_ANSWER] * 3
        said = (await snapshot_of(bench, key))["channels"]["conversation"]
        assert len(said) == 6
        texts.append(msgspec.json.encode(said))
        kinds = await bench.event_types(key)
        assert not {"node.suspended", "clarification.requested"} & set(kinds)
        assert kinds.count("conversation.exchanged") == 3
    assert texts[0] == texts[1]


async def test_a_conversation_in_a_loop_is_a_new_one_each_round() -> None:
    talk = node("talk", "core.conversationGate", config={"mockAutoResume": True})
    document = workflow(
        [node("l", "core.loop", config={"times": 2}), talk, node("end")],
        [edge("l", "talk", sourceOutput="body"), edge("talk", "l"), edge("l", "end", sourceOutput="done")],
        channels=CHANNEL,
    )

    bench, key = await start_run(document)
    await completed_outputs(bench, key)
    opened = await bench.payloads(key, "conversation.opened")
    assert [each["conversationId"] for each in opened] == [f"{key.run_id}:talk:0", f"{key.run_id}:talk:1"]
    assert len((await snapshot_of(bench, key))["channels"]["conversation"]) == 4


async def test_a_turn_that_nobody_takes_closes_the_conversation() -> None:
    document = workflow([node("talk", "core.conversationGate", config={"timeoutMs": DAY, "turnCount": 2})])

    bench, key = await start_run(document)
    await bench.answer(key, "one", "talk", ADA)
    await bench.run_to_end(key)
    (failed,) = await bench.payloads(key, "run.failed")
    assert failed["error"]["code"] == "interrupt_timeout"
    (closed,) = await bench.payloads(key, "conversation.closed")
    assert closed["outcome"] == {"reason": "timeout"}


@pytest.mark.rule("hide-03")
def test_what_is_asked_about_something_sensitive_stays_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the question, in the answer, and in the channel that a conversation fills without naming it."""
    talk = node("talk", "core.conversationGate", config={"prompt": "Is {{variables.pin}} right?"})
    document = workflow([talk], [], [variable("pin", sensitive=True)], channels=CHANNEL)

    async def work() -> None:
        bench, key = await start_run(document, inputs={"pin": "4711-secret"})
        first = msgspec.json.encode(await snapshot_of(bench, key))
        await bench.answer(key, "no, 4712-secret", "talk", ADA)
        await bench.run_to_end(key)
        text = b"".join(event.document for event in await bench.events(key))
        text += first + msgspec.json.encode(await snapshot_of(bench, key))
        assert b"4711" not in text
        assert b"4712" not in text

    run(work)
    monkeypatch.setattr("weftwork.protocol.workflow.definition.Node.writes_channel", None)
    with pytest.raises(AssertionError):
        run(work)
