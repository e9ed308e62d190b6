"""Earlier states of a run: a fold with a bound, and the stored form of the state that it returns."""

import asyncio
import random
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from tests.engine.host.test_failures import FlakyLog
from tests.engine.run.test_event_logs import SECRET, a_graph, lived
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import edge, example_count, for_all, node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, WrappedLog, run, until
from tests.simulation.fold_driver import choose_randomly
from tests.simulation.random_workflows import random_workflow
from tests.simulation.run_driver import RunDriver
from weftwork.engine.api.review import LookBack
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.run import earlier_states, replay
from weftwork.engine.run.append import make_redactor
from weftwork.engine.run.earlier_states import EarlierStates
from weftwork.engine.run.replay import load_state
from weftwork.engine.run.state_rows import stored_run
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault, HostFault
from weftwork.protocol.fold.fold import apply
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.fold.state_copy import copy_state
from weftwork.protocol.fold.variable_views import VariableView, initial_view
from weftwork.protocol.run.batch import Batch, HiddenValue
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import Projection


class EndedLog(WrappedLog):
    """A log as it was when it ended with one of its events."""

    def __init__(self, log: Any, last: int) -> None:
        super().__init__(log)
        self.last = last

    async def read(self, *given: Any) -> list[Event]:
        return [event for event in await self._log.read(*given) if event.sequence <= self.last]

    async def hidden_values(self, run: RunKey, *bounds: int) -> list[HiddenValue]:
        return [each for each in await self._log.hidden_values(run, *bounds) if each.sequence <= self.last]


def contents(state: RunState) -> dict[str, Any]:
    """Everything in a state that can be compared."""
    found = {name: getattr(state, name) for name in state.__struct_fields__ if name not in ("plan", "header")}
    found["nodes"] = {name: msgspec.structs.asdict(node) for name, node in state.nodes.items()}
    return found


async def plan_and_header(bench: EngineHarness, key: RunKey) -> tuple[Any, Any]:
    header = (await bench.stored_run(key)).header
    return await bench.catalog.pinned_plan(header.workflow_id, header.definition), header


@pytest.mark.rule("fold-01")
@for_all(10, st.integers(0, 2**48), full=400)
@pytest.mark.parametrize("page", [1, 3, 1000])
async def test_a_fold_with_a_bound_is_the_fold_of_a_log_that_ends_there(page: int, seed: int) -> None:
    bench, key = await lived(random.Random(seed))
    plan, header = await plan_and_header(bench, key)
    log = bench.store.log
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay, "REPLAY_PAGE_EVENTS", page)
        for last in range(-1, len(await bench.events(key))):
            bounded = await load_state(log, header, plan, until=last)
            ended = await load_state(EndedLog(log, last), header, plan)  # type: ignore[arg-type]
            assert bounded.last_sequence == last
            assert contents(bounded) == contents(ended)
            assert stored_run(bounded, make_redactor(bounded)) == stored_run(ended, make_redactor(ended))
    await bench.crash()


async def test_a_bound_behind_the_end_of_a_log_folds_all_of_it() -> None:
    bench, key = await lived(random.Random(1))
    plan, header = await plan_and_header(bench, key)
    whole = await load_state(bench.store.log, header, plan)
    assert contents(await load_state(bench.store.log, header, plan, until=10_000)) == contents(whole)


