"""Imported runs: of any host, complete or refused, read-only, untrusted, and never executed."""

import asyncio
import hashlib
import json
from base64 import b64encode
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from tests.engine.api.test_review import OTHER, bundles, whole
from tests.harness.cases import fails_without
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, fault_of, settle
from weftwork.adapters.blobs.memory import MemoryBlobs
from weftwork.engine.api import annotations as annotations_module
from weftwork.engine.api import interrupts as interrupts_module
from weftwork.engine.api import run_control as control_module
from weftwork.engine.api.annotations import Annotations
from weftwork.engine.api.interrupts import InterruptLinks, Interrupts
from weftwork.engine.api.lineage import forks as forks_module
from weftwork.engine.api.lineage.forks import Forks
from weftwork.engine.api.lineage.imports import Imports
from weftwork.engine.api.lineage.run_trees import RunTrees
from weftwork.engine.api.retention import DAY_MS, Retention
from weftwork.engine.api.review import LookBack, RunDiffs
from weftwork.engine.host.imported_runs import check_replayable
from weftwork.ports.storage.run_queries import InterruptQuery, RunQuery
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.limits import Limits
from weftwork.protocol.privacy.trust import is_untrusted_boundary
from weftwork.protocol.review import bundle_import
from weftwork.protocol.run import imports as rules
from weftwork.protocol.run.header import TERMINAL_STATUSES, Fork, RunKey
from weftwork.testing.storage.samples import ANY_FENCE

ASK = node("ask", "core.approvalGate", config={"title": "Pay?"})
APPROVED = workflow([ASK, node("pay")], [edge("ask", "pay")], id="approved")
FLOW = workflow(
    [node("a", "core.identity", inputs={"text": {"type": "variable", "variableName": "name"}}), node("b")],
    [edge("a", "b")],
    [variable("name")],
)


def importer(bench: EngineHarness) -> Imports:
    return Imports(bench.runtime)


async def exported(document: dict[str, Any] = FLOW, ended: bool = True, **request: Any) -> dict[str, Any]:
    """A bundle of a run of another host."""
    there = EngineHarness()
    for _ in range(7):
        there.ids.run_id(0)
    key = await there.execute(document, **request) if ended else (await there.with_settled_run(document, **request))[1]
    bundle, _ = await whole(there, key)
    await there.close()
    return bundle


async def imported(bench: EngineHarness, bundle: Any, key: str | None = None, by: Any = CALLER) -> RunKey:
    await bench.open()
    outcome = await importer(bench).import_run(by, encode(bundle), key)
    return by.run(outcome.run_id)


def encode(bundle: Any) -> bytes:
    return bundle if isinstance(bundle, bytes) else json.dumps(bundle).encode()


async def refusal(bench: EngineHarness, bundle: Any) -> ClientFault:
    await bench.open()
    return await fault_of(importer(bench).import_run(CALLER, encode(bundle)))


@pytest.mark.rule("imp-01")
async def test_an_imported_run_is_the_exported_one_under_a_new_id() -> None:
    bundle = await exported(inputs={"name": "Ada"}, tags=["x"], metadata={"m": 1})
    bench = EngineHarness()
    key = await imported(bench, bundle)
    assert key.run_id != bundle["run"]["runId"]
    events = [json.loads(event.document) for event in await bench.events(key)]
    same = ("eventId", "sequence", "type", "nodeId", "payload", "timestamp", "causationId", "engineVersion")
    assert [[each.get(name) for name in same] for each in events] == [
        [each.get(name) for name in same] for each in bundle["events"]
    ]
    assert {event["runId"] for event in events} == {key.run_id}
    snapshot = json.loads(msgspec.json.encode(await bench.service.get_run(CALLER, key.run_id)))
    kept = ("workflowId", "status", "startedAt", "completedAt", "variables", "nodeStates", "outputs", "inputs", "tags")
    assert [snapshot[name] for name in kept] == [bundle["run"][name] for name in kept]
    assert snapshot["owner"] == {"tenant": "acme", "principal": "key_1"}
    mark = {
        "runId": bundle["run"]["runId"],
        "host": {"name": "weftwork", "version": "0.1.0"},
        "exportedAt": bundle["generatedAt"],
        "status": "completed",
        "workflowVersion": "1.0.0",
    }
    assert snapshot["imported"] == mark
    listed = await bench.service.list_runs(CALLER, RunQuery(tags=("x",)))
    assert [(each["runId"], each["imported"]) for each in listed["runs"]] == [(key.run_id, mark)]


