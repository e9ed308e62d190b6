"""A busy host whose store breaks again and again: clients of all kinds, and what must hold afterwards.

The clients use everything that a host has, and start runs with effects, which a sink counts. A client that is told to
come back waits until the host is ready again.
"""

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tests.crash.client import CONNECTION_ERRORS, ClientHistory, HostGone, RecordingClient
from tests.crash.effects.effect_host import EffectHost, answer_truthfully, key_of
from tests.crash.effects.effect_sink import CountingSink
from tests.crash.effects.test_effects import check_sink
from tests.crash.oracle import TIMEOUT_SECONDS, check_history
from tests.crash.postgres.postgres_host import PostgresHost
from tests.crash.restartable_host import stop
from tests.crash.workflows import CRASH_WORKFLOWS, WITH_EFFECTS
from tests.crash.workload import run_round
from tests.live import Host, until

STEP: Final = 8
"""How many runs are acknowledged between two strikes, at least."""
UNFINISHED: Final = "pending,running,waiting-input"


class BusyHost(PostgresHost, EffectHost):
    workflows = CRASH_WORKFLOWS
    modules = ("tests.crash.effects.effect_nodes",)


def is_ready(host: Host) -> bool:
    """Whether the host is ready, and its pool has sessions again: readiness is about the writer."""
    return host.call("GET", "/readiness").status == 200 == host.call("GET", "/v1/runs?limit=1").status


class BusyClients:
    """Clients of one host, and what they know."""

    def __init__(self, host: Host, sink: CountingSink, history: ClientHistory | None = None) -> None:
        self.host = host
        self.history = history or ClientHistory()
        self._sink = sink
        self._is_over = threading.Event()

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Within it the clients are busy."""
        works = (self._use_everything, self._start_effects, self._answer_questions)
        with ThreadPoolExecutor(len(works)) as pool:
            self._working = [pool.submit(work) for work in works]
            try:
                yield
            finally:
                self._is_over.set()
                for each in self._working:
                    each.result(120)

    def progress(self) -> None:
        """Return when some more runs were acknowledged."""
        enough = len(self.history.acknowledged()) + STEP
        until(lambda: self._are_so_many(enough), "more runs to be acknowledged")

    def _are_so_many(self, enough: int) -> bool:
        for each in self._working:
            if each.done():
                each.result()
        return len(self.history.acknowledged()) >= enough

    def await_effects(self, patience: float = TIMEOUT_SECONDS) -> None:
        """Return when all runs with effects have ended, and answer what they ask until then."""
        until(self._answer_all, "all runs with effects to end: one did not go on", patience)

    def await_all(self, patience: float = TIMEOUT_SECONDS, answer: bool = True) -> None:
        """Return when all runs have ended, and answer what is asked about effects until then. Without `answer`, return
        when all runs have ended or ask."""
        statuses = UNFINISHED if answer else "pending,running"
        until(lambda: self._answer_all("", statuses), "all runs to end: one did not go on", patience)

    @contextlib.contextmanager
    def starting_effects(self) -> Iterator[None]:
        """Within it, a client starts runs with effects, one after another, until its host is gone."""
        with ThreadPoolExecutor(1) as pool:
            starting = pool.submit(self._start_effects)
            try:
                yield
            finally:
                self._is_over.set()
                with contextlib.suppress(HostGone, *CONNECTION_ERRORS):
                    starting.result(120)

    def _use_everything(self) -> None:
        client, turn = RecordingClient(self.host, self.history, "c0"), 0
        while not self._is_over.is_set():
            run_round(client, turn)
            turn += 1
            self._wait_until_ready()

    def _start_effects(self) -> None:
        client = RecordingClient(self.host, self.history, "e0")
        while not self._is_over.is_set():
            wish = client.plan_create("effects", keyed=True)
            until(lambda wish=wish: client.send_create(wish), "the run to be created")
            until(lambda wish=wish: self._has_ended(wish.run_id), "the effects of a run")

    def _has_ended(self, run_id: str | None) -> bool:
        answer = self.host.call("GET", f"/v1/runs/{run_id}")
        return answer.status == 200 and "completedAt" in answer.document

    def _answer_questions(self) -> None:
        """A person looks at the sink, and answers what is asked about effects."""
        while not self._is_over.is_set():
            self._answer_all()
            self._is_over.wait(0.05)

    def _answer_all(self, query: str = "&workflowId=effects", statuses: str = UNFINISHED) -> bool:
        """Answer what is asked about effects now. Whether no run of the query has one of these statuses."""
        answer = self.host.call("GET", f"/v1/runs?limit=200&status={statuses}{query}")
        if answer.status == 503:
            return False
        for run in answer.document["runs"]:
            if run["status"] == "waiting-input" and run["workflowId"] in WITH_EFFECTS:
                answer_truthfully(self.host, self._sink, run["runId"])
        return not answer.document["runs"]

    def _wait_until_ready(self) -> None:
        until(lambda: is_ready(self.host), "the host to be ready")


def check_afterwards(
    ground: BusyHost, clients: BusyClients, sink: CountingSink, folder: Path, patience: float = TIMEOUT_SECONDS
) -> dict[str, int]:
    """Everything that was acknowledged is there, every run ends, each effect has happened as often as it may, and the
    store is whole. Returns what was counted."""
    host = clients.host
    until(lambda: is_ready(host), "the host to be ready")
    clients.await_effects(patience)
    logs = check_history(host, clients.history, patience)
    wishes = clients.history.creates.values()
    effects = [wish.run_id for wish in wishes if wish.workflow == "effects" and wish.run_id is not None]
    for paid in (wish.run_id for wish in wishes if wish.workflow == "pays" and wish.run_id is not None):
        assert (count := sink.counts.pop(key_of(paid, ("pay", "")), 0)) == 1, f"the effect happened {count} times"
    again = check_sink(sink, effects)
    stop(host)
    ground.check_image(folder / "image")
    questions = sum(event["type"] == "interrupt.requested" for run_id in effects for event in logs[run_id])
    return {"runs": len(logs), "with effects": len(effects), "questions": questions, "sent again": again}
