"""`weftwork runs retry --status`: many runs, and none of them twice."""

import pytest
from click.testing import CliRunner, Result

from tests.harness.cases import fails_without
from tests.harness.definitions import node, variable
from tests.live import KEY, Host
from tests.live.fixtures import host_fixture
from tests.live.steering import await_status, cancel, flow, interrupt_node
from weftwork.cli.forks import retry as retry_command
from weftwork.cli.main import main

SHARES = flow(
    "shares",
    [node("divide", "core.transform", config={"expression": "12 / int(variables.n)"})],
    [],
    [variable("n", "number")],
    settings={"retries": 0},
)

GATE = flow("gate", [interrupt_node("ask")])

host = host_fixture(workflows=[SHARES, GATE], store="memory")


def runs_retry(host: Host, *args: str, code: int = 0) -> Result:
    env = {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY}
    result = CliRunner().invoke(main, ["runs", "retry", *args], env=env)
    assert result.exit_code == code, result.output
    return result


@pytest.mark.rule("retry-02")
@fails_without(retry_command, "branched_runs", lambda *given: frozenset())
def test_a_run_that_was_retried_is_not_selected_again(host: Host) -> None:
    failed = [host.create(SHARES["id"], inputs={"n": 0}) for _ in range(2)]
    for each in failed:
        await_status(host, each, "failed")
    again = runs_retry(host, failed[0], "--set", "n=3").stdout.strip()
    await_status(host, again, "completed")
    many = ("--status", "failed", "--workflow", SHARES["id"], "--since", "1d", "--dry-run")
    shown = runs_retry(host, *many)
    assert failed[1] in shown.stdout.split()
    assert failed[0] not in shown.stdout.split()
    assert "name a run to retry it again" in shown.stderr
    # By its id, it is retried once more.
    assert runs_retry(host, failed[0], "--set", "n=3").stdout.strip() not in ("", again)


@pytest.mark.rule("retry-04")
def test_a_second_retry_names_the_first_and_can_be_allowed(host: Host) -> None:
    source = host.create(GATE["id"])
    await_status(host, source, "waiting-input")
    cancel(host, source)
    first = runs_retry(host, source).stdout.strip()
    refused = CliRunner().invoke(
        main, ["runs", "retry", source], env={"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY}
    )
    assert refused.exit_code != 0
    assert first in refused.stderr
    assert "--allow-concurrent makes another retry" in refused.stderr
    second = runs_retry(host, source, "--allow-concurrent").stdout.strip()
    assert second not in ("", first)