async def test_an_imported_run_can_be_exported_and_imported_again() -> None:
    for ended in (True, False):
        bundle = await exported(FLOW if ended else APPROVED, ended)
        bench = EngineHarness()
        first = await imported(bench, bundle)
        again, _ = await whole(bench, first)
        second = await imported(bench, again)
        assert [e.payload for e in await bench.events(second)] == [e.payload for e in await bench.events(first)]
        one, two = [(await bench.stored_run(key)).header.imported for key in (first, second)]
        assert one is not None
        assert two is not None
        assert (one.status, one.ended_at) == (two.status, two.ended_at)
        assert two.run_id == first.run_id
        diff = await RunDiffs(bench.runtime, bench.executor).compare(CALLER, first.run_id, second.run_id)
        assert (diff["divergedAtSeq"], diff["stateDiff"], diff["truncated"]) == (None, {}, False)


@pytest.mark.rule("imp-01")
@fails_without(bundle_import, "TERMINAL_STATUSES", frozenset(bundle_import.STATUSES), errors=(Exception,))
async def test_no_executor_ever_loads_an_imported_run_that_had_not_ended() -> None:
    bundle = await exported(APPROVED, ended=False)
    assert bundle["run"]["status"] == "waiting-approval"
    bench = EngineHarness()
    await bench.open()
    assert await bench.catalog.register(APPROVED) == []
    key = await imported(bench, bundle)
    before = await bench.events(key)
    assert await bench.store.ownership.untaken(ANY_FENCE, None, 10) == []
    assert await bench.store.queries.due_runs(2**60, 10) == []
    bench = await bench.restart()
    await settle()
    assert bench.executor.live_count == 0
    assert await bench.cancel(key) == "cancelled"
    await bench.answer(key, {"action": "accept"})
    await settle()
    assert bench.executor.live_count == 0
    assert await bench.events(key) == before
    stored = await bench.stored_run(key)
    assert stored.projection.status in TERMINAL_STATUSES
    assert stored.header.imported is not None
    assert stored.header.imported.status == "waiting-approval"


async def test_an_imported_run_that_had_not_ended_can_be_followed_to_its_end() -> None:
    bench = EngineHarness()
    key = await imported(bench, await exported(APPROVED, ended=False))
    events, projection = await bench.streams.read_page(CALLER, key.run_id, -1, 1000, timeout=60)
    assert events[-1].sequence == projection.last_sequence
    reader, _ = await bench.streams.join(CALLER, key.run_id, -1)
    assert [event.sequence for event in await reader.next(0)] == list(range(len(events)))
    assert reader.ended
    bench.streams.leave(CALLER, key.run_id)


@pytest.mark.rule("imp-03")
@fails_without(bundle_import, "UNTRUSTED", None)
async def test_everything_of_an_imported_run_is_untrusted() -> None:
    bundle = await exported(inputs={"name": "Ada"}, configurable={"trustBoundary": "trusted"})
    for event in bundle["events"]:
        event["contentTrust"] = "trusted"
    bench = EngineHarness()
    key = await imported(bench, bundle)
    assert {event.content_trust for event in await bench.events(key)} == {"untrusted"}
    assert is_untrusted_boundary((await bench.stored_run(key)).header.configurable)


def interrupts(bench: EngineHarness) -> Interrupts:
    return Interrupts(bench.runtime, bench.executor, InterruptLinks(bench.signer, bench.clock, bench.ids, "/i/", "", 7))


