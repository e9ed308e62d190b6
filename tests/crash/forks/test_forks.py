"""A host that dies or fails while it creates a fork, or while the fork begins: it is there once, or not at all."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.client import CONNECTION_ERRORS
from tests.crash.forks.fork_host import ForkHost, Sources, check_fork, node_types, prepare_sources, send_request
from tests.crash.restartable_host import check_killed_at, stop
from tests.crash.store_image import check_store_image
from tests.harness.definitions import FULL

pytestmark = pytest.mark.slow

WAYS = ("replay", "branch", "retry")
STORED = {"fork.checked": False, "fork.copied": False, "fork.durable": True}
"""The points of a creation, and whether the fork is stored by then."""
PROVED = {*STORED}
CREATING = [(way, name, 1) for way in WAYS for name in STORED]
APPENDS = [("replay", 1), ("replay", 2), ("branch", 1), ("branch", 3), ("branch", 5), ("retry", 1)]
"""At which append of a fork the host is killed. That of a replay writes hundreds of events."""
BEGINNING = [(way, name, nth) for way, nth in APPENDS for name in ("append.begin", "append.durable")]
CASES = [*CREATING, *BEGINNING]
SHORT = [
    ("replay", "fork.copied", 1),
    ("retry", "fork.durable", 1),
    ("replay", "append.begin", 2),
    ("branch", "append.durable", 3),
]
FAILURES = [("branch", "fork.copied"), ("retry", "fork.durable")]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    with prepare_sources(tmp_path_factory.mktemp("sources")) as prepared:
        yield prepared


def kill_at(ground: ForkHost, sources: Sources, way: str, name: str, nth: int) -> None:
    ground.take_over(sources.data)
    host = ground.start(f"{name}:{nth}:kill")
    # The answer may come before the host dies.
    with contextlib.suppress(*CONNECTION_ERRORS):
        send_request(host, sources, way)
    check_killed_at(host, name)


@pytest.mark.rule("fork-01", "fork-08", "idem-01", "replay-06", "eff-02")
@pytest.mark.parametrize(("way", "name", "nth"), CASES if FULL else SHORT)
def test_a_fork_is_there_once_or_not_at_all_wherever_the_host_is_killed(
    tmp_path: Path, sources: Sources, way: str, name: str, nth: int
) -> None:
    with ForkHost(tmp_path, sources.sink, sources.broken) as ground:
        kill_at(ground, sources, way, name, nth)
        if way != "replay":
            # Until it is over, a replay is in the store as a run that has work to do, whatever its fold says.
            check_store_image(ground.data, tmp_path / "image", node_types())
        host = ground.start()
        check_fork(host, sources, way, STORED.get(name, True))
        stop(host)


@pytest.mark.parametrize(("way", "name"), FAILURES)
def test_a_fork_whose_creation_fails_is_refused_and_found_by_the_repeated_request(
    tmp_path: Path, sources: Sources, way: str, name: str
) -> None:
    with ForkHost(tmp_path, sources.sink, sources.broken) as ground:
        ground.take_over(sources.data)
        host = ground.start(f"{name}:1:raise")
        answer = send_request(host, sources, way)
        assert (answer.status, answer.document["error"]) == (503, "service_unavailable")
        assert "Traceback" not in host.errors
        check_fork(host, sources, way, STORED[name])
        stop(host)


@pytest.mark.parametrize(
    ("sabotage", "case", "said"),
    [
        ("store_forks_without_prefix", ("branch", "fork.durable", 1), "another prefix|events"),
        ("drop_records_of_forks", ("retry", "fork.durable", 1), "not known again"),
    ],
)
def test_a_host_without_this_guard_is_seen(
    tmp_path: Path, sources: Sources, sabotage: str, case: tuple[str, str, int], said: str
) -> None:
    with ForkHost(tmp_path, sources.sink, sources.broken, sabotage) as ground:
        kill_at(ground, sources, *case)
        with pytest.raises(AssertionError, match=said):
            check_fork(ground.start(), sources, case[0], True)
