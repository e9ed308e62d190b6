"""A node that asks three questions, on a real host that is killed at every point on the way: no step of it is done
twice, every answer counts once, and while it waits there is nothing of it."""

import http.client
import json
import os
import signal
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.python.fake_node_host import single_node_workflow
from tests.live import Host, start_host, until, write_workflows
from tests.live.host import TIMEOUT_SECONDS
from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND

pytestmark = pytest.mark.slow

FULL = os.environ.get("WEFTWORK_PROOF") == "full"
POINTS = ["append.begin", "append.durable", "append.published", "node.launch", "node.ended"]
TIMES = {
    "append.begin": [2, 7],
    "append.durable": [4, 9],
    "append.published": [3],
    "node.launch": [2],
    "node.ended": [1],
}
"""At which passing the host dies in the short proof; the whole one takes all of them."""
BROKEN = (OSError, http.client.HTTPException)

NODES = """
from pathlib import Path
import weftwork

HERE = Path(__file__).parent


def count(name):
    with (HERE / name).open("a") as file:
        file.write("x")
    return name


@weftwork.node("acme.asks")
async def asks(ctx: weftwork.Context) -> dict:
    count(f"{ctx.run_id}-entered")
    await ctx.step("before", count, f"{ctx.run_id}-before")
    colour = await ctx.interrupt("colour", {"of": "door"}, timeout=3600)
    await ctx.step("between", count, f"{ctx.run_id}-between")
    decision = await ctx.approve("paint", f"Paint it {colour}?", approvers=("ann", "bob"), required=2)
    answers = await ctx.clarify("rest", {"when": "When?"})
    await ctx.step("after", count, f"{ctx.run_id}-after")
    return {"colour": colour, "action": decision["action"], "when": answers["when"]}


@weftwork.node("acme.asks-plain")
def asks_plain(ctx: weftwork.PlainContext) -> dict:
    count(f"{ctx.run_id}-entered")
    ctx.step("before", count, f"{ctx.run_id}-before")
    colour = ctx.interrupt("colour", {"of": "door"}, timeout=3600)
    ctx.step("between", count, f"{ctx.run_id}-between")
    decision = ctx.approve("paint", f"Paint it {colour}?", approvers=("ann", "bob"), required=2)
    answers = ctx.clarify("rest", {"when": "When?"})
    ctx.step("after", count, f"{ctx.run_id}-after")
    return {"colour": colour, "action": decision["action"], "when": answers["when"]}
"""
LATE = """

@weftwork.node("acme.late")
def late(ctx: weftwork.PlainContext, after: float) -> str:
    return ctx.interrupt("more", timeout=after, default="nobody")
"""
STEPS = ("before", "between", "after")
OUTPUTS = {"n": {"colour": "red", "action": "accept", "when": "now"}}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "asking_nodes.py").write_text(NODES)
    write_workflows(
        tmp_path / "flows",
        single_node_workflow("asks", "acme.asks"),
        single_node_workflow("asks-plain", "acme.asks-plain"),
    )
    return tmp_path


def started(place: Path, faults: str | None = None) -> Any:
    args = ("--nodes", "asking_nodes", "--workflows", place / "flows")
    return start_host(place, *args, cwd=place, env={"WEFTWORK_FAULTS": faults} if faults else None)


def times(place: Path, run_id: str, name: str) -> int:
    file = place / f"{run_id}-{name}"
    return len(file.read_text()) if file.exists() else 0


class Person:
    """Creates one run and answers what it asks, over as many hosts as it takes. Whoever was not told asks again."""

    def __init__(self, place: Path, workflow: str) -> None:
        self.place = place
        self.workflow = workflow
        self.run_id = ""

    def attend(self, host: Host) -> bool:
        """Whether the run has ended; False if the host did first."""
        try:
            if not self.run_id:
                made = host.call("POST", "/v1/runs", {"workflowId": self.workflow}, headers={"Idempotency-Key": "one"})
                assert made.status == 201, made.body
                self.run_id = made.document["runId"]
            until(lambda: self.look(host), "the run to end")
        except BROKEN:
            assert host.process.wait(TIMEOUT_SECONDS) == -signal.SIGKILL, host.errors
            return False
        return True

    def look(self, host: Host) -> bool:
        """Answer what is asked now; whether there is nothing more to ask."""
        shown = host.snapshot(self.run_id)
        for asked in shown.get("interrupts", ()):
            for key, value in self.answers(asked):
                path = f"/v1/runs/{self.run_id}/interrupts/n?interruptId={asked['interruptId']}"
                told = host.call("POST", path, {"resumeValue": value}, headers={"Idempotency-Key": key})
                assert told.status == 200, told.body
        return shown["status"] == "completed"

    def answers(self, asked: dict[str, Any]) -> list[tuple[str, Any]]:
        key, data = asked["key"], asked["data"]
        if data.get("customKind") == UNKNOWN_OUTCOME_KIND:
            step = data["payload"]["step"]
            done = times(self.place, self.run_id, step)
            output = {"outcome": "done", "output": f"{self.run_id}-{step}"} if done else {"outcome": "again"}
            return [(key, output)]
        if asked["kind"] == "approval":
            return [(f"{key}:{voter}", {"action": "accept", "voter": voter}) for voter in ("ann", "bob")]
        return [(key, {"answers": {"when": "now"}} if asked["kind"] == "clarification" else "red")]