@pytest.mark.rule("imp-04")
@fails_without(
    [interrupts_module, "refuse_change", lambda header: None], [control_module, "refuse_change", lambda header: None]
)
async def test_an_open_interrupt_of_a_bundle_can_never_be_answered() -> None:
    bundle = await exported(APPROVED, ended=False)
    bundle["run"]["interrupts"] = [{"interruptId": "ask.1", "nodeId": "ask", "kind": "approval", "status": "open"}]
    bundle["run"]["interrupt"] = bundle["run"]["interrupts"][0]
    bench = EngineHarness()
    key = await imported(bench, bundle)
    facade = interrupts(bench)
    snapshot = facade.with_tokens(
        CALLER, json.loads(msgspec.json.encode(await bench.service.get_run(CALLER, key.run_id)))
    )
    assert not {"interrupt", "interrupts"} & snapshot.keys()
    assert b"token" not in json.dumps(snapshot).lower().encode()
    assert (await facade.list_open(CALLER, InterruptQuery()))["interrupts"] == []
    assert (await facade.list_of_run(CALLER, key.run_id))["interrupts"] == []
    refused = [
        await fault_of(facade.resolve(CALLER, key.run_id, "ask", {"resumeValue": {"action": "accept"}})),
        await fault_of(facade.resolve_approval(CALLER, key.run_id, "ask", {"action": "accept"})),
        await fault_of(facade.link(CALLER, key.run_id, "ask", {})),
        await fault_of(bench.control.pause_run(CALLER, key.run_id, {})),
        await fault_of(bench.control.resume_run(CALLER, key.run_id, {})),
    ]
    assert [(each.code, each.status, each.details) for each in refused] == [("conflict", 409, {"imported": True})] * 5


@pytest.mark.rule("imp-05")
@fails_without(rules, "check_forkable", lambda header, mode: None)
async def test_a_forged_approval_counts_nowhere() -> None:
    bundle = await exported(APPROVED, ended=False)
    last = bundle["events"][-1]
    granted = {**last, "eventId": "forged-1", "sequence": last["sequence"] + 1, "type": "approval.granted"}
    bundle["events"].append({**granted, "payload": {"gateId": "ask", "principal": "key_1"}})
    bundle["metrics"]["eventCount"] += 1
    bench = EngineHarness()
    await bench.open()
    assert await bench.catalog.register(APPROVED) == []
    waiting = await bench.start(APPROVED)
    await settle()
    key = await imported(bench, bundle)
    await settle()
    # The approval of a run of this host is as open as before.
    assert await bench.status(waiting) == "waiting-approval"
    assert len((await interrupts(bench).list_open(CALLER, InterruptQuery()))["interrupts"]) == 1
    header = (await bench.stored_run(key)).header
    fork = msgspec.structs.replace(header, fork=Fork(key.run_id, 0, "replay"))
    for each in (header, fork):
        with pytest.raises(ClientFault, match="only be replayed") as caught:
            rules.check_forkable(each, "branch")
        assert (caught.value.status, caught.value.details) == (409, {"imported": True})
        rules.check_forkable(each, "replay")


@pytest.mark.rule("imp-05")
async def test_a_replay_needs_the_definition_and_only_one_that_the_tenant_has_registered() -> None:
    bundle = await exported(inputs={"name": "Ada"})
    definition = bundle["run"]["definition"]
    assert definition["version"] == "1.0.0"
    bench = EngineHarness()
    key = await imported(bench, bundle)

    async def check(run: RunKey) -> None:
        stored = await bench.stored_run(run)
        await check_replayable(bench.runtime, bench.catalog, stored.header, stored.projection.last_sequence)

    fault = await fault_of(check(key))
    assert (fault.status, "register the workflow sample in version 1.0.0" in fault.message) == (409, True)
    # Another tenant's definition with the same digest is in the store, and is not executed for this one.
    await bench.workflows.register(OTHER, FLOW)
    assert (await fault_of(check(key))).message == fault.message
    await bench.workflows.register(CALLER, FLOW)
    await check(key)
    nameless = deepcopy(bundle)
    del nameless["run"]["definition"]
    fault = await fault_of(check(await imported(bench, nameless)))
    assert "does not say which definition" in fault.message
    contradicting = deepcopy(bundle)
    contradicting["events"][1] |= {"type": "weftwork.interrupt.reminder", "payload": {}}
    fault = await fault_of(check(await imported(bench, contradicting)))
    assert (fault.status, "contradict the definition" in fault.message) == (409, True)


