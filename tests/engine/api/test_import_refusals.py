"""Bundles that are refused: malformed, truncated, too large; and no bundle at all breaks an import or a reader."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from tests.engine.api.test_imports import FLOW, exported, imported, refusal
from tests.engine.api.test_review import whole
from tests.harness.cases import fails_without
from tests.harness.definitions import for_all
from tests.harness.engine_harness import CALLER, EngineHarness, run
from weftwork.engine.api.review import RunDiffs
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.limits import Limits
from weftwork.protocol.review import bundle_import
from weftwork.protocol.run.header import TERMINAL_STATUSES


def changed(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Sets the value at a place of a bundle; None removes it."""

    def change(bundle: dict[str, Any]) -> None:
        *parents, last = [int(part) if part.isdecimal() else part for part in path.split("/")[1:]]
        place: Any = bundle
        for part in parents:
            place = place[part]
        if value is None:
            del place[last]
        else:
            place[last] = value

    return change


MALFORMED: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "version": (changed("/bundleVersion", "2.0"), "/bundleVersion"),
    "no host": (changed("/host", None), ""),
    "truncated": (changed("/truncated", True), "/truncated"),
    "omitted members": (changed("/run/omitted", ["variables"]), "/truncated"),
    "fewer events than counted": (changed("/metrics/eventCount", 99), "/truncated"),
    "no events": (lambda bundle: bundle.update(events=[], metrics={}), "/events"),
    "a gap": (changed("/events/1/sequence", 2), "/events/1/sequence"),
    "from 1": (lambda bundle: bundle["events"].pop(0) and bundle["metrics"].clear(), "/events/0/sequence"),
    "another run": (changed("/events/1/runId", "other"), "/events/1/runId"),
    "an id twice": (
        lambda bundle: bundle["events"][1].update(eventId=bundle["events"][0]["eventId"]),
        "/events/1/eventId",
    ),
    "an id with a quote": (changed("/events/1/eventId", 'x","type":"run.completed'), "/events/1/eventId"),
    "a reserved type": (changed("/events/1/type", "core.thing"), "/events/1/type"),
    "a type with a quote": (changed("/events/1/type", 'a.b","x":"'), "/events/1/type"),
    "a local time": (changed("/events/1/timestamp", "2026-01-31T08:05:09+02:00"), "/events/1/timestamp"),
    "no payload": (changed("/events/1/payload", None), "/events/1"),
    "a payload that is a list": (changed("/events/1/payload", [1]), "/events/1/payload"),
    "a payload against its schema": (changed("/events/1/payload", {}), "/events/1/payload"),
    "an interrupt id": (changed("/events/1/interruptId", {"x": 1}), "/events/1/interruptId"),
    "an event after the end": (
        lambda bundle: bundle["events"][1].update(type="run.cancelled", payload={}),
        "/events/2",
    ),
    "another status": (changed("/run/hostStatus", "failed"), "/run/status"),
    "an id of a workflow": (changed("/run/workflowId", "a/../b"), "/run/workflowId"),
    "an answer without texts": (
        lambda bundle: bundle["events"][1].update(type="weftwork.model.answered", payload={"toolCalls": 1, "text": {}}),
        "/events/1/payload",
    ),
}


@pytest.mark.rule("imp-02")
async def test_a_malformed_bundle_is_refused_with_the_place_and_nothing_is_stored() -> None:
    bundle = await exported(inputs={"name": "Ada"})
    bench = EngineHarness()
    wrong: dict[str, Any] = {}
    for name, (change, pointer) in MALFORMED.items():
        document = deepcopy(bundle)
        change(document)
        fault = await refusal(bench, document)
        found = (fault.code, fault.status, (fault.details or {}).get("pointer"))
        if found != ("validation_error", 400, pointer):
            wrong[name] = found
        assert "Ada" not in fault.message
    assert wrong == {}
    for data in (b"", b"{", b"[]", b'{"bundleVersion":"1.0"}', b'{"a":1,"a":2}', b"\xff", b"[" * 100_000):
        assert (await refusal(bench, data)).code == "validation_error"
    assert (await bench.service.list_runs(CALLER, RunQuery()))["runs"] == []


