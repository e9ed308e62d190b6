"""core.dispatch whatever the order in which its workers end, however often it is called, and whatever is lost."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.nodes.runs.fake_runs import UNKNOWN, DispatchCall, workers
from tests.harness.definitions import example_count
from weftwork.adapters.nodes.runs import dispatch_workers
from weftwork.adapters.nodes.runs.dispatch_workers import DispatchWorkers
from weftwork.ports.node_outcome import Completed, Failed
from weftwork.protocol.workflow.orchestration import JOIN_MODES, join_outcome

ENDS = ("completed", "completed", "failed", "cancelled")
MAPPING = {"outputMapping": {"found": "x"}}


@st.composite
def dispatches(draw: st.DrawFn) -> DispatchCall:
    count = draw(st.integers(1, 6))
    names = [f"w{index}" for index in range(count)]
    if draw(st.integers(0, 3)) == 3:
        names[draw(st.integers(0, count - 1))] = UNKNOWN
    if draw(st.booleans()):
        return DispatchCall(workers(*names), MAPPING)
    mode = draw(st.sampled_from(JOIN_MODES))
    config: dict[str, Any] = {"fanOutPolicy": "parallel", "joinMode": mode, "maxParallel": draw(st.integers(1, 6))}
    if mode == "quorum":
        config["quorum"] = draw(st.integers(1, count))
    return DispatchCall(workers(*names), {**MAPPING, **config})


def names_of(one: DispatchCall) -> list[str]:
    assert one.decided is not None
    return one.decided.decision["nextWorkerIds"]


def most_open(one: DispatchCall) -> int:
    return one.config.get("maxParallel", 1)


def met(one: DispatchCall) -> tuple[str, list[int]] | None:
    """What the join mode comes to, told another way: by the shortest beginning of the ends that is enough, or with
    which it is lost, or with which a worker is due that cannot be started."""
    names, config = names_of(one), one.config
    count, ends = len(names), one.ended_workers
    due = names.index(UNKNOWN) - most_open(one) + 1 if UNKNOWN in names else len(names) + 1
    for length in range(len(ends) + 1):
        good = sorted(index for index, status in ends[:length] if status == "completed")
        bad = sorted(index for index, status in ends[:length] if status != "completed")
        enough, lost = {
            "wait-all": (len(good) == count, length == count and bool(bad)),
            "quorum": (len(good) == config.get("quorum"), count - len(bad) < config.get("quorum", 0)),
            "first": (bool(good), len(bad) == count),
            "race": (bool(good), bool(bad)),
            "": (len(good) == count, bool(bad)),
        }[config.get("joinMode", "")]
        if enough or lost:
            return ("completed", good) if enough else ("failed", bad[:1])
        if length >= due:
            return "unknown", [names.index(UNKNOWN)]
    return None


def play(one: DispatchCall, data: st.DataObject) -> None:
    """Drive it to its end. What it cancels workers for is what it comes to."""
    promised: tuple[str, list[int]] | None = None
    for _ in range(60):
        move = data.draw(st.sampled_from(["end", "end", "call", "call", "lost", "late"]))
        if move == "end" and one.open:
            key = data.draw(st.sampled_from(one.open))
            one.end(int(key), data.draw(st.sampled_from(ENDS)), x=key)
        elif move == "lost":
            one.peek()
        elif move == "late" and one.open:
            # It looked before the word came that is there when its answer is.
            seen = one.peek()
            key = data.draw(st.sampled_from(one.open))
            one.end(int(key), data.draw(st.sampled_from(ENDS)), x=key)
            one.commit(*seen, late=True)
        else:
            before = met(one)
            one.call()
            if one.reasons and promised is None:
                promised = before
                assert promised is not None, "workers were cancelled without need"
            if one.outcome is not None:
                break
        assert len(one.open) <= most_open(one)
    while one.outcome is None:
        for key in list(one.open):
            one.end(int(key), "completed", x=key)
        one.call()
    assert promised in (None, met(one)), "what was decided changed"


def check(one: DispatchCall) -> None:
    names, story = names_of(one), one.event_steps()
    assert [line for line, times in Counter(story).items() if times > 1] == [], "something was done twice"
    started = len(one.children)
    assert list(one.children) == [str(index) for index in range(started)]
    statuses = [each.status for each in one.children.values()]
    for index, status in enumerate(statuses):
        end = f"child.{status} {names[index]}"
        assert [line for line in story if line.startswith("child.") and line.endswith(f" {names[index]}")] == [end]
        steps = [f"dispatch.began {names[index]}", f"start {index}", f"dispatch.succeeded {names[index]}", end]
        assert sorted(steps, key=story.index) == steps
    harvested = [line.removeprefix("output.harvested ") for line in story if line.startswith("output.harvested")]
    found = met(one)
    assert found is not None
    verdict, who = found
    assert one.reasons <= {"join-decided" if verdict == "completed" else "parent-failed"}
    assert (f"dispatch.failed {UNKNOWN}" in story) is (verdict == "unknown")
    match one.outcome:
        case Completed(outputs):
            assert verdict == "completed"
            assert harvested == [names[index] for index in who]
            assert [each["childStatus"] for each in outputs["results"]] == statuses
            assert outputs["childRunId"] == f"run-{who[-1]}"
        case Failed(code, _, details):
            assert details is not None
            assert [details["workerId"]] == [names[index] for index in who]
            assert code == {"unknown": "unknown_child_workflow"}.get(verdict, f"child_run_{details.get('childStatus')}")
            assert verdict != "completed"
            assert harvested == ([] if "joinMode" in one.config else names[: who[0]])
        case _:
            raise AssertionError(one.outcome)


@pytest.mark.rule("orch-07")
@settings(max_examples=example_count(300), deadline=None)
@given(dispatches(), st.data())
def test_every_order_of_ends_is_told_once_and_decides_as_its_mode_says(one: DispatchCall, data: st.DataObject) -> None:
    play(one, data)
    check(one)


def play_out(config: dict[str, Any], *ends: tuple[int, str], at_once: bool = False) -> None:
    """Two workers that end as said; at_once: before there is a look."""
    one = DispatchCall(workers("w0", "w1"), {**MAPPING, "fanOutPolicy": "parallel", "maxParallel": 2, **config})
    one.call()
    for index, status in ends:
        assert len(one.open) <= most_open(one)
        one.end(index, status, x=index)
        if not at_once:
            one.call()
    if at_once:
        one.call()
    assert one.outcome is not None, "it waits for ever"
    check(one)


def test_a_join_that_is_judged_otherwise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"joinMode": "wait-all", "maxParallel": 2}
    ends = ((0, "completed"), (1, "failed"))
    play_out(config, *ends)
    monkeypatch.setattr(
        dispatch_workers, "join_outcome", lambda _, quorum, total, ends: join_outcome("first", 1, total, ends)
    )
    with pytest.raises(AssertionError):
        play_out(config, *ends)


@pytest.mark.parametrize(
    ("mode", "ends"),
    [
        ("race", ((1, "failed"), (0, "completed"))),
        ("race", ((1, "completed"), (0, "failed"))),
        ("first", ((1, "completed"), (0, "completed"))),
    ],
)
def test_a_join_that_does_not_go_by_who_ended_first_is_seen(
    mode: str, ends: tuple[tuple[int, str], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    play_out({"joinMode": mode}, *ends, at_once=True)
    by_place = "join_outcome", lambda mode, quorum, total, ends: join_outcome(mode, quorum, total, sorted(ends))
    monkeypatch.setattr(dispatch_workers, *by_place)
    with pytest.raises(AssertionError):
        play_out({"joinMode": mode}, *ends, at_once=True)


def test_a_dispatch_that_starts_too_many_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"joinMode": "wait-all", "maxParallel": 1}
    ends = ((0, "completed"), (1, "completed"))
    play_out(config, *ends)
    monkeypatch.setattr(dispatch_workers, "min", lambda *_: 2, raising=False)
    with pytest.raises(AssertionError):
        play_out(config, *ends)


@pytest.mark.parametrize(("mode", "status"), [("first", "completed"), ("race", "failed")])
def test_losers_that_are_left_behind_are_seen(mode: str, status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    play_out({"joinMode": mode}, (1, status), (0, "cancelled"))
    monkeypatch.setattr(DispatchWorkers, "_cancel_open", lambda self, reason: None)
    with pytest.raises(AssertionError):
        play_out({"joinMode": mode}, (1, status), (0, "cancelled"))