async def test_a_definition_from_a_file_is_enough_for_a_replay() -> None:
    bench = EngineHarness()
    key = await imported(bench, await exported())
    stored = await bench.stored_run(key)
    assert await bench.catalog.register(FLOW) == []
    await check_replayable(bench.runtime, bench.catalog, stored.header, stored.projection.last_sequence)


@pytest.mark.rule("imp-01")
async def test_an_import_belongs_to_its_caller_and_no_other_tenant_sees_it() -> None:
    bundle = await exported()
    bundle["run"]["owner"] = {"tenant": "other", "principal": "key_2"}
    bench = EngineHarness()
    key = await imported(bench, bundle)
    for read in (
        bench.service.get_run(OTHER, key.run_id),
        bench.streams.read_page(OTHER, key.run_id, -1, 10),
        bundles(bench).open(OTHER, key.run_id),
        RunTrees(bench.runtime, bench.executor, "h").tree(OTHER, key.run_id, 10),
        RunDiffs(bench.runtime, bench.executor).compare(OTHER, key.run_id, key.run_id),
    ):
        assert (await fault_of(read)).code == "not_found"
    assert (await bench.service.list_runs(OTHER, RunQuery()))["runs"] == []
    tree = await RunTrees(bench.runtime, bench.executor, "h").tree(CALLER, key.run_id, 10)
    assert [each["imported"]["runId"] for each in tree["runs"]] == [bundle["run"]["runId"]]


@pytest.mark.rule("idem-01", "imp-01")
async def test_the_same_key_and_bundle_import_one_run() -> None:
    bundle = await exported()
    bench = EngineHarness()
    await bench.open()
    facade, data = importer(bench), encode(bundle)
    first, second = await asyncio.gather(*(facade.import_run(CALLER, data, "k") for _ in range(2)))
    third = await facade.import_run(CALLER, data, "k")
    assert {first.run_id, second.run_id} == {third.run_id}
    assert third.replayed
    assert len((await bench.service.list_runs(CALLER, RunQuery()))["runs"]) == 1
    fault = await fault_of(facade.import_run(CALLER, data + b" ", "k"))
    assert fault.code == "idempotency_key_mismatch"
    # A key of another tenant is another key.
    other = await facade.import_run(OTHER, data, "k")
    assert other.run_id != first.run_id


@pytest.mark.rule("imp-01")
async def test_retention_counts_from_the_import_and_a_deletion_removes_everything() -> None:
    bundle = await exported()
    bench = EngineHarness()
    await bench.open()
    bench.clock.advance(400 * DAY_MS)
    key = await imported(bench, bundle)
    retention = Retention(bench.store.retention, bench.log, bench.log, bench.clock, bench.executor, 30)
    await retention.delete_expired()
    assert await bench.store.log.read_run(key) is not None
    bench.clock.advance(31 * DAY_MS)
    await retention.delete_expired()
    assert await bench.store.log.read_run(key) is None
    second = await imported(bench, await exported(APPROVED, ended=False))
    await retention.delete_run(CALLER, second.run_id)
    assert await bench.store.log.read_run(second) is None


