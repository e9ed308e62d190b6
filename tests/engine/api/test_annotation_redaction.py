"""What a run hides stays hidden in what is said of it, and its readers are told what was said."""

import json
from typing import Any

import pytest

from tests.engine.api.test_annotations import FLAG, GATE, listed, refusal, say
from tests.harness.definitions import node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, run_ready_tasks
from weftwork.engine.api.annotations import MAX_CACHED_REDACTORS, SecretScanner
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.protocol.errors import HostFault
from weftwork.protocol.privacy.redaction import COPY_NAME, Redactor
from weftwork.protocol.privacy.secret_matcher import redaction_marker
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import Owner, RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StateRow

CANARY = "canary-7b1d"
GUARDED = workflow(
    [
        node("a", "core.identity", inputs={"x": {"type": "variable", "variableName": "secret"}}),
        node("b", "test.gate"),
    ],
    None,
    [variable("secret", sensitive=True), variable("open")],
)
SAYING = {
    "signal": {"kind": "correction", "correction": f"not {CANARY}", "label": CANARY},
    "note": f"<{CANARY}> and {CANARY}",
}


async def guarded(bench: EngineHarness) -> RunKey:
    key = await bench.start(GUARDED, inputs={"secret": CANARY, "open": "plain"})
    await run_ready_tasks()
    return key


@pytest.mark.rule("hide-03", "fb-02")
@pytest.mark.parametrize("when", ["live", "ended", "restarted"])
async def test_what_a_run_hides_is_masked_in_what_is_said_of_it(when: str) -> None:
    bench = EngineHarness()
    key = await guarded(bench)
    if when == "ended":
        bench.gate_node.release("b")
        await bench.run_to_end(key)
    if when == "restarted":
        await bench.crash()
        bench = bench.successor()
        await bench.executor.recover()
    shown = await say(bench, key, SAYING)
    assert CANARY not in json.dumps([shown, await listed(bench, key)])
    assert shown["signal"]["label"] == redaction_marker("secret")
    assert shown["note"] == f"<{redaction_marker('secret')}> and {redaction_marker('secret')}"
    assert (await say(bench, key, {**FLAG, "note": "plain"}))["note"] == "plain"
    free = await bench.start(GATE)
    assert (await say(bench, free, SAYING))["note"] == SAYING["note"], "another run hides nothing"
    await bench.close()


@pytest.mark.rule("hide-03")
async def test_without_the_redactor_it_would_be_kept_in_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Redactor, "visible_value", lambda self, value: value)

    bench = EngineHarness()
    assert CANARY in json.dumps(await say(bench, await guarded(bench), SAYING))


@pytest.mark.rule("hide-03")
async def test_a_log_is_learnt_from_again_only_when_it_has_grown() -> None:
    bench = EngineHarness()
    key = await guarded(bench)
    learner = SecretScanner(bench.log)
    reads = 0
    honest = bench.log.hidden_values

    async def hidden(run: RunKey) -> Any:
        nonlocal reads
        reads += 1
        return await honest(run)

    bench.log.hidden_values = hidden

    async def shown() -> Any:
        stored = await bench.stored_run(key)
        plan = await bench.catalog.pinned_plan(stored.header.workflow_id, stored.header.definition)
        return await learner.redact(stored, plan, {"note": CANARY})

    assert [await shown() for _ in range(3)] == [{"note": redaction_marker("secret")}] * 3
    assert reads == 1
    bench.gate_node.release("b")
    await bench.run_to_end(key)
    assert [await shown() for _ in range(3)] == [{"note": redaction_marker("secret")}] * 3
    assert reads == 2
    for _ in range(MAX_CACHED_REDACTORS + 5):
        key = await guarded(bench)
        await shown()
    assert len(learner._cache) == MAX_CACHED_REDACTORS
    await bench.close()


@pytest.mark.rule("fb-05", "hide-03")
@pytest.mark.parametrize("hides", [False, True])
async def test_a_run_whose_definition_cannot_be_read_is_judged_by_what_is_stored(
    hides: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = EngineHarness()
    await bench.store.open()
    key = await bench.start(GUARDED, inputs={"secret": CANARY}) if hides else await _foreign(bench)
    monkeypatch.setattr(WorkflowCatalog, "pinned_plan", _unreadable)
    shown = await say(bench, key, {**SAYING, "target": {"nodeId": "a"}})
    texts = [shown["note"], shown["signal"]["label"], shown["signal"]["correction"]]
    assert texts == ([redaction_marker(COPY_NAME)] * 3 if hides else [SAYING["note"], CANARY, f"not {CANARY}"])
    fault = await refusal(bench, key, {**FLAG, "target": {"nodeId": "nobody"}})
    assert fault.details == {"pointer": "/target/nodeId"}
    await bench.close()


async def _unreadable(*_: Any) -> Any:
    raise HostFault("this host cannot run it")


async def _foreign(bench: EngineHarness) -> RunKey:
    """A run that no definition here belongs to, with the state of one node."""
    header = RunHeader("foreign", CALLER.partition, Owner("acme", "key_1"), "gone", "gone", 1_000)
    event = Event("foreign", 0, "event-of-foreign", "run.failed", 1_000, b'{"error":{"code":"x","message":"x"}}')
    projection = Projection("failed", 0, 1_000, 1_000)
    rows = (StateRow("node", "a", b'{"status":"failed"}'), StateRow("variable", "nobody", b"1"))
    await bench.store.log.create(header, first=Batch((event,), projection, rows))
    return header.key


@pytest.mark.rule("sse-13")
async def test_readers_of_the_run_are_told_behind_its_last_event() -> None:
    bench = EngineHarness()
    key, other = await bench.start(GATE), await bench.start(GATE)
    await run_ready_tasks()
    last = (await bench.events(key))[-1].sequence
    readers = [bench.feeds.join(each, last) for each in (key, other)]
    for reader in readers:
        reader.wants_notifications = True
    shown = await say(bench, key, {**FLAG, "note": "now"})
    (note,) = readers[0].take_notifications()
    document = json.loads(note.frame.data)
    assert (document["payload"], document["sequence"], note.sequence) == (shown, last, last)
    assert readers[1].take_notifications() == []
    await say(bench, key, key="k")
    await say(bench, key, key="k")
    assert len(readers[0].take_notifications()) == 1, "a repeat is not told again"
    await refusal(bench, key, {})
    assert readers[0].take_notifications() == []


@pytest.mark.rule("sse-13")
async def test_a_run_without_events_has_nothing_to_come_behind() -> None:
    bench = EngineHarness()
    await bench.store.open()
    header = RunHeader("empty", CALLER.partition, Owner("acme", "key_1"), "gone", "gone", 1_000)
    await bench.store.log.create(header)
    reader = bench.feeds.join(header.key, -1)
    reader.wants_notifications = True
    await say(bench, header.key)
    assert reader.take_notifications() == []
