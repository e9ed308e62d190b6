"""Random trees of runs, in any weather: each child is made once, heard once, and nobody is left standing."""

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from tests.harness.engine_harness import run
from tests.simulation.child_runs.child_run_schedule import ChildRunSchedule
from tests.simulation.child_runs.child_run_workflows import looping_tree, random_tree
from tests.simulation.child_runs.run_tree_driver import ACTION_WEIGHTS, FAULT_RATES
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.engine.decide import child_runs as children
from weftwork.engine.decide import transitions
from weftwork.engine.decide.decision import Decision
from weftwork.engine.decide.inputs import ChildResultsReceived, NodeAwaitsChildren, Step
from weftwork.engine.host import executor
from weftwork.engine.host.child_messages import ChildMessages
from weftwork.engine.run import activity, pending_commit
from weftwork.engine.run.append import BatchBuilder
from weftwork.protocol.fold import fold
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.events import Fact

pytestmark = pytest.mark.slow


async def storm(
    seed: int,
    moves: dict[str, int] | None = None,
    fates: dict[str, float] | None = None,
    documents: list[dict[str, Any]] | None = None,
    **more: Any,
) -> ChildRunSchedule:
    """Some trees from their creation to the end of all of their runs."""
    dice = random.Random(seed)
    documents = documents or random_tree(dice)
    limits = Limits(
        max_parallel_nodes=dice.choice([1, 2, 16]),
        max_run_depth=dice.choice([2, 16, 16, 16]),
        max_descendants=dice.choice([5, 40, 40, 40]),
    )
    found = ChildRunSchedule(dice, moves, troubled=fates is not None or dice.random() < 0.6, limits=limits, **more)
    found.fault_rates = fates or FAULT_RATES
    options = {"runTimeoutMs": dice.choice([50, 5_000])} if dice.random() < 0.1 else {}
    try:
        await found.start(documents, dice.randint(1, 3), **options)
        await found.run_random(60)
        await found.finish()
    finally:
        await found.stop()
    return found


@pytest.mark.rule("kin-02", "kin-03", "kin-04", "kin-05", "kin-06", "kin-08", "park-01", "fold-01")
@settings(max_examples=example_count(40), deadline=None)
@given(st.integers(0, 2**48))
async def test_whatever_happens_a_tree_of_runs_comes_to_its_end(seed: int) -> None:
    await storm(seed)


@pytest.mark.rule("kin-02", "kin-04", "kin-06")
@settings(max_examples=example_count(3), deadline=None)
@given(st.integers(0, 2**48))
async def test_so_it_does_in_a_file(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    folder: Path = tmp_path_factory.mktemp("store")

    store = SqliteStore(folder / "store.db")
    try:
        await storm(seed, store=store)
    finally:
        await store.close()


async def told(found: ChildRunSchedule) -> str:
    """How all runs of a tree ended, without what crashes add, each by its place in the tree instead of its id."""
    names: dict[str, str] = {}
    ends: list[Any] = []
    for each in await found.runs():
        parent = each.header.parent
        above = f"{names[parent.run_id]}/{parent.node_id}:{parent.key}" if parent is not None else "top"
        count = sum(name.rsplit("#", 1)[0] == above for name in names.values())
        names[each.header.run_id] = f"{above}#{count}"
    for run_id, name in names.items():
        state = await found.engine.state(
            next(each.header.key for each in await found.runs() if each.header.run_id == run_id)
        )
        nodes = {node_id: (each.status, each.outputs, each.error) for node_id, each in sorted(state.nodes.items())}
        ends.append((name, state.status, state.error, state.outputs, state.variables, nodes))
    text = repr(sorted(ends, key=lambda end: end[0]))
    for run_id, name in names.items():
        text = text.replace(run_id, name)
    return text


@pytest.mark.rule("kin-04", "kin-14", "fold-01")
@settings(max_examples=example_count(20), deadline=None)
@given(st.integers(0, 2**48))
async def test_the_same_answers_lead_to_the_same_ends_in_any_order(seed: int) -> None:
    documents = random_tree(random.Random(seed), exact=True)
    rough = {name: often for name, often in ACTION_WEIGHTS.items() if name not in ("cancel", "both", "delete")}

    async def lived(moves: dict[str, int], troubled: bool) -> str:
        found = ChildRunSchedule(random.Random(seed), moves, troubled=troubled)
        found.same_answer = True
        try:
            await found.start(documents)
            await found.run_random(60)
            await found.finish()
            return await told(found)
        finally:
            await found.stop()

    assert await lived({"answer": 1, "wake": 1}, False) == await lived(rough, True)


def test_the_same_schedule_leaves_the_same_logs() -> None:
    async def logs(seed: int) -> list[bytes]:
        found = await storm(seed)
        keys = [each.header.key for each in await found.runs()]
        return [event.document for key in keys for event in await found.engine.events(key)]

    for seed in range(example_count(3)):
        assert run(lambda seed=seed: logs(seed)) == run(lambda seed=seed: logs(seed))


def storms(seeds: int = 150, moves: dict[str, int] | None = None, **more: Any) -> None:
    for seed in range(seeds):
        run(lambda seed=seed: storm(seed, moves, **more))


SMALL = {"answer": 20, "wake": 20, "tick": 10, "pause": 3, "resume": 3, "cancel": 3, "rest": 10}
DEADLY = {**SMALL, "kill": 20, "crash": 10, "point": 20}


def test_news_that_no_start_reads_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    async def deaf(self: ChildMessages) -> None:
        self.queue_cancels()

    monkeypatch.setattr(ChildMessages, "recover", deaf)
    with pytest.raises(AssertionError, match="news that nobody hears"):
        storms(moves=DEADLY)


def test_word_that_is_never_told_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ChildMessages, "queue_result", lambda self, news: None)
    with pytest.raises(AssertionError, match="news that nobody hears"):
        storms(moves=SMALL)


