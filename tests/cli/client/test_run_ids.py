"""Commands take the first characters of a run id."""

import pytest

from tests.cli.foreign_host import CannedResponse, ForeignHost

RUN = "01m7f5zzhp2z8y1fpzhf93nsbb"
OTHER_RUN = "01m7g" + RUN[5:]


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (("runs", "show"), f"GET /v1/runs/{RUN}"),
        (("events",), f"GET /v1/runs/{RUN}/events/poll"),
        (("bundle", "-o", "-"), f"GET /v1/runs/{RUN}/debug-bundle"),
        (("runs", "tree"), f"GET /v1/host/weftwork/runs/{RUN}/tree"),
        (("runs", "cancel"), f"POST /v1/runs/{RUN}/cancel"),
        (("runs", "pause"), f"POST /v1/runs/{RUN}:pause"),
        (("runs", "resume"), f"POST /v1/runs/{RUN}:resume"),
    ],
)
def test_a_command_completes_the_prefix_of_a_run_id(foreign: ForeignHost, line: tuple[str, ...], path: str) -> None:
    rows = [{"runId": RUN}, {"runId": OTHER_RUN}]
    foreign.replies["GET /v1/runs"] = CannedResponse(200, {"runs": rows})
    foreign.run_command(*line, RUN[:6])
    assert path in [f"{asked.method} {asked.path}" for asked in foreign.requests]


@pytest.mark.parametrize("line", [("runs", "ls", "--parent"), ("inbox", "--run"), ("assets", "ls", "--run")])
def test_a_filter_completes_the_prefix_of_a_run_id(foreign: ForeignHost, line: tuple[str, ...]) -> None:
    foreign.replies["GET /v1/runs"] = CannedResponse(200, {"runs": [{"runId": RUN}]})
    foreign.run_command(*line, RUN[:6])
    assert [RUN] in foreign.requests[-1].query.values()


def test_a_prefix_of_several_runs_is_refused_with_their_ids(foreign: ForeignHost) -> None:
    foreign.replies["GET /v1/runs"] = CannedResponse(200, {"runs": [{"runId": RUN}, {"runId": OTHER_RUN}]})
    done = foreign.run_command("runs", "cancel", RUN[:4])
    assert done.exit_code == 2
    assert f"2 runs start with {RUN[:4]}; enter more characters:\n  {RUN}\n  {OTHER_RUN}" in done.stderr
    assert not [asked for asked in foreign.requests if asked.method == "POST"]


def test_a_full_run_id_costs_no_look_up(foreign: ForeignHost) -> None:
    foreign.run_command("runs", "cancel", RUN)
    assert [(asked.method, asked.path) for asked in foreign.requests] == [("POST", f"/v1/runs/{RUN}/cancel")]


def test_a_run_that_is_not_there_is_not_asked_for_again(foreign: ForeignHost) -> None:
    done = foreign.run_command("events", "nope", "--follow")
    assert done.exit_code == 7
    assert done.stderr.startswith("Error: Nothing here (not_found); check the id, and that --url and --key belong to")
    assert [asked.path for asked in foreign.requests] == [
        *("/v1/runs/nope", "/v1/runs"),
        *("/v1/runs/nope/events", "/v1/runs/nope"),
    ]
