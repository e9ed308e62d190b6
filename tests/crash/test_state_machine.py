"""Whatever clients do and however often the host dies, it agrees with a model that has never heard of crashes."""

import contextlib
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.crash.client import ClientHistory, HostGone, RecordingClient, TrackedCreate
from tests.crash.oracle import check_history, follow
from tests.crash.restartable_host import RestartableHost, stop
from tests.crash.store_image import check_store_image
from tests.harness.definitions import FULL

pytestmark = pytest.mark.slow

FLOWS = st.sampled_from(["quick", "waits", "fork", "long", "asks"])
STEERS = st.sampled_from([":pause", ":resume", "/interrupts/ask"])
ENDLESS = ("long", "asks")
"""Do not end by themselves."""
CROWD = st.integers(2, 64 if FULL else 8)
LENGTH = settings(
    max_examples=60 if FULL else 1,
    stateful_step_count=40 if FULL else 15,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    # Each step talks to a process: a failure is shown as it was found, since making it smaller would take hours.
    phases=(Phase.generate,),
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
)


class Lives(RuleBasedStateMachine):
    """A real host in a folder of its own. The ledger is the model, and is held against it to the end."""

    sabotage: ClassVar[str | None] = None
    wishes = Bundle("wishes")

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = ClientHistory()
        self.ground = RestartableHost(Path(self.folder.name), self.sabotage)
        self.lives = 0
        self._live()

    def _live(self) -> None:
        self.host = self.ground.start()
        self.lives += 1
        self.client = RecordingClient(self.host, self.ledger, f"life{self.lives}")

    @rule(target=wishes, workflow=FLOWS, keyed=st.booleans())
    def create(self, workflow: str, keyed: bool) -> TrackedCreate:
        run_id = self.client.create(workflow, keyed)
        return self.ledger.acknowledged()[run_id or ""]

    @rule(target=wishes, workflow=FLOWS, count=CROWD)
    def create_at_once(self, workflow: str, count: int) -> TrackedCreate:
        """Many send the same wish before any of them has an answer."""
        wish = self.client.plan_create(workflow, keyed=True)
        self._send(wish, count)
        assert len(wish.new_run_ids) == 1, f"{wish.tag} was new {len(wish.new_run_ids)} times"
        return wish

    @rule(target=wishes, workflow=FLOWS, keyed=st.booleans(), count=CROWD)
    def create_and_die(self, workflow: str, keyed: bool, count: int) -> TrackedCreate:
        """The host dies while many send a wish; without a key, one does."""
        wish = self.client.plan_create(workflow, keyed)
        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(self._send, wish, count if keyed else 1)
            self.host.kill()
            sending.result(60)
        self._live()
        return wish

    @rule(wish=wishes, count=CROWD)
    def retry(self, wish: TrackedCreate, count: int) -> None:
        if wish.key is not None:
            self._send(wish, count)
            assert wish.run_id is not None

    @rule(wish=wishes)
    def send_something_else(self, wish: TrackedCreate) -> None:
        if wish.key is not None and wish.run_id is not None:
            other = {**wish.body, "metadata": {"other": True}}
            answer = self.host.call("POST", "/v1/runs", other, headers={"Idempotency-Key": wish.key})
            assert (answer.status, answer.document["error"]) == (409, "idempotency_key_mismatch")

    @rule(wish=wishes, keyed=st.booleans())
    def cancel(self, wish: TrackedCreate, keyed: bool) -> None:
        if wish.run_id is not None:
            self.client.cancel(wish.run_id, keyed)

    @rule(wish=wishes, how=st.lists(STEERS, min_size=1, max_size=4))
    def steer(self, wish: TrackedCreate, how: list[str]) -> None:
        if wish.run_id is not None:
            for each in how:
                self.client.steer(wish.run_id, each)

    @rule(wish=wishes, how=STEERS)
    def steer_and_die(self, wish: TrackedCreate, how: str) -> None:
        if wish.run_id is not None:
            with ThreadPoolExecutor(1) as pool:
                steering = pool.submit(self._steer, wish.run_id, how)
                self.host.kill()
                steering.result(60)
            self._live()

    def _steer(self, run_id: str, how: str) -> None:
        with contextlib.suppress(HostGone):
            self.client.steer(run_id, how)

    @rule(wish=wishes)
    def read(self, wish: TrackedCreate) -> None:
        if wish.run_id is not None:
            self.client.read(wish.run_id)

    @rule(wish=wishes)
    def watch(self, wish: TrackedCreate) -> None:
        if wish.run_id is not None and self._ends(wish):
            self.client.watch(wish.run_id)

    @rule(wish=wishes)
    def wait(self, wish: TrackedCreate) -> None:
        if wish.run_id is not None and self._ends(wish):
            self.ledger.pages.append((wish.run_id, follow(self.host, wish.run_id)))

    def _ends(self, wish: TrackedCreate) -> bool:
        """Whether the run ends if nobody does anything."""
        return wish.workflow not in ENDLESS and self.host.snapshot(wish.run_id or "")["status"] != "paused"

    @rule()
    def make_key(self) -> None:
        assert self.client.make_key() is not None

    @rule()
    def kill(self) -> None:
        self.host.kill()
        self._live()

    @rule()
    def stop(self) -> None:
        stop(self.host)
        self._live()

    def _send(self, wish: TrackedCreate, count: int) -> None:
        barrier = Barrier(count)

        def send() -> Any:
            barrier.wait(120)
            try:
                return self.client.send_create(wish)
            except HostGone:
                return None

        with ThreadPoolExecutor(count) as pool:
            for sending in [pool.submit(send) for _ in range(count)]:
                sending.result(60)

    def teardown(self) -> None:
        if not hasattr(self, "ground"):
            return
        try:
            with self.ground:
                self.host.kill()
                check_store_image(self.ground.data, self.ground.folder / "image")
                check_history(self.ground.start(), self.ledger)
        finally:
            self.folder.cleanup()


def test_a_host_that_dies_agrees_with_the_model() -> None:
    run_state_machine_as_test(Lives, settings=LENGTH)


def test_a_host_that_cheats_does_not() -> None:
    cheating = type("Cheating", (Lives,), {"sabotage": "drop_idempotency_records"})
    with pytest.raises(AssertionError, match=r"and is \w+ now|new twice|new \d+ times|not a replay"):
        run_state_machine_as_test(cheating, settings=settings(LENGTH, max_examples=20, stateful_step_count=6))
