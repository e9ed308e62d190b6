"""Annotations: what is refused and when, one key one annotation, hidden values stay hidden, and readers are told."""

import asyncio
import json
from typing import Any

import pytest

from tests.harness.cases import fails_without
from tests.harness.definitions import node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, fault_of, run_ready_tasks
from weftwork.engine.api import annotations as module
from weftwork.engine.api.annotations import MAX_CACHED_REDACTORS, Annotations, SecretScanner
from weftwork.engine.api.keyring import Principal
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.protocol.errors import ClientFault, HostFault
from weftwork.protocol.json import schema
from weftwork.protocol.limits import Limits
from weftwork.protocol.privacy.redaction import COPY_NAME, Redactor
from weftwork.protocol.privacy.secret_matcher import redaction_marker
from weftwork.protocol.review import annotations
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import Owner, RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StateRow
from weftwork.protocol.wire.idempotency import RETENTION_SECONDS
from weftwork.protocol.wire.v1.routes import SCOPES

OTHER = Principal.of("key_2", "other", "live", frozenset(SCOPES))
SECOND = Principal.of("key_3", "acme", "live", frozenset(SCOPES))
FLAG: dict[str, Any] = {"signal": {"kind": "flag"}}
GATE = workflow([node("a", "test.gate")])


def facade(bench: EngineHarness) -> Annotations:
    return Annotations(bench.runtime, bench.catalog, bench.executor, bench.store.annotations)


async def say(bench: EngineHarness, about: RunKey, document: Any = FLAG, **more: Any) -> dict[str, Any]:
    said = await facade(bench).create(more.pop("caller", CALLER), about.run_id, document, **more)
    shown = json.loads(said.document)
    assert schema.check("annotation", shown) == []
    return shown


async def listed(bench: EngineHarness, key: RunKey) -> list[dict[str, Any]]:
    page = await facade(bench).page(CALLER, key.run_id, None, 1000)
    return [json.loads(each.document) for each in page.annotations]


async def refusal(bench: EngineHarness, about: RunKey, document: Any = FLAG, **more: Any) -> ClientFault:
    before = await bench.store.annotations.page(about, None, 1000, 2**30)
    fault = await fault_of(say(bench, about, document, **more))
    assert await bench.store.annotations.page(about, None, 1000, 2**30) == before, "a refusal keeps nothing"
    return fault


@pytest.mark.rule("fb-02")
async def test_a_run_is_annotated_while_it_is_live_and_after_its_end() -> None:
    bench, key = await EngineHarness().with_settled_run(GATE)
    log = await bench.events(key)
    first = await say(bench, key, {"signal": {"kind": "rating", "rating": 2}, "note": "slow"})
    assert await bench.events(key) == log, "it is not in the log"
    ended = await bench.run_to_end(key, release="a")
    second = await say(bench, key, caller=SECOND)
    assert await bench.events(key) == ended
    assert await listed(bench, key) == [first, second]
    assert first["target"] == {"runId": key.run_id}
    assert [each["actor"] for each in (first, second)] == [{"principalRef": "key_1"}, {"principalRef": "key_3"}]
    assert first["annotationId"] != second["annotationId"]


@pytest.mark.rule("fb-05")
async def test_what_is_meant_must_be_there() -> None:
    bench = EngineHarness()
    key, other = await bench.start(GATE), await bench.start(GATE)
    await run_ready_tasks()
    event, theirs = [(await bench.events(each))[0].event_id for each in (key, other)]
    for target in ({}, {"nodeId": "a"}, {"eventId": event}, {"eventId": event, "nodeId": "a"}):
        shown = await say(bench, key, {**FLAG, "target": target})
        assert shown["target"] == {"runId": key.run_id, **target}
    for name, value in (("nodeId", "b"), ("nodeId", ""), ("eventId", theirs), ("eventId", ""), ("eventId", "x")):
        fault = await refusal(bench, key, {**FLAG, "target": {name: value}})
        assert (fault.code, fault.details) == ("validation_error", {"pointer": f"/target/{name}"})
        assert value == "" or value not in fault.message
    fault = await refusal(bench, key, {**FLAG, "target": {"nodeId": "a", "eventId": "x"}})
    assert fault.details == {"pointer": "/target/eventId"}


@pytest.mark.rule("fb-05")
async def test_an_event_is_not_searched_for_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, key = await EngineHarness().with_settled_run(GATE)
    events = await bench.events(key)
    monkeypatch.setattr(module, "MAX_EVENTS_SEARCHED", 1)
    await say(bench, key, {**FLAG, "target": {"eventId": events[0].event_id}})
    fault = await refusal(bench, key, {**FLAG, "target": {"eventId": events[1].event_id}})
    assert "among the first 1 of the run" in fault.message


async def test_a_run_that_is_not_there_cannot_be_annotated() -> None:
    bench, key = await EngineHarness().with_run(GATE)
    theirs = RunKey("live:other", key.run_id)
    for given, caller in ((theirs, OTHER), (RunKey(key.partition, "nobody"), CALLER)):
        assert (await refusal(bench, given, caller=caller)).code == "not_found"
        with pytest.raises(ClientFault, match="not_found"):
            await facade(bench).page(caller, given.run_id, None, 10)
    assert await listed(bench, key) == []


