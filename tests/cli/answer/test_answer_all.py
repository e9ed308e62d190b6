"""`weftwork answer --all`: one answer for all effects with an unknown outcome, and for nothing else."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.foreign_host import HANG_UP, CannedResponse, ForeignHost
from tests.cli.terminal import run_at_terminal
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import node
from tests.live import KEY, Host, start_host, until, weftwork
from tests.live.workflows import chain, write_workflows
from weftwork.cli.answer import answer_all
from weftwork.protocol.run.effects import EffectRef, outcome_interrupt

PYTHON = """
import asyncio, os
import weftwork

@weftwork.node("shop.pay", effect="once")
async def pay(ctx: weftwork.Context) -> dict:
    open(f"paid-{ctx.run_id}", "a").close()
    if "SHOP_WAITS" in os.environ:
        await asyncio.Event().wait()
    return {"output": "paid"}
"""
ASK = node("pay", "core.interrupt", config={"kind": "custom", "data": {"customKind": "ask"}})
GATE = node("pay", "core.approvalGate", config={})
WORKFLOWS = (
    chain("order", [node("pay", "shop.pay")]),
    chain("other", [node("pay", "shop.pay")]),
    chain("named", [node("other", "shop.pay")]),
    chain("asks", [ASK]),
    chain("gate", [GATE]),
)
ALL = ("answer", "--all", "--code", "effect-unknown")
READER = "key-of-a-reader"
AGAIN = ("--set", "outcome=again")


def serve(folder: Path, **more: Any) -> Any:
    (folder / "shop_nodes.py").write_text(PYTHON, "utf-8")
    workflows = write_workflows(folder / "workflows", *WORKFLOWS)
    reader = ("--api-key", f"{READER}=acme:runs:read")
    return start_host(folder, "--nodes", "shop_nodes", "--workflows", workflows, *reader, cwd=folder, **more)


class Crashed:
    """A host after a crash that left the outcome of effects unknown, and runs that wait for something else."""

    def __init__(self, host: Host, unknown: dict[str, list[str]], others: list[str]) -> None:
        self.host = host
        self.unknown = unknown
        self.others = others

    def run(self, *args: str, key: str = KEY) -> tuple[int, str, str]:
        env = {"WEFTWORK_URL": self.host.address, "WEFTWORK_KEY": key}
        done = weftwork(self.host.data, *args, env=env)
        return done.returncode, done.stdout, done.stderr

    def statuses(self, *workflows: str) -> set[str]:
        return {self.host.snapshot(each)["status"] for name in workflows for each in self.unknown[name]}


@pytest.fixture
def crashed(tmp_path: Path) -> Iterator[Crashed]:
    with serve(tmp_path, env={"SHOP_WAITS": "1"}) as first:
        unknown = {name: [first.create(name) for _ in range(4)] for name in ("order", "other", "named")}
        others = [first.create(name) for name in ("asks", "gate")]
        until(lambda: len(list(tmp_path.glob("paid-*"))) == 12, "the effects to start")
        first.kill()
    with serve(tmp_path) as second:
        listed = "/v1/host/weftwork/interrupts?limit=100"
        until(lambda: len(second.call("GET", listed).document["interrupts"]) == 14, "the interrupts")
        yield Crashed(second, unknown, others)


def settled(crashed: Crashed, *workflows: str) -> set[str]:
    for name in workflows:
        for each in crashed.unknown[name]:
            crashed.host.log(each)
    return crashed.statuses(*workflows)


def test_one_command_answers_the_unknown_outcomes_of_many_runs(crashed: Crashed) -> None:
    listed = crashed.run(*ALL, *AGAIN, "--dry-run")
    assert (listed[0], len(listed[1].splitlines())) == (0, 13)
    assert '12 interrupts in 12 runs of 3 workflows would be answered with {"outcome": "again"}' in listed[2]
    assert crashed.statuses("order", "other", "named") == {"waiting-input"}
    code, out, err = crashed.run(*ALL, *AGAIN)
    assert (code, out, "add --yes" in err) == (2, "", True)
    for more, workflow in ((("--workflow", "order"), "order"), (("--node", "other"), "named")):
        code, out, err = crashed.run(*ALL, *AGAIN, "--yes", *more)
        assert (code, len(out.splitlines()), err) == (0, 4, "answered 4 of 4 interrupts.\n")
        assert settled(crashed, workflow) == {"completed"}
    assert crashed.statuses("other") == {"waiting-input"}
    code, out, _ = crashed.run(*ALL, *AGAIN, "--yes", "--older-than", "1h")
    assert (code, out) == (0, "")
    code, out, err = crashed.run(*ALL, "--value", '{"outcome": "failed"}', "--yes", "--json")
    result = json.loads(out)
    assert (code, len(result["answered"]), result["refused"], result["notSent"]) == (0, 4, [], 0)
    assert {each["runId"] for each in result["answered"]} == set(crashed.unknown["other"])
    assert settled(crashed, "other") == {"failed"}
    assert {crashed.host.snapshot(each)["status"] for each in crashed.others} == {"waiting-input", "waiting-approval"}
    code, out, err = crashed.run(*ALL, *AGAIN, "--yes")
    assert (code, out, "no open interrupts" in err) == (0, "", True)


def test_a_key_that_may_not_answer_is_told_once(crashed: Crashed) -> None:
    code, out, err = crashed.run(*ALL, *AGAIN, "--yes", key=READER)
    assert (code, out) == (7, "")
    assert err.count("Error: ") == 1
    assert "lacks the scope approvals:respond" in err
    assert "answered 0 of 12 interrupts" in err
    assert crashed.statuses("order", "other", "named") == {"waiting-input"}


def test_a_person_at_a_terminal_confirms_what_is_sent(crashed: Crashed) -> None:
    place = ("--url", crashed.host.address, "--key", KEY)
    code, shown = run_at_terminal(crashed.host.data, b"n\n", *ALL, *AGAIN, "--workflow", "order", *place)
    assert code == 1
    assert 'Answer 4 interrupts in 4 runs of 1 workflow with {"outcome": "again"}? [y/N]' in shown
    assert crashed.statuses("order") == {"waiting-input"}
    code, shown = run_at_terminal(crashed.host.data, b"y\n", *ALL, *AGAIN, "--workflow", "order", *place)
    assert (code, "answered 4 of 4 interrupts." in shown) == (0, True)


def rows(count: int) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for number in range(count):
        asked = outcome_interrupt("pay", 0, EffectRef(), 1)
        row = {
            "runId": f"run-{number:04}",
            "nodeId": "pay",
            "workflowId": "w",
            "interruptId": "pay.1",
            "kind": "custom",
        }
        made.append(
            {**row, "key": asked.key, "data": asked.data, "resumeSchema": asked.resume_schema, "status": "open"}
        )
    return made


def offers(foreign: ForeignHost, count: int, page: int = 200) -> list[str]:
    """A host that lists so many interrupts page by page, and takes every answer; the paths of the answers."""
    listed = rows(count)

    def answer_list(request: Any) -> CannedResponse:
        start = int(request.query.get("cursor", ["0"])[0])
        more = {"nextCursor": str(start + page)} if start + page < count else {}
        return CannedResponse(200, {"interrupts": listed[start : start + page], **more})

    foreign.replies["GET /v1/host/weftwork/interrupts"] = answer_list
    paths = [f"POST /v1/runs/{each['runId']}/interrupts/pay" for each in listed]
    for each in paths:
        foreign.replies[each] = CannedResponse(200, {"runId": "r", "nodeId": "pay", "status": "running"})
    return paths


def test_refused_answers_do_not_stop_the_others_and_are_told(foreign: ForeignHost) -> None:
    paths = offers(foreign, 120, page=50)
    late = CannedResponse(409, {"error": "interrupt_already_resolved", "message": "Too late."})
    for each in paths[::30]:
        foreign.replies[each] = late
    done = foreign.run_command(*ALL, *AGAIN, "--yes")
    assert (done.exit_code, len(done.stdout.splitlines())) == (1, 116)
    assert done.stderr.count("not answered: Too late (interrupt_already_resolved).") == 4
    assert "answered 116 of 120 interrupts, 4 not answered. The same command with --dry-run" in done.stderr
    done = foreign.run_command(*ALL, *AGAIN, "--yes", "--json")
    result = json.loads(done.stdout)
    assert [len(result[each]) for each in ("answered", "refused")] == [116, 4]
    assert "answers sent" in done.stderr
    answered = [each for each in foreign.requests if each.method == "POST"]
    assert {tuple(each.query["interruptId"]) for each in answered} == {("pay.1",)}
    assert len({each.headers["idempotency-key"] for each in answered}) == 240


def test_a_host_that_is_gone_ends_the_command(foreign: ForeignHost) -> None:
    for each in offers(foreign, 60):
        foreign.replies[each] = HANG_UP
    done = foreign.run_command(*ALL, *AGAIN, "--yes")
    assert (done.exit_code, done.stdout) == (7, "")
    assert done.stderr.count("Error: ") == 1
    sent = {each.path for each in foreign.requests if each.method == "POST"}
    assert len(sent) <= 2 * answer_all.CONCURRENCY
    assert f"{60 - len(sent)} not sent" in done.stderr


@each_case(
    "args, says",
    ((*ALL,), "--set outcome=OUTCOME"),
    ((*ALL, "--set", "outcome=maybe"), "not one of the choices"),
    ((*ALL, "--value", '{"outcome": "maybe"}'), "the answer is not valid"),
    ((*ALL, "--value", '{"outcome": "done", "key": "k"}'), "the answer is not valid"),
    ((*ALL, *AGAIN, "--follow"), "--all cannot be combined"),
    ((*ALL, "--approve"), "--all cannot be combined"),
    ((*ALL, "--link"), "--all cannot be combined"),
    ((*ALL, "run-0001", *AGAIN), "remove run-0001"),
    (("answer", "--all", *AGAIN), "--all requires --code"),
    (("answer", "run-0001", "--dry-run"), "--dry-run requires --all"),
    (("answer", "run-0001", "--node", "n"), "--node requires --all"),
    (("answer",), "name the run"),
)
def test_what_cannot_be_meant_is_refused_before_anything_is_sent(
    foreign: ForeignHost, args: tuple[str, ...], says: str
) -> None:
    offers(foreign, 2)
    done = foreign.run_command(*args)
    assert (done.exit_code, says in done.stderr) == (2, True), done.stderr
    assert [each for each in foreign.requests if each.method == "POST"] == []


def test_at_most_so_many_answers_are_on_their_way(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    offers(foreign, 20)
    workers: list[int] = []
    plain = answer_all.ThreadPoolExecutor
    monkeypatch.setattr(answer_all, "ThreadPoolExecutor", lambda count: workers.append(count) or plain(count))
    assert foreign.run_command(*ALL, *AGAIN, "--yes").exit_code == 0
    assert workers == [answer_all.CONCURRENCY]


@fails_without(answer_all, "is_outcome_interrupt", lambda data: True)
def test_no_other_interrupt_is_answered(foreign: ForeignHost) -> None:
    paths = offers(foreign, 3)
    listed = rows(3)
    listed[1]["data"] = {"customKind": "acme.ask"}
    foreign.replies["GET /v1/host/weftwork/interrupts"] = CannedResponse(200, {"interrupts": listed})
    before = len(foreign.requests)
    assert foreign.run_command(*ALL, *AGAIN, "--yes").exit_code == 0
    sent = {f"POST {each.path}" for each in foreign.requests[before:] if each.method == "POST"}
    assert sent == {paths[0], paths[2]}
