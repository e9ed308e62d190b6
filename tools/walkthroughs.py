"""Records five scenarios of a host: which modules it enters, and through which functions.

A real host (`weftwork serve` with a new SQLite store) runs under a profiler in its own process; see
`tools/traced_host.py`. This program talks to it over HTTP. Each scenario runs once unrecorded, because a first request
fills caches, and then `RECORDINGS` times. Three rules remove timers and thread scheduling from the result:

- Only functions that are in all recordings of a scenario are kept, in the order of their median positions.
- Functions that an idle host calls are removed.
- A recording that a slow machine has disturbed is discarded and repeated.

The recovery after a kill needs a new process for each recording. Functions that a start without unfinished runs also
calls are removed, so that the list shows the recovery and not the construction of a host.

No log lines are formatted: the log level is `error`. Data is stored in a file system in memory if the machine has one,
because a host that waits for a slow disk looks idle.
"""

import http.client
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

KEY: Final = "walkthrough-key"
RECORDINGS: Final = 3
ATTEMPTS: Final = 5
"""Maximum number of recordings for each one that is kept."""
WAIT_SECONDS: Final = 30.0
IDLE_SECONDS: Final = 1.5
DELAY_MS: Final = 500
"""A scenario with a delay must be ready before the delay ends; otherwise the recording is disturbed."""
IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108
"""A file system in memory, on machines that have one."""
LOOP_THREAD: Final = "MainThread"
OUTSIDE: Final = ("adapters/http/server/", "cli/")
"""Modules that `count_modules` ignores: the HTTP server around the ASGI application, and the command line."""
TOO_SLOW: Final = "every recording was disturbed because the machine is too slow; run it again on a less busy machine"


class Disturbed(Exception):
    """The machine was too slow for this recording."""


class Entry(NamedTuple):
    """A function that a thread has called. `file` is relative to the package, `function` is a qualified name."""

    thread: str
    file: str
    function: str


Recording = list[Entry]
"""In the order of the first call."""
Work = Callable[[], str | None]
"""The work to record. Returns the id of the run that must be complete when the host is idle, or None."""
Prepare = Callable[["Host"], Work]
"""Called before each recording."""


class Scenario(NamedTuple):
    """One walkthrough. The scenario without `prepare` is the recovery after a kill."""

    title: str
    text: str
    prepare: Prepare | None


