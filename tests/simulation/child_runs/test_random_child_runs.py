"""Random trees of runs, in any weather: each child is made once, heard once, and nobody is left standing."""

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from tests.harness.engine_harness import run
from tests.simulation.child_runs.child_run_schedule import ACTION_WEIGHTS, ChildRunSchedule
from tests.simulation.child_runs.child_run_workflows import looping_tree, random_tree
from tests.simulation.random_schedule import Weights
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
    weights: Weights | None = None,
    fates: Weights | None = None,
    documents: list[dict[str, Any]] | None = None,
    reads_back: bool = False,
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
    found = ChildRunSchedule(dice, weights, fates is not None or dice.random() < 0.6, limits=limits, **more)
    found.fault_rates = fates or found.fault_rates
    found.reads_back = reads_back
    options = {"runTimeoutMs": dice.choice([50, 5_000])} if dice.random() < 0.1 else {}
    return await found.play(*documents, count=dice.randint(1, 3), **options)


@pytest.mark.rule("kin-02", "kin-03", "kin-04", "kin-05", "kin-06", "kin-08", "park-01", "fold-01")
@settings(max_examples=example_count(8, 800), deadline=None)
@given(st.integers(0, 2**48))
async def test_whatever_happens_a_tree_of_runs_comes_to_its_end(seed: int) -> None:
    await storm(seed, reads_back=seed % 2 == 0)


@pytest.mark.rule("kin-02", "kin-04", "kin-06")
@settings(max_examples=example_count(1, 60), deadline=None)
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
@settings(max_examples=example_count(5, 400), deadline=None)
@example(864)  # a message is stored while a recovery has already passed its place
@given(st.integers(0, 2**48))
async def test_the_same_answers_lead_to_the_same_ends_in_any_order(seed: int) -> None:
    documents = random_tree(random.Random(seed), exact=True)
    rough = {name: often for name, often in ACTION_WEIGHTS.items() if name not in ("cancel", "both", "delete")}

    async def lived(weights: Weights, faults: bool) -> str:
        found = ChildRunSchedule(random.Random(seed), weights, faults)
        found.same_answer = True
        return await told(await found.play(*documents))

    assert await lived({"answer": 1, "wake": 1}, False) == await lived(rough, True)


def test_the_same_schedule_leaves_the_same_logs() -> None:
    async def logs(seed: int) -> list[bytes]:
        found = await storm(seed)
        keys = [each.header.key for each in await found.runs()]
        return [event.document for key in keys for event in await found.engine.events(key)]

    for seed in range(example_count(1, 60)):
        assert run(lambda seed=seed: logs(seed)) == run(lambda seed=seed: logs(seed))


SMALL: Weights = {"answer": 20, "wake": 20, "tick": 10, "pause": 3, "resume": 3, "cancel": 3, "rest": 10}
DEADLY: Weights = {**SMALL, "kill": 20, "crash": 10, "point": 20}
RESUMING: Weights = {"wake": 20, "pause": 20, "resume": 30, "kill": 20, "rest": 5}
UNANSWERED = r"owed a look|waits for nobody"
_receive_results, _await_children = children.receive_results, children.await_children


async def _recover_no_results(self: ChildMessages) -> None:
    self.queue_cancels()


def _trust_any_entry(state: RunState, given: ChildResultsReceived) -> Decision:
    node = state.nodes.get(given.node_id)
    known = node.children if node is not None else {}
    tells = [
        msgspec.structs.replace(told, child_run_id=known[told.key].run_id) if told.key in known else told
        for told in given.results
    ]
    return _receive_results(state, ChildResultsReceived(given.node_id, tuple(tells)))


def _count_every_look(state: RunState, given: NodeAwaitsChildren) -> Any:
    last = state.nodes[given.node_id].last_child_event
    return _await_children(state, msgspec.structs.replace(given, last_child_event=last))


def _is_active(state: RunState, node_id: str, entered: int) -> bool:
    return node_id in state.active_nodes


def _resume_without_looks(state: RunState, fact: Fact) -> None:
    state.paused_at = None


SABOTAGES: dict[str, tuple[list[tuple[Any, str, Any]], str, dict[str, Any]]] = {
    "news that no start reads": (
        [(ChildMessages, "recover", _recover_no_results)],
        "news that nobody hears",
        {"weights": DEADLY},
    ),
    "word that is never told": (
        [(ChildMessages, "queue_result", lambda self, news: None)],
        "news that nobody hears",
        {},
    ),
    "orders that nobody follows": (
        [(ChildMessages, "queue_cancels", lambda self: None)],
        "orders that nobody follows",
        {},
    ),
    "a cancellation that stays at the top": (
        [(BatchBuilder, "_cascade", lambda self: None)],
        r"outlives its parent|is open though",
        {},
    ),
    "a node that leaves its children": (
        [(transitions, "cancel_open_children", lambda state, draft, cause=None: draft)],
        "is open though its node has ended",
        {},
    ),
    "a child that is never begun": (
        [(executor.Executor, "_start_child", lambda self, new: None)],
        "was left though it could go on",
        {},
    ),
    "a child that may be stored and is not looked for": (
        [(ChildMessages, "on_unconfirmed_children", lambda self, live, children: self.recover_soon())],
        "was left though it could go on",
        {},
    ),
    "a start that looks at nothing": (
        [(activity, "ChildrenRecheck", lambda *arguments: Step())],
        UNANSWERED,
        {"weights": DEADLY},
    ),
    "news that is forgotten before anybody looked": (
        [(ChildMessages, "_find_live", lambda self, run: None)],
        UNANSWERED,
        {"weights": DEADLY, "documents": looping_tree(slow=1.0), "first": 60},
    ),
    "word for an older entry of a node": (
        [(transitions, "receive_results", _trust_any_entry)],
        r"its parent has|of a child that is|other variables|of another entry",
        {"weights": None, "first": 14},
    ),
    "a look that counts twice": (
        [(transitions, "await_children", _count_every_look)],
        rf"twice|{UNANSWERED}|counts its children",
        {"fates": {"lost": 0.25}, "documents": looping_tree(), "first": 380},
    ),
    "an end of an older entry that counts": (
        [
            (transitions, "is_running", _is_active),
            (children, "is_running", _is_active),
            (pending_commit, "_is_stale", lambda item, running: False),
        ],
        "ended with",
        {"fates": {"lost": 0.3}, "documents": looping_tree()},
    ),
    "a run that goes on and is not owed a look": (
        [(fold, "_CHANGES", {**fold._CHANGES, "run.resumed": _resume_without_looks})],
        UNANSWERED,
        {"weights": RESUMING, "documents": looping_tree(slow=0.5), "first": 97},
    ),
}


@pytest.mark.parametrize("name", SABOTAGES)
def test_a_host_without_this_guard_is_seen(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    patches, said, schedule = SABOTAGES[name]
    for patch in patches:
        monkeypatch.setattr(*patch)
    with pytest.raises(AssertionError, match=said):
        storms(**{"weights": SMALL, **schedule})


def storms(first: int = 0, **schedule: Any) -> None:
    """`first` is near the seed that finds it."""
    for seed in range(first, first + 300):
        run(lambda seed=seed: storm(seed, **schedule))
