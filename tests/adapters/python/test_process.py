"""Nodes written in Python on a real host: loaded by name, run, left behind, killed and entered again."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.python.fake_node_host import single_node_workflow
from tests.harness.cases import each_case, present
from tests.live import KEY, Host, start_host, until, weftwork, write_workflows
from tests.live.steering import event_types
from weftwork.adapters.admin.client import send_request
from weftwork.wiring.data_folder import ADMIN_SOCKET

pytestmark = pytest.mark.slow

BLOCKED = "the event loop was blocked"

NODES = '''
import asyncio, os, threading, time
from pathlib import Path
import msgspec
import weftwork

HERE = Path(__file__).parent


def count(name):
    with (HERE / name).open("a") as file:
        file.write("x")


class Config(msgspec.Struct):
    factor: int = 2


class Out(msgspec.Struct):
    score: int
    label: str


@weftwork.node("acme.score", version="1.2.0")
async def score(ctx: weftwork.Context, value: int = 0, *, config: Config) -> Out:
    """Scores a value.

    By a factor.
    """
    return Out(value * config.factor, "good")


@weftwork.node("acme.plain")
def plain(ctx: weftwork.PlainContext, value: int) -> int:
    ctx.log.info("counting", value=value)
    return ctx.step("add", lambda: value + 1)


@weftwork.node("acme.stuck")
def stuck(ctx: weftwork.PlainContext) -> None:
    count("stuck")
    try:
        while not (HERE / "go").exists():
            time.sleep(0.01)
        ctx.log.info("late")
    finally:
        count("unstuck")


@weftwork.node("acme.sleepy")
async def sleepy(ctx: weftwork.Context) -> None:
    count("sleepy")
    time.sleep(1)


@weftwork.node("acme.counter")
async def counter(ctx: weftwork.Context) -> int:
    count("outside")
    await ctx.step("once", count, "inside")
    if not (HERE / "done").exists():
        await asyncio.sleep(60)
    return ctx.attempt


@weftwork.node("acme.pays")
async def pays(ctx: weftwork.Context) -> str:
    async def pay() -> str:
        count("payments")
        while not (HERE / "paid").exists():
            await asyncio.sleep(0.01)
        return "receipt"

    return await ctx.step("pay", pay)


@weftwork.node("acme.broken")
def broken(ctx: weftwork.PlainContext) -> None:
    raise KeyError("inner text")
'''


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "acme_nodes.py").write_text(NODES)
    write_workflows(
        tmp_path / "flows",
        single_node_workflow("score", "acme.score", {"value": 4}, config={"factor": 3}),
        single_node_workflow("plain", "acme.plain", {"value": 4}),
        single_node_workflow("limited", "acme.stuck", settings={"timeoutMs": 300}),
        *(single_node_workflow(name, f"acme.{name}") for name in ("stuck", "sleepy", "counter", "pays", "broken")),
    )
    return tmp_path


def started(place: Path, **options: Any) -> Any:
    return start_host(place, "--nodes", "acme_nodes", "--workflows", place / "flows", cwd=place, **options)


@pytest.fixture
def host(place: Path) -> Iterator[Host]:
    with started(place) as host:
        yield host


def times(place: Path, name: str) -> int:
    return len((place / name).read_text()) if (place / name).exists() else 0


def lines(host: Host, message: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in host.errors.splitlines() if line.startswith("{")]
    return [line for line in found if line["message"] == message]


def test_nodes_of_a_module_are_run_and_listed_and_definitions_checked_against_them(host: Host) -> None:
    """And an error shows nothing of its inside."""
    events = host.log(host.create("score"))
    assert events[-1]["payload"]["outputs"] == {"n": {"score": 12, "label": "good"}}
    events = host.log(host.create("plain"))
    assert events[-1]["payload"]["outputs"] == {"n": {"output": 5}}
    assert [event["payload"]["message"] for event in events if event["type"] == "log.appended"] == ["counting"]
    found = host.call("GET", "/v1/host/weftwork/node-types/acme.score").document
    assert (found["version"], found["title"]) == ("1.2.0", "Scores a value.")
    assert found["source"] == "acme_nodes:score"
    assert found["inputs"]["properties"] == {"value": {"type": "integer", "default": 0}}
    run_id = host.create("broken")
    failed = next(event for event in host.log(run_id) if event["type"] == "node.failed")
    assert failed["payload"]["error"]["code"] == "node_failed"
    assert "inner text" not in json.dumps(host.log(run_id))
    assert "inner text" in host.errors
    for wrong, pointer in (
        (single_node_workflow("a", "acme.score", config={"factro": 1}), "/nodes/0/config/factro"),
        (single_node_workflow("b", "acme.score", config={"factor": "x"}), "/nodes/0/config/factor"),
        (single_node_workflow("c", "acme.plain", config={"any": 1}), "/nodes/0/config/any"),
    ):
        refused = host.call("POST", "/v1/workflows", wrong)
        assert refused.status == 400
        assert refused.document["details"]["pointer"] == pointer
    text = host.call("POST", "/v1/workflows", single_node_workflow("text", "acme.score", {"value": "four"}))
    assert text.status == 201
    failed = next(event for event in host.log(host.create("text")) if event["type"] == "node.failed")
    assert failed["payload"]["error"]["code"] == "node_config_invalid"


@pytest.mark.parametrize("how", ["cancel", "time limit"])
def test_a_run_goes_on_without_a_thread_that_is_stuck(place: Path, host: Host, how: str) -> None:
    run_id = host.create("stuck" if how == "cancel" else "limited")
    until(lambda: times(place, "stuck") == 1, "the thread to be stuck")
    if how == "cancel":
        assert host.call("POST", f"/v1/runs/{run_id}/cancel", {}).status < 300
    events = host.log(run_id)
    assert times(place, "unstuck") == 0
    last = "run.cancelled" if how == "cancel" else "run.failed"
    assert events[-1]["type"] == last
    (place / "go").touch()
    until(lambda: times(place, "unstuck") == 1, "the thread to end")
    assert host.log(run_id) == events


@pytest.mark.parametrize("left", [False, True])
def test_the_process_does_not_wait_for_a_thread(place: Path, host: Host, left: bool) -> None:
    """Nor do other runs."""
    run_id = host.create("stuck")
    until(lambda: times(place, "stuck") == 1, "the thread to be stuck")
    for name in ("score", "plain"):
        assert host.log(host.create(name, KEY))[-1]["type"] == "run.completed"
    if left:
        host.call("POST", f"/v1/runs/{run_id}/cancel", {})
        host.log(run_id)
    assert host.stop() == 0
    assert times(place, "unstuck") == 0


def test_a_thread_that_is_no_daemon_would_be_waited_for(place: Path) -> None:
    """Sabotage: the same threads, as others make them."""
    undone = """