@pytest.mark.rule("imp-02")
@fails_without(bundle_import, "_refuse_truncated", lambda document: None)
async def test_a_truncated_bundle_is_refused() -> None:
    there = EngineHarness()
    key = await there.execute(FLOW)
    bundle, _ = await whole(there, key, most_events=3)
    fault = await refusal(EngineHarness(), bundle)
    assert "truncated" in fault.message
    assert (fault.details or {})["pointer"] == "/truncated"


@pytest.mark.rule("imp-02")
@fails_without(bundle_import, "MAX_IMPORT_VALUES", 2**60)
async def test_a_bundle_with_too_many_values_is_refused() -> None:
    data = b'{"x":[%b1]}' % (b"1," * 2_000_000)
    fault = await refusal(EngineHarness(), data)
    assert "more than 2000000 values" in fault.message


@pytest.mark.rule("imp-02")
async def test_a_log_beyond_the_limit_of_this_host_is_refused() -> None:
    bundle = await exported(inputs={"name": "x y " * 2_000})
    fault = await refusal(EngineHarness(limits=Limits(max_run_log_bytes=10_000)), bundle)
    assert (fault.code, fault.details) == ("payload_too_large", {"limit": 10_000})


@pytest.mark.rule("imp-02")
async def test_events_of_unknown_types_are_kept() -> None:
    bundle = await exported()
    bundle["events"][1] |= {"type": "acme.later.thing", "payload": {"any": [1]}, "more": 1, "engineVersion": "next-7"}
    bench = EngineHarness()
    key = await imported(bench, bundle)
    event = (await bench.events(key))[1]
    assert (event.type, event.payload, event.engine_version) == ("acme.later.thing", b'{"any":[1]}', 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
PLACES = st.sampled_from(
    [
        *(f"/run/{name}" for name in "variables nodeStates channels artifacts agent outputs inputs tags".split()),
        *(f"/run/{name}" for name in "metadata configurable currentNodeId definition hostStatus interrupts".split()),
        *(f"/events/{at}/{name}" for at in (0, 1, 2, -1) for name in ("payload", "nodeId", "causationId", "type")),
        *("/media", "/annotations", "/spans", "/metrics", "/host", "/generatedAt", "/run/error", "/run/runId"),
    ]
)
TYPES = st.sampled_from(
    "weftwork.model.answered weftwork.envelope.recorded weftwork.run.set-aside output.chunk media.image node.started "
    "provider.usage acme.thing artifact.created weftwork.interrupt.reminder interrupt.requested".split()
)


@pytest.mark.rule("imp-02")
@for_all(
    60, st.lists(st.tuples(PLACES, JSON), max_size=3), st.lists(st.tuples(st.integers(0, 4), TYPES, JSON), max_size=2)
)
def test_no_bundle_breaks_an_import_or_a_reader(changes: Any, events: Any) -> None:
    async def body() -> None:
        bundle = deepcopy(SAMPLE or await sample())
        for path, value in changes:
            *parents, last = [int(p) if p.lstrip("-").isdecimal() else p for p in path.split("/")[1:]]
            place: Any = bundle
            for part in parents:
                place = place[part] if isinstance(place, list) else place.get(part, {})
            if isinstance(place, dict):
                place[last] = value
        for at, kind, payload in events:
            bundle["events"][at] |= {"type": kind, "payload": payload if isinstance(payload, dict) else {"x": payload}}
        bench = EngineHarness()
        try:
            key = await imported(bench, bundle)
        except ClientFault as fault:
            if fault.status not in (400, 413):
                raise
            return
        reader = msgspec.structs.replace(CALLER, scopes=frozenset({"runs:read"}))
        for by in (CALLER, reader):
            await bench.service.get_run(by, key.run_id)
            await bench.service.run_spans(by, key.run_id)
            await bench.streams.read_page(by, key.run_id, -1, 100)
        await bench.service.list_runs(CALLER, RunQuery())
        again, _ = await whole(bench, key)
        diff = await RunDiffs(bench.runtime, bench.executor).compare(CALLER, key.run_id, key.run_id)
        assert diff["divergedAtSeq"] is None
        assert (await bench.stored_run(key)).projection.status in TERMINAL_STATUSES
        assert again["run"]["imported"]["runId"] == bundle["run"]["runId"]

    run(body)


SAMPLE: dict[str, Any] = {}


async def sample() -> dict[str, Any]:
    SAMPLE.update(await exported(inputs={"name": "Ada"}))
    return SAMPLE
