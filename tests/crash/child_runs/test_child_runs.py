"""Trees of runs under kills: at every point that is passed, each child is made once, and no word of it is lost."""

from pathlib import Path

import pytest

from tests.crash.child_runs.child_run_host import SCENARIOS, ChildRunClients, ChildRunHost
from tests.crash.child_runs.child_run_oracle import check_trees
from tests.crash.child_runs.message_image import check_messages
from tests.crash.point_proof import ONCE, PointProof, Remains
from tests.harness.definitions import FULL

pytestmark = pytest.mark.slow

OFTEN = """
    recover.run writer.begin writer.commit writer.committed create.checked create.durable create.started
    cancel.durable answer.durable append.begin append.durable append.published node.launch node.ended run.ended
    run.parked kin.related kin.deliver kin.order
""".split()
PROOF = PointProof(
    ChildRunHost,
    ChildRunClients,
    check_trees,
    check_messages,
    OFTEN,
    once=ONCE if FULL else ["boot.ready", "drain.close"],
    times=(1, 2, 3, 5, 8, 13, 21) if FULL else (11,),
    boot=30,
    seldom={"cancel.durable": 3, "answer.durable": 3, "recover.run": 3, "kin.order": 3},
    runs=8 if FULL else 4,
)


@pytest.fixture(scope="module")
def remains(tmp_path_factory: pytest.TempPathFactory) -> Remains:
    """Of a host that died while trees were being built, waited, and were taken down."""
    folder = tmp_path_factory.mktemp("remains")
    desk = ChildRunClients(seed=31)
    with ChildRunHost(folder) as ground:
        host = ground.start()
        for steps in (2, 1):
            for story in SCENARIOS:
                desk.start_run(host, story, steps)
        for _ in range(PROOF.seldom["recover.run"]):
            # Nobody has to be woken for these: their children are at work.
            desk.start_run(host, "slow")
        host.kill()
    return Remains(ground.data, desk)


@pytest.mark.rule("kin-02", "kin-04", "kin-05", "kin-06", "kin-07")
@pytest.mark.parametrize(("name", "nth"), PROOF.cases())
def test_each_child_is_made_once_at_any_point(tmp_path: Path, remains: Remains, name: str, nth: int) -> None:
    PROOF.check_kill(tmp_path, remains, name, nth)


@pytest.mark.rule("kin-02", "kin-04", "kin-05", "kin-06", "kin-07")
@pytest.mark.parametrize("name", PROOF.failing("kin.deliver"))
def test_a_host_that_fails_at_a_point_again_and_again_keeps_its_trees(
    tmp_path: Path, remains: Remains, name: str
) -> None:
    PROOF.check_failures(tmp_path, remains, name)


def test_every_point_that_is_passed_is_put_to_the_proof(tmp_path: Path, remains: Remains) -> None:
    # Pieces are of answers so large that these are not about trees.
    assert PROOF.passed_points(tmp_path, remains) - {"response.piece"} == {*ONCE, *OFTEN}


@pytest.mark.rule("kin-02", "kin-04", "kin-05", "kin-06", "kin-07")
def test_killed_at_any_moment_a_host_keeps_its_trees(tmp_path: Path) -> None:
    PROOF.check_lives(tmp_path, 20 if FULL else 1, seed=38)
