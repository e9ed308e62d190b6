"""Whether a store is sound by itself: every run is the fold of its log, and nothing is there without its other half."""

from collections import Counter
from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec

from tests.harness.definitions import plan_of
from tests.harness.engine_harness import CALLER
from tests.power.turn_based_log import check_counts, content_of, expected_references, stored_references
from tests.power.workflows import TAGS, secret_of
from weftwork.adapters.sqlite.definitions import _get as get_definition
from weftwork.adapters.sqlite.idempotency import find_record
from weftwork.adapters.sqlite.run_queries import list_runs
from weftwork.adapters.sqlite.runs import find_run, read_events, read_hidden
from weftwork.engine.api.runs import RunOutcome
from weftwork.engine.run.replay import load_state
from weftwork.engine.run.state_rows import stored_run
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.run.batch import HiddenValue
from weftwork.protocol.run.events import TERMINAL_TYPES, Event
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun
from weftwork.protocol.workflow.plan import Plan
from weftwork.testing.storage.harness import fields_of

T = TypeVar("T")
RunPositions = dict[str, tuple[str, int]]
"""Run id -> status and last sequence."""


class StoreAuditor:
    """Looks at stores of the same story. What was found good is not looked at again while it is the same."""

    def __init__(self, keyed: dict[str, str]) -> None:
        self._keyed = keyed
        self._plans: dict[str, Plan] = {}
        self._good_runs: set[bytes] = set()
        self._good: dict[bytes, RunPositions] = {}

    def check(self, connection: Any) -> tuple[bytes, RunPositions]:
        """What the store holds, as a digest, and where its runs stand. Raises AssertionError if it is not sound."""
        content = content_of(connection)
        if content not in self._good:
            runs = _listed(connection)
            for tag in TAGS:
                wanted = {run_id for run_id, stored in runs.items() if tag in stored.header.tags}
                assert _listed(connection, tag).keys() == wanted, f"runs with the tag {tag}"
            for run_id in runs:
                self._check_run(connection, CALLER.run(run_id))
            standing = {run_id: (run.projection.status, run.projection.last_sequence) for run_id, run in runs.items()}
            self._check_records(connection, standing)
            check_counts(connection)
            self._good[content] = standing
        return content, self._good[content]

    def _check_run(self, connection: Any, run: RunKey) -> None:
        stored = find_run(connection, run)
        assert stored is not None
        events = read_events(connection, run, -1, 1_000_000)
        hidden = read_hidden(connection, run)
        referred = stored_references(connection, run.partition, run.run_id)
        known = msgspec.json.encode((stored, fields_of(events), hidden, sorted(referred)))
        if known not in self._good_runs:
            assert referred == expected_references(run.run_id, events), (
                f"{run.run_id}: it refers to other assets than it names"
            )
            _check_log(run.run_id, events)
            self._check_fold(connection, stored, events, hidden)
            self._good_runs.add(known)

    def _check_fold(self, connection: Any, stored: StoredRun, events: list[Event], hidden: list[HiddenValue]) -> None:
        header, run_id = stored.header, stored.header.run_id
        plan = self._plan(connection, header.definition)
        state = _run_synchronously(load_state(_FoldSource(events, hidden), header, plan))  # type: ignore[arg-type]
        projection, rows = _folded(state, events)
        assert stored.projection == projection, f"{run_id}: {stored.projection}, folded {projection}"
        assert sorted(stored.rows, key=repr) == rows, f"{run_id}: {stored.rows}, folded {rows}"
        if plan.sensitive_variables:
            secret = secret_of(header.metadata["number"])
            assert state.inputs == {"secret": secret}, f"{run_id}: a hidden input is not there"
            done = [node for node in state.nodes.values() if node.outputs]
            assert all(node.outputs == {"x": secret} for node in done), f"{run_id}: a hidden output is not there"
            assert all(secret.encode() not in event.payload for event in events), f"{run_id}: a secret is in the log"

    def _check_records(self, connection: Any, runs: RunPositions) -> None:
        for run_id, slot in self._keyed.items():
            record = find_record(connection, CALLER.partition, slot, 0)
            assert record is not None or run_id not in runs, f"the run {run_id} without its record"
            if record is not None:
                said = msgspec.json.decode(record.outcome, type=RunOutcome)
                assert said.run_id in runs, f"a record without its run {said.run_id}"
                assert has_reached(runs[said.run_id], said.status), f"{said} is recorded, it is {runs[said.run_id]}"

    def _plan(self, connection: Any, digest: str) -> Plan:
        if digest not in self._plans:
            document = get_definition(connection, digest)
            assert document is not None, f"the definition {digest} is not there"
            self._plans[digest] = plan_of(msgspec.json.decode(document))
        return self._plans[digest]


class _FoldSource:
    def __init__(self, events: list[Event], hidden: list[HiddenValue]) -> None:
        self._events = events
        self._hidden = hidden

    async def read(self, run: RunKey, after: int, limit: int, budget: int | None = None) -> list[Event]:
        return self._events[after + 1 : after + 1 + limit]

    async def hidden_values(self, run: RunKey) -> list[HiddenValue]:
        return self._hidden


def _run_synchronously(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


def _listed(connection: Any, *tags: str) -> dict[str, StoredRun]:
    page = list_runs(connection, CALLER.partition, RunQuery(tags=tags, limit=1000))
    assert not page.more
    return {run.header.run_id: run for run in page.runs}


def _check_log(run_id: str, events: list[Event]) -> None:
    assert [event.sequence for event in events] == list(range(len(events))), f"{run_id}: gaps"
    ends = [event.sequence for event in events if event.type in TERMINAL_TYPES]
    assert ends in ([], [len(events) - 1]), f"{run_id}: ends at {ends} of {len(events)}"
    starts = Counter(event.node_id for event in events if event.type == "node.started")
    assert set(starts.values()) <= {1}, f"{run_id}: a node was started twice"
    assert len({event.event_id for event in events}) == len(events), f"{run_id}: an event id is used twice"


def _folded(state: RunState, events: list[Event]) -> tuple[Projection, list[StateRow]]:
    """The projection and the rows that the engine would write for a state that was folded from nothing."""
    redactor = Redactor(state.plan) if state.plan.has_sensitive_data else None
    if redactor is not None:
        redactor.learn_inputs(state.inputs)
        redactor.learn_state(state)
    made = stored_run(state, redactor)
    last = msgspec.json.decode(events[-1].payload) if state.is_terminal else {}
    shown = {name: encode_stored(last[name]) for name in ("error", "outputs") if name in last}
    return msgspec.structs.replace(made.projection, **shown), sorted(made.rows, key=repr)


_ORDER = ("pending", "running", "cancelling")


def has_reached(standing: tuple[str, int], least: str, sequence: int = -1) -> bool:
    """Whether a run that stands there has come at least as far as that."""
    status, last_sequence = standing
    if last_sequence < sequence:
        return False
    if least in TERMINAL_STATUSES or status in TERMINAL_STATUSES:
        return least in (status, *_ORDER)
    return _ORDER.index(status) >= _ORDER.index(least)