@pytest.mark.rule("size-03")
async def test_an_import_counts_for_the_quota_of_its_tenant() -> None:
    bundle = await exported(inputs={"name": "x y " * 12_000})
    bench = EngineHarness(limits=Limits(max_log_bytes_per_tenant=100_000))
    fault = await refusal(bench, bundle)
    assert (fault.code, fault.status) == ("tenant_quota_exceeded", 409)
    assert (await bench.service.list_runs(CALLER, RunQuery()))["runs"] == []


@pytest.mark.rule("imp-06", "hide-09")
@fails_without(bundle_import, "mask_credentials", lambda value: value)
async def test_credentials_that_another_host_left_in_a_bundle_are_masked() -> None:
    secret = "sk-live-0123456789abcdef"
    bundle = await exported(inputs={"name": "NAME"}, tags=["NAME"], metadata={"m": "NAME"})
    data = (
        encode(bundle)
        .replace(b"NAME", secret.encode())
        .replace(b'"redactionMode": "mask"', b'"redactionMode": "passthrough"')
    )
    bench = EngineHarness()
    key = await imported(bench, data)
    stored = await bench.stored_run(key)
    shown = [event.document for event in await bench.events(key)] + [row.value for row in stored.rows]
    shown += [msgspec.json.encode(stored.header), msgspec.json.encode(stored.projection.outputs)]
    assert not any(secret.encode() in each for each in shown)


PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(64)


def media_item(url: str, data: bytes = PICTURE, **more: Any) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    return {"url": url, "sha256": digest, "mimeType": "image/png", "base64": b64encode(data).decode(), **more}


@pytest.mark.rule("imp-07")
async def test_packed_media_are_stored_here_and_all_others_stay_as_they_are() -> None:
    packed, foreign = "https://there.example/v1/assets/one-picture", "https://there.example/v1/assets/other"
    bundle = await exported(inputs={"name": f"{packed} and {foreign}"})
    bundle["media"] = [media_item(packed, name="p.png")]
    clock_ids = EngineHarness()
    bench = EngineHarness(blobs=MemoryBlobs(clock_ids.clock, clock_ids.ids))
    await bench.open()
    outcome = await importer(bench).import_run(CALLER, encode(bundle))
    assert outcome.media_count == 1
    key = CALLER.run(outcome.run_id)
    stored = await bench.stored_run(key)
    name = json.loads(next(row.value for row in stored.rows if (row.kind, row.name) == ("variable", "name")))
    url, _, other = name.partition(" and ")
    assert other == foreign
    _, asset = await bench.assets.open_token(url.rpartition("/")[2])
    assert await bench.assets.read(asset) == PICTURE
    assert packed.encode() not in b"".join(event.payload for event in await bench.events(key))


@pytest.mark.rule("imp-07")
@fails_without(bundle_import, "MAX_MEDIA_BYTES", 2**40)
async def test_packed_media_are_bounded_and_have_their_digest() -> None:
    bench = EngineHarness()
    url = "https://there.example/v1/assets/picture"
    bundle = await exported()
    for media, pointer in (
        ([media_item(url, sha256="0" * 64)], "/media/0/sha256"),
        ([media_item("x")], "/media/0/url"),
        ([media_item(url, base64="!")], "/media/0/base64"),
        (["x"], "/media/0/base64"),
        ({}, "/media"),
        ([media_item(url)] * 101, "/media"),
    ):
        fault = await refusal(bench, {**bundle, "media": media})
        assert (fault.code, (fault.details or {})["pointer"]) == ("validation_error", pointer)
    large = bytes(3_145_729)
    fault = await refusal(bench, {**bundle, "media": [media_item(url, large)]})
    assert (fault.code, fault.status) == ("payload_too_large", 413)


