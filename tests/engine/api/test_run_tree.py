"""The facade of runs that start runs, over stored trees: who started a run, and what is below it, in bounded work."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from tests.harness.definitions import for_all
from tests.harness.engine_harness import CALLER, EngineHarness, run
from weftwork.engine.api import runs
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.lineage import run_trees
from weftwork.engine.api.lineage.run_trees import RunTrees
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.run.batch import ChildCreate
from weftwork.protocol.run.header import Fork, Parent
from weftwork.protocol.run.projection import MAX_CHILDREN, StateRow
from weftwork.testing.storage.samples import batch, header, make_run

STRANGER = Principal.of("key_2", "other", "live", frozenset({"runs:read"}))
TREES = st.lists(st.integers(0, 100), max_size=25).map(lambda picks: [pick % (at + 1) for at, pick in enumerate(picks)])
"""For each run but the first, the number of its parent, which is less than its own."""


class CountingLog:
    def __init__(self, log: Any) -> None:
        self._log = log
        self.asked: dict[str, int] = {}
        self.most = 0

    def __getattr__(self, name: str) -> Any:
        self.asked[name] = self.asked.get(name, 0) + 1
        return getattr(self._log, name)

    async def children(self, run: Any, after: Any, limit: int) -> Any:
        self.asked["children"] = self.asked.get("children", 0) + 1
        found = await self._log.children(run, after, limit)
        self.most += len(found)
        return found


class StoredTree:
    """A bench with a tree of runs in its store: `run-0` at the top, numbered in the order of their creation."""

    def __init__(self, parents: list[int]) -> None:
        self.bench = EngineHarness(wrap=CountingLog)
        self.log: CountingLog = self.bench.log
        self.kinship = RunTrees(self.bench.runtime, self.bench.executor, "here")
        self.parents = parents

    async def plant(self) -> None:
        await self.bench.store.open()
        await make_run(self.bench.store, "run-0")
        steps = [0] * (len(self.parents) + 1)
        depths = [0]
        for at, number in enumerate(self.parents, 1):
            depths.append(depths[number] + 1)
            above = Parent(f"run-{number}", "call", str(at), "core.dispatch", "run-0", depths[at])
            parent = header(f"run-{number}").key
            rows = (StateRow("kin", "children", b"1"),)
            given = batch(parent, steps[number] - 1, rows=rows)
            given = msgspec.structs.replace(given, child_creates=(ChildCreate(header(f"run-{at}", parent=above)),))
            assert await self.bench.store.log.append(parent, steps[number] - 1, given) is None
            steps[number] += 1
        self.log.asked.clear()

    def below(self, top: int) -> list[tuple[str, int]]:
        """What a tree has to hold, level by level, with the depths."""
        found, level, depth = [(f"run-{top}", 0)], [top], 0
        while level:
            depth += 1
            level = [at for each in level for at, parent in enumerate(self.parents, 1) if parent == each]
            found += [(f"run-{at}", depth) for at in level]
        return found


def planted(parents: list[int], work: Callable[[StoredTree], Any]) -> Any:
    async def go() -> Any:
        tree = StoredTree(parents)
        await tree.plant()
        return await work(tree)

    return run(go)


async def check_tree(tree: StoredTree, top: int, limit: int) -> None:
    document = await tree.kinship.tree(CALLER, f"run-{top}", limit)
    assert schema.check("run-tree", msgspec.json.decode(msgspec.json.encode(document))) == []
    whole = tree.below(top)
    rows = document["runs"]
    assert [(row["runId"], row["depth"]) for row in rows] == whole[:limit]
    assert document["truncated"] == (len(whole) > limit)
    for at, row in enumerate(rows[1:], 1):
        assert row["parentRunId"] in [each["runId"] for each in rows[:at]]
    # Never more than the limit, but for one look at what is left out.
    assert tree.log.most <= limit
    assert tree.log.asked.get("children", 0) <= len(rows)


async def check_leaves(tree: StoredTree) -> None:
    document = await tree.kinship.tree(CALLER, "run-0", 1_000)
    assert (len(document["runs"]), document["truncated"]) == (1_000, False)
    assert tree.log.asked == {"read_run": 1, "children": 1, "count_descendants": 1, "forks_of": 1_000}


@pytest.mark.rule("kin-12")
@for_all(60, TREES, st.data())
def test_a_tree_holds_what_is_below_level_by_level(parents: list[int], data: st.DataObject) -> None:
    top = data.draw(st.integers(0, len(parents)))
    limit = data.draw(st.integers(1, len(parents) + 3))
    planted(parents, lambda tree: check_tree(tree, top, limit))


@pytest.mark.rule("kin-12")
def test_a_thousand_leaves_are_not_looked_below() -> None:
    planted([0] * 999, check_leaves)


async def look_at_all(walk: Any, key: Any, depth: int) -> bool:
    walk.found += [(each, depth) for each in await walk._child_runs.children(key, None, 10**6)]
    return len(walk.found) <= walk._limit


async def is_never_whole(walk: Any) -> bool:
    return False


@pytest.mark.parametrize(
    ("name", "broken", "parents", "check"),
    [
        ("_add_children", look_at_all, [0] * 20, lambda tree: check_tree(tree, 0, 5)),
        ("_is_complete", is_never_whole, [0] * 999, check_leaves),
    ],
)
def test_a_walk_without_its_bounds_is_found(
    monkeypatch: pytest.MonkeyPatch, name: str, broken: Any, parents: list[int], check: Any
) -> None:
    planted(parents, check)
    monkeypatch.setattr(run_trees._TreeWalk, name, broken)
    with pytest.raises(AssertionError):
        planted(parents, check)


@pytest.mark.rule("kin-10")
def test_a_run_without_children_costs_no_question_and_one_with_many_a_single_one() -> None:
    async def look(tree: StoredTree) -> None:
        shown = [await tree.bench.service.get_run(CALLER, f"run-{at}") for at in (1, 0)]
        assert shown[0] is not None
        assert shown[1] is not None
        assert "childRuns" not in shown[0]
        assert [each["runId"] for each in shown[1]["childRuns"]] == [f"run-{at}" for at in range(1, MAX_CHILDREN + 1)]
        assert shown[1]["childRunsTruncated"] is True
        assert tree.log.asked == {"read_run": 2, "children": 1}
        assert tree.log.most == MAX_CHILDREN + 1
        tree.log.asked.clear()
        alone = await tree.kinship.tree(CALLER, "run-1", 10)
        assert (len(alone["runs"]), alone["truncated"], tree.log.asked) == (1, False, {"read_run": 1, "forks_of": 1})

    planted([0] * (MAX_CHILDREN + 50), look)


def test_without_the_row_every_snapshot_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "has_children", lambda run: True)

    async def look(tree: StoredTree) -> None:
        await tree.bench.service.get_run(CALLER, "run-0")
        assert tree.log.asked == {"read_run": 1, "children": 1}

    planted([], look)


async def fork(tree: StoredTree, source: str, run_id: str) -> None:
    made = header(run_id, fork=Fork(source, 0, "branch"))
    await tree.bench.store.forks.create(made, batch(made.key, -1))


@pytest.mark.rule("kin-12", "run-05")
def test_a_tree_shows_the_forks_of_each_run_after_its_children_and_theirs() -> None:
    async def look(tree: StoredTree) -> None:
        kinship = tree.kinship
        for source, run_id in (("run-0", "fork-a"), ("run-0", "fork-b"), ("run-1", "fork-c"), ("fork-a", "fork-d")):
            await fork(tree, source, run_id)
        document = msgspec.json.decode(msgspec.json.encode(await kinship.tree(CALLER, "run-0", 10)))
        assert schema.check("run-tree", document) == []
        assert [(row["runId"], row["depth"]) for row in document["runs"]] == [
            ("run-0", 0),
            ("run-1", 1),
            ("fork-a", 1),
            ("fork-b", 1),
            ("fork-c", 2),
            ("fork-d", 2),
        ]
        sources = {row["runId"]: row.get("forkedFrom") for row in document["runs"]}
        assert sources["run-1"] is None
        assert sources["fork-d"] == {"runId": "fork-a", "fromSeq": 0, "mode": "branch"}
        for limit in range(1, 6):
            cut = await kinship.tree(CALLER, "run-0", limit)
            assert ([row["runId"] for row in cut["runs"]], cut["truncated"]) == (
                [row["runId"] for row in document["runs"]][:limit],
                True,
            )
        alone = await kinship.tree(CALLER, "run-1", 10)
        assert ([row["runId"] for row in alone["runs"]], alone["truncated"]) == (["run-1", "fork-c"], False)

    planted([0], look)


@pytest.mark.rule("kin-09")
def test_an_ancestry_names_the_nearest_run_above() -> None:
    async def look(tree: StoredTree) -> None:
        above = [await tree.kinship.ancestry(CALLER, f"run-{at}") for at in range(3)]
        assert [each["parent"] for each in above] == [
            None,
            {"runId": "run-0", "hostId": "here", "cause": "core.dispatch"},
            {"runId": "run-1", "hostId": "here", "cause": "core.dispatch"},
        ]
        assert {each["hostId"] for each in above} == {"here"}

    planted([0, 1], look)


@pytest.mark.rule("kin-12", "auth-05")
def test_an_unknown_run_and_that_of_another_tenant_are_not_there() -> None:
    async def look(tree: StoredTree) -> None:
        for caller, run_id in ((CALLER, "nobody"), (STRANGER, "run-0"), (STRANGER, "run-1")):
            for asked in (tree.kinship.ancestry(caller, run_id), tree.kinship.tree(caller, run_id, 10)):
                with pytest.raises(ClientFault) as refused:
                    await asked
                assert refused.value.code == "not_found"

    planted([0], look)