class Host:
    """`weftwork serve` under the profiler."""

    def __init__(self, process: "subprocess.Popen[str]", port: int, commands: TextIO, answers: TextIO) -> None:
        self._process = process
        self._port = port
        self._commands = commands
        self._answers = answers

    def start_recording(self) -> None:
        self._command("start")

    def stop_recording(self) -> Recording:
        """Wait until the host is idle, and return the recording. Thread names lose their numeric suffix."""
        found = [Entry(*each) for each in self._command("stop")]
        return list(dict.fromkeys(each._replace(thread=re.sub(r"[-_]\d+$", "", each.thread)) for each in found))

    def _command(self, word: str) -> list[list[str]]:
        self._commands.write(word + "\n")
        self._commands.flush()
        return json.loads(self._answers.readline())

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        answered: Callable[[], None] = lambda: None,
    ) -> Any:
        """Send a request on a new connection and decode a JSON response. Raises RuntimeError for an error status.

        `answered` is called when the head of the response has arrived.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=WAIT_SECONDS)
        sent = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", **(headers or {})}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            answered()
            content = response.read()
        finally:
            connection.close()
        if response.status >= 400:
            raise RuntimeError(f"{method} {path}: {response.status} {content.decode(errors='replace')}")
        return json.loads(content) if "json" in (response.getheader("Content-Type") or "") else content

    def create_run(self, workflow_id: str) -> str:
        return self.send("POST", "/v1/runs", {"workflowId": workflow_id})["runId"]

    def status(self, run_id: str) -> str:
        return self.send("GET", f"/v1/runs/{run_id}")["status"]

    def wait_for(self, run_id: str, status: str) -> None:
        end = time.monotonic() + WAIT_SECONDS
        while self.status(run_id) != status:
            if time.monotonic() > end:
                raise TimeoutError(f"the run is not {status} after {WAIT_SECONDS} s")
            time.sleep(0.02)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(WAIT_SECONDS)


@contextmanager
def start_host(root: Path, folder: Path) -> Iterator[Host]:
    """Start a host from the sources below `root` with its data in `folder`, and kill it on exit."""
    folder.mkdir(exist_ok=True)
    commands, answers = os.pipe(), os.pipe()
    line = [sys.executable, str(Path(__file__).parent / "traced_host.py"), str(commands[0]), str(answers[1])]
    line += ["serve", "--port", "0", "--data", str(folder / "data"), "--api-key", f"{KEY}=acme"]
    line += ["--model-script", str(folder / "script.json"), "--log-level", "error"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WEFTWORK_")}
    path = os.pathsep.join(filter(None, [str(root / "src"), kept.get("PYTHONPATH")]))
    (folder / "script.json").write_text(json.dumps(SCRIPT), "utf-8")
    with (folder / "errors.txt").open("a", encoding="utf-8") as errors:
        process = subprocess.Popen(  # noqa: S603
            line,
            cwd=folder,
            env={**kept, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "XDG_DATA_HOME": str(folder)},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            pass_fds=(commands[0], answers[1]),
        )
    os.close(commands[0])
    os.close(answers[1])
    with open(commands[1], "w", encoding="ascii") as out, open(answers[0], encoding="utf-8") as back, process:
        try:
            yield Host(process, _port(process, folder), out, back)
        finally:
            process.kill()


def _port(process: "subprocess.Popen[str]", folder: Path) -> int:
    """Wait until the host listens, and return its port."""
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"listens on http://[^ ]*:(\d+)", line):
            return int(found[1])
    raise RuntimeError(f"the host did not start: {(folder / 'errors.txt').read_text('utf-8')}")


def node(name: str, type_id: str, **config: Any) -> dict[str, Any]:
    return {"id": name, "typeId": type_id, "name": name, "position": {"x": 0, "y": 0}, "config": config, "inputs": {}}


def workflow(name: str, *nodes: dict[str, Any]) -> dict[str, Any]:
    """Nodes in a row."""
    edges = [
        {"id": f"{one['id']}-{other['id']}", "sourceNodeId": one["id"], "targetNodeId": other["id"]}
        for one, other in itertools.pairwise(nodes)
    ]
    kinds = {"envelopeKinds": {KIND: {"schema": TICKET}}} if MODEL in nodes else {}
    rest = {"triggers": [], "variables": [], "metadata": kinds, "settings": {}}
    return {"id": name, "name": name, "version": "1.0", "nodes": [*nodes], "edges": edges, **rest}


KIND: Final = "vendor.example.ticket"
TICKET: Final = {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}}
SCRIPT: Final = {"default": json.dumps({"type": KIND, "payload": {"title": "The chair is broken"}})}
MODEL: Final = {
    **node("model", "core.ai.generateEnvelope", envelopeType=KIND, userMessage="Write a ticket."),
    "envelopeContract": {"accepts": [KIND]},
}
STEP: Final = node("step", "core.noop")
DELAY: Final = node("delay", "core.delay", delayMs=DELAY_MS)
WORKFLOWS: Final = (
    workflow("step", STEP),
    workflow("delay", DELAY, STEP),
    workflow("approval", node("gate", "core.approvalGate", title="Pay?"), STEP),
    workflow("model", MODEL),
    workflow("delay-model", DELAY, MODEL),
)
PNG: Final = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de")


class Deadline:
    """The earliest time at which a delay can end that starts now or later."""

    def __init__(self) -> None:
        self._end = time.monotonic() + DELAY_MS / 1000

    def check(self) -> None:
        """Raises Disturbed if the delay can have ended."""
        if time.monotonic() > self._end:
            raise Disturbed

    def wait(self) -> None:
        """Wait until every delay that started before this call has ended."""
        time.sleep(DELAY_MS / 1000)


def create_run(host: Host) -> Work:
    return lambda: host.create_run("step")


def follow_run(host: Host) -> Work:
    def work() -> str:
        deadline = Deadline()
        run_id = host.create_run("delay")
        host.send("GET", f"/v1/runs/{run_id}/events", None, {"Accept": "text/event-stream"}, deadline.check)
        return run_id

    return work


def model_run(host: Host) -> Work:
    return lambda: host.create_run("model")


def model_turn(host: Host) -> Work:
    """`model_run` without the request that creates the run: a delay before the node ends when the recording starts."""
    deadline = Deadline()
    run_id = host.create_run("delay-model")

    def work() -> str:
        deadline.check()
        deadline.wait()
        return run_id

    return work


def answer_approval(host: Host) -> Work:
    run_id = host.create_run("approval")
    host.wait_for(run_id, "waiting-approval")

    def work() -> str:
        host.send("POST", f"/v1/runs/{run_id}/interrupts/gate", {"resumeValue": {"action": "accept"}})
        return run_id

    return work


def transfer_asset(host: Host) -> Work:
    picture = PNG + os.urandom(16)

    def work() -> None:
        asset = host.send("POST", "/v1/host/weftwork/assets", picture, {"Content-Type": "image/png"})
        path = "/" + asset["url"].split("/", 3)[3]
        if host.send("GET", path) != picture:
            raise RuntimeError("the downloaded asset differs from the uploaded one")

    return work


WALKTHROUGHS: Final = {
    "follow-run": Scenario(
        "Create a run and follow its events",
        "A client sends `POST /v1/runs` for a workflow of `core.delay` and `core.noop`. During the delay it opens "
        "the event stream, and reads it until it ends.",
        follow_run,
    ),
    "model-turn": Scenario(
        "Pass a model turn through the envelope gate",
        "A client sends `POST /v1/runs` for a workflow of one `core.ai.generateEnvelope`. The scripted provider "
        "answers with an envelope that the gate accepts, and the run completes.",
        model_run,
    ),
    "answer-approval": Scenario(
        "Answer an approval",
        "A run waits at `core.approvalGate`. A client sends `POST /v1/runs/{runId}/interrupts/{nodeId}` with the "
        "action `accept`; the run continues and completes.",
        answer_approval,
    ),
    "transfer-asset": Scenario(
        "Upload and download an asset",
        "A client sends a PNG image to `POST /v1/host/weftwork/assets` and downloads it from the URL in the response.",
        transfer_asset,
    ),
    "recover-run": Scenario(
        "Recover after a kill",
        "A host is killed with SIGKILL while a run is in `core.delay`. After the end of the delay a new process starts "
        "on the same data folder. Every start acquires the lock of the data folder, opens the store and reads the "
        "unfinished runs. The list below shows only what a start does in addition if there is an unfinished run, until "
        "that run is complete.",
        None,
    ),
}
"""Keyed by the name of the generated part of the page."""
COUNTED: Final[dict[str, Prepare]] = {"create-run": create_run, "model-run": model_run, "model-turn": model_turn}
"""Scenarios for which `tests/docs` limits the number of modules."""


def register_workflows(host: Host) -> None:
    for each in WORKFLOWS:
        host.send("POST", "/v1/workflows", each)


def take_recording(host: Host, prepare: Prepare) -> Recording:
    """Take one recording. Raises Disturbed."""
    work = prepare(host)
    host.start_recording()
    run_id = work()
    recording = host.stop_recording()
    if run_id is not None and host.status(run_id) != "completed":
        host.wait_for(run_id, "completed")
        raise Disturbed
    return recording


def record_scenario(host: Host, prepare: Prepare) -> list[Recording]:
    """Take the recordings of a scenario; the first is discarded."""
    recordings: list[Recording] = []
    for _ in range(ATTEMPTS * RECORDINGS):
        try:
            recordings.append(take_recording(host, prepare))
        except Disturbed:
            # The rest of this run must not be part of the next recording.
            time.sleep(2 * DELAY_MS / 1000)
            continue
        if len(recordings) > RECORDINGS:
            return recordings[1:]
    raise RuntimeError(TOO_SLOW)


def record_idle(host: Host) -> Recording:
    host.start_recording()
    time.sleep(IDLE_SECONDS)
    return host.stop_recording()


def record_recovery(root: Path, folder: Path) -> list[Recording]:
    """Record starts with an unfinished run."""
    with start_host(root, folder) as host:
        register_workflows(host)
        run_id = leave_run(host)
    recordings: list[Recording] = []
    for _ in range(ATTEMPTS * RECORDINGS):
        with start_host(root, folder) as host:
            recording = host.stop_recording()
            if host.status(run_id) == "completed":
                recordings.append(recording)
            if len(recordings) == RECORDINGS:
                return recordings
            run_id = leave_run(host)
    raise RuntimeError(TOO_SLOW)


def leave_run(host: Host) -> str:
    """Kill the host during the delay of a run. Returns the id of the run after the end of the delay."""
    for _ in range(ATTEMPTS):
        deadline = Deadline()
        run_id = host.create_run("delay")
        try:
            deadline.check()
        except Disturbed:
            host.wait_for(run_id, "completed")
            continue
        host.kill()
        deadline.wait()
        return run_id
    raise RuntimeError(TOO_SLOW)


def merge(recordings: list[Recording], left_out: Collection[Entry]) -> Recording:
    """The entries that are in every recording, ordered by their median position."""
    common = set(recordings[0]).intersection(*recordings[1:]).difference(left_out)
    kept = [{each: position for position, each in enumerate(one) if each in common} for one in recordings]
    return sorted(common, key=lambda each: (statistics.median(one[each] for one in kept), each))


def first_entries(recording: Recording) -> Recording:
    """For each thread, the function through which it first entered each module. The event loop comes first."""
    threads = dict.fromkeys([LOOP_THREAD, *(each.thread for each in recording)])
    found: dict[tuple[str, str], Entry] = {}
    for each in recording:
        found.setdefault((each.thread, each.file), each)
    return [each for thread in threads for each in found.values() if each.thread == thread]


def count_modules(recording: Recording, outside: tuple[str, ...] = OUTSIDE) -> int:
    """The number of modules from the ASGI application inward."""
    return len({each.file for each in recording if not each.file.startswith(outside)})


def trace(root: Path, scenarios: Mapping[str, Prepare | None]) -> dict[str, Recording]:
    """Run the sources below `root` in these scenarios; None is the recovery. Keyed by the name of the scenario."""
    found: dict[str, Recording] = {}
    place = IN_MEMORY if IN_MEMORY.is_dir() and os.access(IN_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="weftwork-trace-", dir=place) as name, ThreadPoolExecutor() as pool:
        folder = Path(name, "scenarios")
        recoveries = {
            each: pool.submit(record_recovery, root, Path(name, each)) for each in scenarios if scenarios[each] is None
        }
        with start_host(root, folder) as host:
            register_workflows(host)
            idle = record_idle(host)
            for each, prepare in scenarios.items():
                if prepare is not None:
                    found[each] = merge(record_scenario(host, prepare), idle)
        if recoveries:
            with start_host(root, folder) as host:
                start = host.stop_recording()
            for each, recovery in recoveries.items():
                found[each] = merge(recovery.result(), {*idle, *start})
    return found


def walk(root: Path) -> dict[str, Recording]:
    """The rows of every walkthrough, keyed by its name."""
    traced = trace(root, {name: scenario.prepare for name, scenario in WALKTHROUGHS.items()})
    return {name: first_entries(recording) for name, recording in traced.items()}


def walk_and_count(root: Path) -> tuple[dict[str, Recording], dict[str, Recording]]:
    """The rows of every walkthrough, and the recordings of `COUNTED`, taken from one host."""
    walked = {name: scenario.prepare for name, scenario in WALKTHROUGHS.items()}
    counted = {name: f"counted {name}" for name in COUNTED}
    traced = trace(root, walked | {counted[name]: prepare for name, prepare in COUNTED.items()})
    return {name: first_entries(traced[name]) for name in walked}, {name: traced[counted[name]] for name in COUNTED}