def test_orders_that_nobody_follows_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ChildMessages, "queue_cancels", lambda self: None)
    with pytest.raises(AssertionError, match="orders that nobody follows"):
        storms(moves=SMALL)


def test_a_cancellation_that_stays_at_the_top_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BatchBuilder, "_cascade", lambda self: None)
    with pytest.raises(AssertionError, match=r"outlives its parent|is open though"):
        storms(moves=SMALL)


def test_a_node_that_leaves_its_children_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transitions, "cancel_open_children", lambda state, draft, cause=None: draft)
    with pytest.raises(AssertionError, match="is open though its node has ended"):
        storms(moves=SMALL)


def test_a_child_that_is_never_begun_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor.Executor, "_start_child", lambda self, new: None)
    with pytest.raises(AssertionError, match="was left though it could go on"):
        storms(moves=SMALL)


def test_a_child_that_may_be_stored_and_is_not_looked_for_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ChildMessages, "on_unconfirmed_children", lambda self, live, children: self.recover_soon())
    with pytest.raises(AssertionError, match="was left though it could go on"):
        storms(moves=SMALL)


def test_a_start_that_looks_at_nothing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "ChildrenRecheck", lambda *arguments: Step())
    with pytest.raises(AssertionError, match=r"owed a look|waits for nobody"):
        storms(moves=DEADLY)


def test_news_that_is_forgotten_before_anybody_looked_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    init = ChildMessages.__init__

    def blind(self: ChildMessages, *arguments: Any) -> None:
        init(self, *arguments)
        self._find_live = lambda run: None

    monkeypatch.setattr(ChildMessages, "__init__", blind)
    with pytest.raises(AssertionError, match=r"owed a look|waits for nobody"):
        storms(300, DEADLY, documents=looping_tree(slow=1.0))


def test_word_for_an_older_entry_of_a_node_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    hear = children.receive_results

    def trusting(state: RunState, given: ChildResultsReceived) -> Decision:
        node = state.nodes.get(given.node_id)
        known = node.children if node is not None else {}
        tells = [
            msgspec.structs.replace(told, child_run_id=known[told.key].run_id) if told.key in known else told
            for told in given.results
        ]
        return hear(state, ChildResultsReceived(given.node_id, tuple(tells)))

    monkeypatch.setattr(transitions, "receive_results", trusting)
    with pytest.raises(AssertionError, match=r"its parent has|of a child that is|other variables|of another entry"):
        storms(300)


def test_a_look_that_counts_twice_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    wait = children.await_children

    def trusting(state: RunState, given: NodeAwaitsChildren) -> Any:
        return wait(state, msgspec.structs.replace(given, last_child_event=state.nodes[given.node_id].last_child_event))

    monkeypatch.setattr(transitions, "await_children", trusting)
    with pytest.raises(AssertionError, match=r"twice|owed a look|waits for nobody|counts its children"):
        storms(300, SMALL, fates={"lost": 0.25})


def test_an_end_of_an_older_entry_that_counts_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def trusting(state: RunState, node_id: str, entered: int) -> bool:
        return node_id in state.active_nodes

    monkeypatch.setattr(transitions, "is_running", trusting)
    monkeypatch.setattr(children, "is_running", trusting)
    monkeypatch.setattr(pending_commit, "_is_stale", lambda item, running: False)
    with pytest.raises(AssertionError, match="ended with"):
        storms(300, SMALL, fates={"lost": 0.3}, documents=looping_tree())


def test_a_run_that_goes_on_and_is_not_owed_a_look_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def resume(state: RunState, fact: Fact) -> None:
        state.paused_at = None

    monkeypatch.setitem(fold._CHANGES, "run.resumed", resume)
    moves = {"wake": 20, "pause": 20, "resume": 30, "kill": 20, "rest": 5}
    with pytest.raises(AssertionError, match=r"owed a look|waits for nobody"):
        storms(300, moves, documents=looping_tree(slow=0.5))