@pytest.mark.rule("imp-06", "imp-07")
@fails_without(bundle_import, "safe_file_name", lambda name: name, errors=(ClientFault,))
async def test_a_short_url_of_packed_media_cannot_make_a_small_bundle_a_large_run() -> None:
    clock_ids = EngineHarness()
    limits = Limits(max_run_log_bytes=1_000_000)
    bench = EngineHarness(blobs=MemoryBlobs(clock_ids.clock, clock_ids.ids), limits=limits)
    await bench.open()
    short = "u" * 16
    often = await exported()
    often["events"][0]["payload"]["inputs"] = {"name": short * 20_000}
    fault = await refusal(bench, {**often, "media": [media_item(short, name="p.png")]})
    assert (fault.code, fault.status, (fault.details or {})["pointer"]) == ("payload_too_large", 413, "/media")
    few = await exported(inputs={"name": f"{short} {short}"})
    data = encode({**few, "media": [media_item(short, name="n" * 1_000_000)]})
    outcome = await importer(bench).import_run(CALLER, data)
    events = await bench.events(CALLER.run(outcome.run_id))
    assert sum(event.size for event in events) < 20_000


@pytest.mark.rule("imp-07")
async def test_the_new_url_of_packed_media_is_not_searched_for_the_others() -> None:
    clock_ids = EngineHarness()
    bench = EngineHarness(blobs=MemoryBlobs(clock_ids.clock, clock_ids.ids))
    await bench.open()
    first = "https://there.example/one"
    # The beginning of each URL of this host.
    inner = bench.assets.base + bench.assets.prefixes[0]
    bundle = await exported(inputs={"name": f"{first} {inner}"})
    bundle["media"] = [media_item(first), media_item(inner, PICTURE + b"2")]
    key = await imported(bench, bundle)
    rows = (await bench.stored_run(key)).rows
    name = json.loads(next(row.value for row in rows if (row.kind, row.name) == ("variable", "name")))
    for url, data in zip(name.split(), (PICTURE, PICTURE + b"2"), strict=True):
        _, asset = await bench.assets.open_token(url.removeprefix(inner))
        assert await bench.assets.read(asset) == data


@pytest.mark.rule("imp-06")
def test_a_replaced_url_is_not_replaced_again() -> None:
    pairs = [("ab", "b"), ("b", "(ab)")]
    assert bundle_import.replace_texts("ab b abb", pairs) == "b (ab) b(ab)"


SECRET_FLOW = workflow([node("a")], variables=[variable("name", sensitive=True)])


@pytest.mark.rule("imp-05")
@fails_without(annotations_module, "is_imported", lambda header: False, errors=(KeyError,))
async def test_an_annotation_of_an_imported_run_does_not_read_its_definition() -> None:
    bundle = await exported(SECRET_FLOW, inputs={"name": "Ada"})
    bundle["events"][1] |= {"type": "weftwork.interrupt.reminder", "payload": {}}
    bench = EngineHarness()
    await bench.open()
    await bench.workflows.register(OTHER, SECRET_FLOW)
    key = await imported(bench, bundle)
    facade = Annotations(bench.runtime, bench.catalog, bench.executor, bench.store.annotations)
    note = {"signal": {"kind": "flag"}, "target": {"nodeId": "a"}, "note": "seen"}
    created = await facade.create(CALLER, key.run_id, note)
    assert json.loads(created.document)["note"] == "seen"


@pytest.mark.rule("imp-05")
@fails_without([forks_module, "check_forkable", lambda header, mode: None])
async def test_an_imported_run_is_never_branched_or_retried() -> None:
    bundle = await exported(inputs={"name": "Ada"})
    bench = EngineHarness()
    key = await imported(bench, bundle)
    facade = Forks(bench.runtime, bench.catalog, bench.executor)
    fault = await fault_of(facade.fork_run(CALLER, key.run_id, {"mode": "branch", "fromSeq": 1}))
    assert (fault.status, "only be replayed" in fault.message) == (409, True)
    fault = await fault_of(facade.fork_run(CALLER, key.run_id, {"mode": "replay"}))
    assert (fault.status, "register the workflow sample" in fault.message) == (409, True)
    look = LookBack(bench.runtime, bench.catalog, bench.executor, bench.service)
    fault = await fault_of(look.run_after(CALLER, key.run_id, 1))
    assert (fault.status, "register the workflow sample" in fault.message) == (409, True)