async def test_a_run_that_is_deleted_meanwhile_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, key = await EngineHarness().with_run(workflow([node("a")]))
    await say(bench, key, key="k")
    honest = bench.store.annotations.add

    async def late(*arguments: Any) -> Any:
        assert await bench.store.retention.delete(key, 0)
        return await honest(*arguments)

    monkeypatch.setattr(bench.store.annotations, "add", late)
    assert (await fault_of(say(bench, key))).code == "not_found"
    bench.executor.forget(key)
    assert (await fault_of(say(bench, key, key="k"))).code == "not_found", "a repeat has nothing to show either"


@pytest.mark.rule("fb-03")
async def test_a_run_takes_so_many_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotations, "MAX_ANNOTATIONS", 3)
    bench, key = await EngineHarness().with_run(GATE)
    for at in range(3):
        await say(bench, key, key=f"k{at}")
    fault = await refusal(bench, key, key="k3")
    assert (fault.code, fault.status, fault.details) == ("annotation_limit_reached", 409, {"maxAnnotations": 3})
    assert await say(bench, key, key="k0") == (await listed(bench, key))[0], "a repeat is no new one"
    await say(bench, await bench.start(GATE))


@pytest.mark.rule("idem-02", "idem-03")
async def test_one_key_is_one_annotation() -> None:
    bench = EngineHarness()
    key, other = await bench.start(GATE), await bench.start(GATE)
    said = facade(bench)
    many = await asyncio.gather(*(said.create(CALLER, key.run_id, FLAG, "k") for _ in range(8)))
    assert len({each.document for each in many}) == 1
    assert [each.replayed for each in many].count(False) == 1
    assert len(await listed(bench, key)) == 1
    assert (await refusal(bench, key, {**FLAG, "note": "x"}, key="k")).code == "idempotency_key_mismatch"
    assert (await refusal(bench, key, key="no key")).code == "validation_error"
    await say(bench, other, key="k")
    assert len(await listed(bench, other)) == 1, "the key counts for one run"
    bench.clock.advance(RETENTION_SECONDS * 1000 + 1)
    await say(bench, key, {**FLAG, "note": "x"}, key="k")
    assert len(await listed(bench, key)) == 2


@pytest.mark.rule("idem-02")
async def test_without_the_slot_in_the_commit_one_key_would_be_many(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, key = await EngineHarness().with_run(GATE)
    honest = bench.store.annotations.add

    async def slotless(run: RunKey, new: Any, most: int, record: Any = None, assets: Any = ()) -> Any:
        return await honest(run, new, most)

    monkeypatch.setattr(bench.store.annotations, "add", slotless)
    said = facade(bench)
    await asyncio.gather(*(said.create(CALLER, key.run_id, FLAG, "k") for _ in range(8)))
    assert len(await listed(bench, key)) == 8


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
@fails_without(Redactor, "visible_value", lambda self, value: value, match=CANARY)
async def test_what_a_run_hides_is_masked_in_what_is_said_of_it(when: str) -> None:
    bench = EngineHarness()
    key = await guarded(bench)
    if when == "ended":
        await bench.run_to_end(key, release="b")
    if when == "restarted":
        bench = await bench.restart()
    shown = await say(bench, key, SAYING)
    assert CANARY not in json.dumps([shown, await listed(bench, key)])
    assert shown["signal"]["label"] == redaction_marker("secret")
    assert shown["note"] == f"<{redaction_marker('secret')}> and {redaction_marker('secret')}"
    assert (await say(bench, key, {**FLAG, "note": "plain"}))["note"] == "plain"
    free = await bench.start(GATE)
    assert (await say(bench, free, SAYING))["note"] == SAYING["note"], "another run hides nothing"
    await bench.close()


@pytest.mark.rule("hide-03")
async def test_a_log_is_learnt_from_again_only_when_it_has_grown() -> None:
    bench = EngineHarness()
    key = await guarded(bench)
    learner = SecretScanner(bench.log, Limits().max_run_state_bytes)
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
    await bench.run_to_end(key, release="b")
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
    bench = await EngineHarness().open()
    key = await bench.start(GUARDED, inputs={"secret": CANARY}) if hides else await _foreign(bench)

    async def unreadable(*_: Any) -> Any:
        raise HostFault("this host cannot run it")

    monkeypatch.setattr(WorkflowCatalog, "pinned_plan", unreadable)
    shown = await say(bench, key, {**SAYING, "target": {"nodeId": "a"}})
    texts = [shown["note"], shown["signal"]["label"], shown["signal"]["correction"]]
    assert texts == ([redaction_marker(COPY_NAME)] * 3 if hides else [SAYING["note"], CANARY, f"not {CANARY}"])
    fault = await refusal(bench, key, {**FLAG, "target": {"nodeId": "nobody"}})
    assert fault.details == {"pointer": "/target/nodeId"}
    await bench.close()


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
    bench = await EngineHarness().open()
    header = RunHeader("empty", CALLER.partition, Owner("acme", "key_1"), "gone", "gone", 1_000)
    await bench.store.log.create(header)
    reader = bench.feeds.join(header.key, -1)
    reader.wants_notifications = True
    await say(bench, header.key)
    assert reader.take_notifications() == []
