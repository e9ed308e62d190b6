"""One key, one run: however many callers send it at the same moment."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from tests.crash.oracle import listing
from tests.crash.restartable_host import RestartableHost, stop
from tests.harness.definitions import FULL
from tests.live import Answer, Host

pytestmark = pytest.mark.slow

ROUNDS = 100 if FULL else 3
CALLERS = 64


def crowd(host: Host, key: str) -> list[Answer]:
    """What each caller is told."""
    barrier = Barrier(CALLERS)

    def send() -> Answer:
        barrier.wait(120)
        return host.call("POST", "/v1/runs", {"workflowId": "quick"}, headers={"Idempotency-Key": key})

    with ThreadPoolExecutor(CALLERS) as pool:
        return [sending.result(60) for sending in [pool.submit(send) for _ in range(CALLERS)]]


def check_rounds(host: Host, rounds: int) -> None:
    runs: set[str] = set()
    for number in range(rounds):
        answers = crowd(host, f"round-{number}")
        assert {answer.status for answer in answers} == {201}
        assert len({answer.body for answer in answers}) == 1, "callers of one key were told different things"
        replays = [answer for answer in answers if answer.headers.get("openwop-idempotent-replay") == "true"]
        assert len(replays) == CALLERS - 1
        runs.add(answers[0].document["runId"])
    assert set(listing(host)) == runs
    assert len(runs) == rounds


def test_one_key_is_one_run(tmp_path: Path) -> None:
    with RestartableHost(tmp_path) as ground:
        host = ground.start()
        check_rounds(host, ROUNDS)
        stop(host)


def test_looking_first_would_not_do(tmp_path: Path) -> None:
    with RestartableHost(tmp_path, "check_key_outside_transaction") as ground:
        host = ground.start()
        with pytest.raises(AssertionError, match="told different things"):
            check_rounds(host, 10)