def check(host: Host, place: Path, run_id: str) -> None:
    events = host.log(run_id)
    assert events[-1]["payload"].get("outputs") == OUTPUTS, events[-1]
    assert [times(place, run_id, step) for step in STEPS] == [1, 1, 1]
    asked = [event["payload"] for event in events if event["type"] == "interrupt.requested"]
    own = [each["key"] for each in asked if each["data"].get("customKind") != UNKNOWN_OUTCOME_KIND]
    assert own == ["n:0:colour", "n:0:paint", "n:0:rest"]
    assert [event["type"] for event in events].count("interrupt.resolved") == len(asked)
    voters = [event["payload"]["principal"] for event in events if event["type"] == "approval.granted"]
    assert voters == ["ann", "bob"]


def live_through(place: Path, workflow: str, faults: str) -> bool:
    """The run comes to its end all the same; whether a host died on the way."""
    person = Person(place, workflow)
    with started(place, faults) as host:
        if person.attend(host):
            check(host, place, person.run_id)
            return False
    with started(place) as host:
        assert person.attend(host), host.errors
        check(host, place, person.run_id)
    return True


@pytest.mark.parametrize("name", POINTS)
def test_no_step_is_done_twice_wherever_the_host_dies(place: Path, name: str) -> None:
    nths = count(1) if FULL else TIMES[name]
    died = 0
    for nth in nths:
        workflow = "asks-plain" if nth % 2 else "asks"
        folder = place / f"at-{nth}"
        folder.mkdir()
        (folder / "asking_nodes.py").write_text(NODES)
        write_workflows(folder / "flows", single_node_workflow(workflow, f"acme.{workflow}"))
        if not live_through(folder, workflow, f"{name}:{nth}:kill"):
            assert FULL, f"{name} was not passed {nth} times"
            break
        died += 1
    assert died


@pytest.mark.parametrize("workflow", ["asks", "asks-plain"])
def test_killed_while_it_waits_it_is_entered_once_per_answer(place: Path, workflow: str) -> None:
    """Between two answers there is nothing of the node: a new host does not enter it."""
    with started(place) as host:
        run_id = host.create(workflow)
        until(lambda: host.snapshot(run_id).get("interrupt"), "the first question")
        host.kill()
    values: list[list[Any]] = [
        ["red"],
        [{"action": "accept", "voter": "ann"}, {"action": "accept", "voter": "bob"}],
        [{"answers": {"when": "now"}}],
    ]
    for number, answers in enumerate(values, 1):
        with started(place) as host:
            assert host.snapshot(run_id)["interrupt"]["interruptId"] == f"n.{number}"
            assert times(place, run_id, "entered") == number
            for value in answers:
                told = host.call("POST", f"/v1/runs/{run_id}/interrupts/n", {"resumeValue": value})
                assert told.status == 200, json.dumps(told.document)
            if number < len(values):
                after = f"n.{number + 1}"
                until(lambda: host.snapshot(run_id).get("interrupt", {}).get("interruptId") == after, "the next one")  # noqa: B023
                host.kill()
            else:
                check(host, place, run_id)
    assert times(place, run_id, "entered") == len(values) + 1


def test_what_stands_beside_a_step_is_done_again(place: Path) -> None:
    """Sabotage: the same node, whose author forgot the steps."""
    without = NODES.replace('await ctx.step("before", count, ', "count(")
    assert without != NODES
    (place / "asking_nodes.py").write_text(without)
    person = Person(place, "asks")
    with started(place) as host:
        assert person.attend(host)
        with pytest.raises(AssertionError):
            check(host, place, person.run_id)
    assert times(place, person.run_id, "before") == 4


def test_each_of_several_runs_ends_when_its_own_time_is_up(place: Path) -> None:
    """One that is woken does not keep those after it waiting."""
    (place / "asking_nodes.py").write_text(NODES + LATE)
    times_up = [0.3, 0.5, 0.7, 0.9]
    flows = [
        single_node_workflow(f"late-{number}", "acme.late", {"after": after}) for number, after in enumerate(times_up)
    ]
    write_workflows(place / "flows", *flows)
    with started(place) as host:
        runs = [host.create(each["id"]) for each in flows]
        for run_id in runs:
            until(lambda: host.snapshot(run_id)["status"] == "completed", "the time to be up")  # noqa: B023
            assert host.log(run_id)[-1]["payload"]["outputs"] == {"n": {"output": "nobody"}}


def test_a_time_that_was_up_while_there_was_no_host(place: Path) -> None:
    (place / "asking_nodes.py").write_text(NODES + LATE)
    write_workflows(place / "flows", single_node_workflow("late", "acme.late", {"after": 0.2}))
    with started(place) as host:
        run_id = host.create("late")
        host.kill()
    with started(place) as host:
        until(lambda: host.snapshot(run_id)["status"] == "completed", "the time to be up")