def image(value: Any) -> Any:
    """A state with all its values as it is now, as text."""
    if isinstance(value, RunState):
        return repr({name: image(each) for name, each in contents(value).items()})
    if isinstance(value, VariableView):
        return {name: image(each) for name, each in value.items()}
    if isinstance(value, msgspec.Struct):
        return type(value).__name__, [image(getattr(value, name)) for name in value.__struct_fields__]
    if isinstance(value, dict):
        return {name: image(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [image(each) for each in value]
    return sorted(map(repr, value)) if isinstance(value, set | frozenset) else value


@pytest.mark.rule("fold-01")
@fails_without("weftwork.protocol.fold.state_copy._shallow_copy", lambda struct: struct)
@fails_without("weftwork.protocol.fold.variable_views._WriteTable.copy", lambda table: table)
def test_folding_on_changes_neither_a_state_that_was_copied_nor_the_future_of_its_copy() -> None:
    for seed in range(example_count(25, 600)):
        run(lambda seed=seed: check_copies(seed))


async def check_copies(seed: int) -> None:
    """Fold the log of a random run, and at every event a copy of the state to the end of the log."""
    dice = random.Random(seed)
    driver = await RunDriver().start(random_workflow(dice, 6, {"core.interrupt": 1}))
    await driver.finish(choose_randomly(seed))
    bench, key = driver.engine, driver.key
    plan, header = await plan_and_header(bench, key)
    facts = await bench.facts(key)
    whole = await load_state(bench.store.log, header, plan)
    state, copies = RunState(plan, header, whole.inputs), []
    for number, fact in enumerate(facts):
        kept, _ = copy_state(state)
        copies.append((number, kept, image(kept)))
        apply(state, fact)
    for number, kept, before in copies:
        restored, size = copy_state(kept)
        assert size > 0
        for fact in facts[number:]:
            apply(restored, fact)
        assert image(restored) == image(state)
        assert image(kept) == before
    # Nodes that are in several members are the same node in the copy.
    for _, kept, _ in copies:
        for group in (kept.running, kept.suspended, kept.retrying, kept.awaiting_children):
            assert all(kept.nodes[name] is each for name, each in group.items())
    await bench.crash()


class WatchedLog(WrappedLog):
    """Keeps what the store had of a run after each append."""

    def __init__(self, log: Any) -> None:
        super().__init__(log)
        self.rows: dict[tuple[str, str], Any] = {}
        self.seen: dict[int, tuple[Projection, dict[tuple[str, str], Any]]] = {}

    async def create(self, *given: Any) -> Any:
        created = await self._log.create(*given)
        for first in [each for each in given if isinstance(each, Batch)]:
            self._see(first)
        return created

    async def append(self, run: RunKey, expected: int, batch: Batch, *fence: Any) -> Any:
        taken = await self._log.append(run, expected, batch, *fence)
        self._see(batch)
        return taken

    def _see(self, batch: Batch) -> None:
        self.rows |= {(row.kind, row.name): row for row in batch.rows}
        self.seen[batch.projection.last_sequence] = batch.projection, dict(self.rows)


def look_back(bench: EngineHarness) -> LookBack:
    return LookBack(bench.runtime, bench.catalog, bench.executor, bench.service)


@pytest.mark.rule("look-01")
@pytest.mark.parametrize("interval", [2, 2_000])
@fails_without("weftwork.engine.api.review.make_redactor", lambda state: None)
def test_a_look_back_is_what_the_store_had_after_each_append(interval: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(earlier_states, "CHECKPOINT_EVENTS", interval)
        for seed in range(example_count(25, 400)):
            run(lambda seed=seed: check_looks(seed))


async def check_looks(seed: int) -> None:
    dice = random.Random(seed)
    bench = EngineHarness(wrap=WatchedLog)
    key = await bench.start(a_graph(dice), inputs={"open": [1.0, SECRET]})
    await bench.run_to_end(key)
    back, sequences = look_back(bench), list(bench.log.seen)
    dice.shuffle(sequences)
    for sequence in [*sequences, *sequences]:
        projection, rows = bench.log.seen[sequence]
        found = (await back.run_after(CALLER, key.run_id, sequence)).run
        assert found.projection == projection
        assert {(row.kind, row.name): row for row in found.rows} == rows
    await bench.crash()


@pytest.mark.parametrize("run_bytes", [0, 2**25])
def test_a_state_from_a_checkpoint_is_the_fold_of_the_log(run_bytes: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(earlier_states, "CHECKPOINT_EVENTS", 3)
        patch.setattr(earlier_states, "MAX_RUN_BYTES", run_bytes)
        for seed in range(example_count(15, 300)):
            run(lambda seed=seed: check_checkpoints(seed))


async def check_checkpoints(seed: int) -> None:
    dice = random.Random(seed)
    driver = await RunDriver().start(random_workflow(dice, 6, {"core.interrupt": 1}))
    last = (await driver.finish(choose_randomly(seed))).last_sequence
    bench, key = driver.engine, driver.key
    plan, header = await plan_and_header(bench, key)
    states = EarlierStates(bench.store.log, 2**26)
    for _ in range(20):
        sequence = dice.randint(0, last)
        found = await states.state_after(header, plan, sequence)
        assert image(found) == image(await load_state(bench.store.log, header, plan, until=sequence))
    await bench.crash()


class CountedEvents(WrappedLog):
    """Counts the events that are read."""

    count = 0

    async def read(self, *given: Any) -> list[Event]:
        page: list[Event] = await self._log.read(*given)
        self.count += len(page)
        return page


async def long_run(rounds: int = 100) -> tuple[EngineHarness, RunKey, int]:
    """A run whose loop has so many rounds, and the sequence of its last event."""
    nodes = [node("a", "core.loop", config={"times": rounds}), node("b"), node("c")]
    edges = [edge("a", "b", sourceOutput="body"), edge("b", "a"), edge("a", "c", sourceOutput="done")]
    bench, key = await EngineHarness().with_ended_run(workflow(nodes, edges, settings={"maxLoopbackIterations": 1000}))
    return bench, key, len(await bench.events(key)) - 1


@fails_without("weftwork.engine.run.earlier_states._Checkpoints.nearest", lambda known, sequence: None)
async def test_only_the_first_look_folds_the_whole_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier_states, "CHECKPOINT_EVENTS", 20)
    bench, key, last = await long_run()
    plan, header = await plan_and_header(bench, key)
    log = CountedEvents(bench.store.log)
    states = EarlierStates(log, 2**26)  # type: ignore[arg-type]
    await states.state_after(header, plan, last - 5)
    await until(lambda: all(known.adding is None for known in states._runs.values()))
    assert log.count > last
    for sequence in range(0, last, 7):
        log.count = 0
        assert (await states.state_after(header, plan, sequence)).last_sequence == sequence
        assert log.count <= 20


async def test_looks_at_the_same_time_share_the_fold_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier_states, "CHECKPOINT_EVENTS", 20)
    bench, key, last = await long_run()
    plan, header = await plan_and_header(bench, key)
    log = CountedEvents(bench.store.log)
    states = EarlierStates(log, 2**26)  # type: ignore[arg-type]
    found = await asyncio.gather(*(states.state_after(header, plan, last - 5) for _ in range(10)))
    assert [state.last_sequence for state in found] == [last - 5] * 10
    assert log.count <= last + 1 + 10 * 20


@fails_without("weftwork.engine.run.earlier_states.EarlierStates._evict", lambda states, current: None)
async def test_checkpoints_are_bounded_over_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier_states, "CHECKPOINT_EVENTS", 20)
    bench, key, last = await long_run()
    states = EarlierStates(bench.store.log, 2**26)
    plan, header = await plan_and_header(bench, key)
    await states.state_after(header, plan, last)
    await until(lambda: all(known.adding is None for known in states._runs.values()))
    most = states.size
    monkeypatch.setattr(earlier_states, "MAX_BYTES", most)
    other = CALLER.run((await bench.service.create_run(CALLER, {"workflowId": header.workflow_id})).run_id)
    await bench.run_to_end(other)
    await states.state_after((await plan_and_header(bench, other))[1], plan, last)
    assert 0 < states.size <= most


@each_case("most", 1, 2**14, 2**16)
async def test_the_checkpoints_of_one_run_are_bounded(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier_states, "CHECKPOINT_EVENTS", 20)
    bench, key, last = await long_run()
    plan, header = await plan_and_header(bench, key)

    async def size() -> tuple[int, int]:
        states = EarlierStates(bench.store.log, 2**26)
        await states.state_after(header, plan, last)
        assert (await states.state_after(header, plan, 41)).last_sequence == 41
        (known,) = states._runs.values()
        return states.size, len(known.states)

    monkeypatch.setattr(earlier_states, "MAX_RUN_BYTES", 2**25)
    unbounded, _ = await size()
    monkeypatch.setattr(earlier_states, "MAX_RUN_BYTES", most)
    bounded, count = await size()
    # The last checkpoint is kept, however large it is.
    assert unbounded > most >= bounded or (most == 1 and count == 1)


async def test_an_error_of_the_fold_reaches_every_look_and_the_next_one_tries_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(earlier_states, "CHECKPOINT_EVENTS", 20)
    bench, key, last = await long_run()
    plan, header = await plan_and_header(bench, key)
    log = FlakyLog(bench.store.log)
    log.reads_down = 1
    states = EarlierStates(log, 2**26)  # type: ignore[arg-type]
    found = await asyncio.gather(*(states.state_after(header, plan, last) for _ in range(3)), return_exceptions=True)
    assert all(isinstance(each, StoreUnavailable) for each in found)
    assert (await states.state_after(header, plan, last)).last_sequence == last


async def test_a_run_that_was_deleted_or_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, key, last = await long_run()
    monkeypatch.setattr("weftwork.engine.api.review.most_state", lambda limits: 1)
    with pytest.raises(ClientFault, match="set aside") as refused:
        await look_back(bench).run_after(CALLER, key.run_id, last - 1)
    assert (refused.value.status, refused.value.code) == (409, "conflict")
    monkeypatch.undo()
    back = look_back(bench)
    back._states = EarlierStates(EndedLog(bench.store.log, 1), 2**26)  # type: ignore[arg-type]
    with pytest.raises(ClientFault) as refused:
        await back.run_after(CALLER, key.run_id, last - 1)
    assert refused.value.status == 404


async def test_a_run_whose_node_types_are_missing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, key, last = await long_run(2)

    async def missing(*_: Any) -> Any:
        raise HostFault("there is no type b")

    monkeypatch.setattr(WorkflowCatalog, "pinned_plan", missing)
    with pytest.raises(ClientFault, match="node types that the run needs") as refused:
        await look_back(bench).run_after(CALLER, key.run_id, last - 1)
    assert (refused.value.status, refused.value.code) == (503, "service_unavailable")
    # The current state is stored, and needs no fold.
    assert (await look_back(bench).run_after(CALLER, key.run_id, last)).run == await bench.stored_run(key)


@fails_without("weftwork.protocol.fold.variable_views._WriteTable.copy", lambda table: table)
def test_a_value_that_a_fork_replaces_stays_in_the_copy() -> None:
    view = initial_view({"n": 1})
    copy = view.copy_into({})
    view.replace_value("n", 2)
    assert (view["n"][1], copy["n"][1]) == (2, 1)