import weftwork.adapters.python.threads as threads
made = threads.threading.Thread
class Waiting(made):
    def __init__(self, **options):
        super().__init__(**{**options, "daemon": False})
threads.threading = type("threading", (), {**vars(threads.threading), "Thread": Waiting})
"""
    (place / "acme_nodes.py").write_text(NODES + undone)
    with started(place) as host:
        host.create("stuck")
        until(lambda: times(place, "stuck") == 1, "the thread to be stuck")
        host.process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            host.process.wait(3)
        (place / "go").touch()
        host.process.wait(15)


def test_an_installed_package_offers_its_nodes(place: Path) -> None:
    about = place / "acme-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[weftwork.nodes]\nacme = acme_nodes\n")
    with start_host(place, "--workflows", place / "flows", env={"PYTHONPATH": str(place)}) as host:
        assert host.log(host.create("score"))[-1]["payload"]["outputs"] == {"n": {"score": 12, "label": "good"}}
    (place / "acme_nodes.py").write_text("1 / 0\n")
    ended = weftwork(place, "serve", "--port", "0", "--store", "memory", env={"PYTHONPATH": str(place)})
    assert ended.returncode == 2
    assert f"entry point acme: {place}/acme_nodes.py:1: ZeroDivisionError" in ended.stderr


def test_a_node_that_blocks_the_loop_is_named(place: Path, host: Host) -> None:
    run_id = host.create("sleepy")
    host.log(run_id)
    found = until(lambda: [each for each in lines(host, BLOCKED) if each["stage"] == "node"] or None, "the warning")
    number = NODES.splitlines().index("    time.sleep(1)") + 1
    place_of_sleep = f"{place}/acme_nodes.py:{number}"
    cause = {"runId": run_id, "nodeId": "n", "typeId": "acme.sleepy", "tenant": "acme", "place": place_of_sleep}
    assert len(found) == 1
    assert {**found[0], **cause} == found[0]
    assert (found[0]["level"], found[0]["blockedMs"] >= 900) == ("warning", True)
    report = present(send_request(host.data / ADMIN_SOCKET, {"operation": "loop.report"}))
    assert report["stages"]["node"]["count"] == 1
    assert report["stages"]["node"]["longestMs"] == found[0]["blockedMs"]
    (activity,) = [each["activity"] for each in report["recent"] if each["activity"]["stage"] == "node"]
    assert activity == {"stage": "node", **cause}
    said = weftwork(place, "doctor", "--data", host.data, "--url", host.address, "--key", KEY).stdout
    (line,) = [each for each in said.splitlines() if "event loop" in each]
    assert line.startswith("warn")
    assert "node 1" in line
    assert f"stage node, run {run_id}, node n, type acme.sleepy, tenant acme" in line
    assert f"at {place_of_sleep}" in line


def test_what_stands_in_a_step_happens_once_over_a_kill(place: Path) -> None:
    with started(place) as host:
        run_id = host.create("counter")
        until(lambda: times(place, "inside") == 1, "the step")
        until(lambda: b"effect.recorded" in host.call("GET", f"/v1/runs/{run_id}/events/poll").body, "its record")
        host.kill()
    (place / "done").touch()
    with started(place) as host:
        events = host.log(run_id)
    assert events[-1]["payload"]["outputs"] == {"n": {"output": 2}}
    assert (times(place, "outside"), times(place, "inside")) == (2, 1)


TWIN = "import weftwork\n@weftwork.node('acme.x')\ndef f(ctx): ...\n"
ARGUMENTS = "import weftwork\n\n@weftwork.node('acme.x')\ndef f(ctx, *ports): ...\n"


@each_case(
    "texts, said",
    (["\nimport nowhere_at_all\n"], "nodes_0.py:2: ModuleNotFoundError: No module named 'nowhere_at_all'"),
    (["\n\ndef f(:\n"], "nodes_0.py:3: SyntaxError: invalid syntax"),
    ([ARGUMENTS], "nodes_0.py:3: f cannot be the node 'acme.x': *ports is not supported"),
    (["x = 1\n"], "the module nodes_0 has no nodes"),
    ([TWIN, TWIN], "two nodes have the type id 'acme.x'"),
)
def test_modules_that_cannot_be_loaded_stop_the_start(tmp_path: Path, texts: list[str], said: str) -> None:
    options: list[str] = []
    for number, text in enumerate(texts):
        (tmp_path / f"nodes_{number}.py").write_text(text)
        options += ["--nodes", f"nodes_{number}"]
    ended = weftwork(tmp_path, "serve", "--port", "0", "--store", "memory", *options)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in ended.stderr
    places = ("nodes_0.py:2", "nodes_1.py:2") if len(texts) == 2 else ("--nodes nodes_0: ",)
    assert all(place in ended.stderr for place in places)
    assert "Traceback" not in ended.stderr


@pytest.mark.rule("run-15")
def test_runs_of_a_package_that_was_removed_can_be_cancelled_and_deleted(place: Path) -> None:
    with started(place) as host:
        runs = [host.create("counter") for _ in range(3)]
        until(lambda: times(place, "inside") == 3, "the steps")
        host.kill()
    (place / "acme_nodes.py").unlink()
    with start_host(place) as host:
        until(lambda: "run skipped" in host.errors, "the recovery")
        (skipped, *_) = [each for each in map(json.loads, host.errors.splitlines()) if "run skipped" in each["message"]]
        assert skipped["hint"] == f"weftwork runs cancel {skipped['runId']}"
        refused = host.call("POST", f"/v1/runs/{runs[0]}:pause")
        assert refused.status == 503
        assert "acme.counter" not in refused.document["message"]
        assert "or cancel the run" in refused.document["message"]
        assert host.call("POST", f"/v1/runs/{runs[0]}/cancel").status == 200
        done = host.call("POST", "/v1/runs:bulk-cancel", {"runIds": [runs[1]]}).document["results"]
        assert [each["ok"] for each in done] == [True]
        env = {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY}
        assert weftwork(place, "runs", "cancel", runs[2], env=env).returncode == 0
        for run_id in runs:
            assert [event["type"] for event in host.log(run_id)][-2:] == ["node.cancelled", "run.cancelled"]
            assert host.call("DELETE", f"/v1/runs/{run_id}").status == 204
            assert host.call("GET", f"/v1/runs/{run_id}").status == 404


def paying(place: Path, host: Host) -> str:
    """A run whose step is in progress."""
    run_id = host.create("pays")
    until(lambda: times(place, "payments"), "the payment to begin")
    return run_id


def interrupts_of(host: Host) -> list[dict[str, Any]]:
    return host.call("GET", "/v1/host/weftwork/interrupts").document["interrupts"]


WAITS = "shutdown waits for an effect in progress"
FINISHED = "effect finished during the shutdown"
UNKNOWN = "effect not finished at shutdown: its outcome is unknown"


@pytest.mark.rule("eff-04")
def test_a_host_that_is_stopped_waits_for_an_effect_and_says_which_and_what_became_of_it(place: Path) -> None:
    with started(place) as host:
        run_id = paying(place, host)
        host.process.send_signal(signal.SIGTERM)
        until(lambda: "waiting up to 30 s" in host.output, "the host to say that it waits")
        assert f"  run {run_id}, node n\n" in host.output
        (place / "paid").touch()
        assert host.process.wait(60) == 0
        assert f"run {run_id}, node n: finished, and its outcome is recorded" in host.output
        assert [[line["runId"] for line in lines(host, each)] for each in (WAITS, FINISHED, UNKNOWN)] == [
            [run_id],
            [run_id],
            [],
        ]
    with started(place) as host:
        assert host.log(run_id)[-1]["payload"]["outputs"] == {"n": {"output": "receipt"}}
    assert times(place, "payments") == 1


def test_an_effect_that_takes_longer_than_the_grace_period_is_left_to_a_person(place: Path) -> None:
    with started(place, env={"WEFTWORK_SHUTDOWN_GRACE_SECONDS": "0.2"}) as host:
        run_id = paying(place, host)
        assert host.stop() == 0
        assert f"run {run_id}, node n: not finished, its outcome is unknown" in host.output
        assert [line["runId"] for line in lines(host, UNKNOWN)] == [run_id]
    with started(place) as host:
        until(lambda: [each["runId"] for each in interrupts_of(host)] == [run_id], "the question")
    assert times(place, "payments") == 1


def test_a_second_signal_ends_the_wait_for_an_effect(place: Path) -> None:
    with started(place, env={"WEFTWORK_SHUTDOWN_GRACE_SECONDS": "3600"}) as host:
        run_id = paying(place, host)
        host.process.send_signal(signal.SIGTERM)
        until(lambda: "waiting up to 3600 s" in host.output, "the host to say that it waits")
        host.process.send_signal(signal.SIGTERM)
        assert host.process.wait(60) == 0
        assert lines(host, "second signal; exiting without waiting")
        assert f"run {run_id}, node n: not finished, its outcome is unknown" in host.output
        assert [line["runId"] for line in lines(host, UNKNOWN)] == [run_id]


def test_a_host_without_an_effect_in_progress_waits_for_nothing(place: Path) -> None:
    with started(place, env={"WEFTWORK_SHUTDOWN_GRACE_SECONDS": "3600"}) as host:
        run_id = host.create("counter")
        recorded = "weftwork.effect.recorded"
        until(lambda: recorded in event_types(host, run_id), "the record of the step")
        assert host.stop() == 0
        assert "waiting up to" not in host.output
        assert not lines(host, WAITS)
