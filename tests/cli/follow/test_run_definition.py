"""Where `weftwork run --follow` takes the shape of a run from, and that it does without where there is none."""

import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rich.console import Console

from tests.cli.foreign_host import HANG_UP, CannedResponse, ForeignHost, ReceivedRequest, open_foreign_host
from tests.live.host import TIMEOUT_SECONDS
from weftwork.cli.client.http_client import Client
from weftwork.cli.follow import follow_run as following
from weftwork.cli.follow.run_views import LiveView
from weftwork.cli.render.run_progress import RunProgress

DEFINITION = {
    "id": "w",
    "nodes": [{"id": "b", "typeId": "t.b"}, {"id": "a", "typeId": "t.a"}, {"id": "c"}],
    "edges": [{"sourceNodeId": "a", "targetNodeId": "b"}, {"sourceNodeId": "a", "targetNodeId": "c"}],
}
TREE = ["  ✓ a  t.a", "  ├─ · b  t.b", "  └─ · c"]
LIST = ["  ✓ a"]
PATH = "/v1/workflows/w"


@pytest.fixture
def foreign() -> Iterator[ForeignHost]:
    """A host on which a run of one node fails to go on."""
    events = [
        {"type": "run.started", "sequence": 0, "payload": {"workflowId": "w"}},
        {"type": "node.started", "sequence": 1, "nodeId": "a", "payload": {}},
        {"type": "node.completed", "sequence": 2, "nodeId": "a", "payload": {}},
        {"type": "run.failed", "sequence": 3, "payload": {}},
    ]
    body = b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in events)
    with open_foreign_host() as host:
        host.replies |= {
            "POST /v1/runs": CannedResponse(201, {"runId": "r", "status": "running"}),
            "GET /v1/runs/r/events": CannedResponse(stream=lambda write: write(body)),
            "GET /v1/runs/r": CannedResponse(200, {"runId": "r", "status": "failed"}),
        }
        yield host


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a command shows as if at a terminal that keeps only the last picture."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=False, width=80, height=24, color_system=None)

    def pick(tree: RunProgress, url: str, as_json: bool) -> LiveView:
        return LiveView(tree, url, console)

    monkeypatch.setattr(following, "pick_view", pick)
    return file


def followed(foreign: ForeignHost, screen: io.StringIO, workflow: str = "w") -> list[str]:
    """The nodes of the picture that stays."""
    done: Result = foreign.run_command("run", workflow, "--follow")
    assert (done.exit_code, done.output) == (1, "")
    lines = screen.getvalue().rstrip("\n").split("\n")
    return [line.rstrip() for line in lines[lines.index("w  r  failed") + 1 :]]


def asked_for(foreign: ForeignHost) -> list[str]:
    return [
        asked.path for asked in foreign.requests if asked.method == "GET" and asked.path.startswith("/v1/workflows")
    ]


def test_the_host_is_asked_for_the_definition(foreign: ForeignHost, screen: io.StringIO) -> None:
    foreign.replies[f"GET {PATH}"] = CannedResponse(200, DEFINITION)
    assert followed(foreign, screen) == TREE
    assert asked_for(foreign) == [PATH]


def test_the_definition_of_a_file_is_at_hand(foreign: ForeignHost, screen: io.StringIO, tmp_path: Path) -> None:
    foreign.replies["POST /v1/workflows"] = CannedResponse(201, {"workflowId": "w"})
    (tmp_path / "mine.json").write_text(json.dumps(DEFINITION))
    assert followed(foreign, screen, str(tmp_path / "mine.json")) == TREE
    assert asked_for(foreign) == []


@pytest.mark.parametrize(
    "answer",
    [
        *(CannedResponse(status, {"error": "no", "message": "no"}) for status in (400, 401, 403, 404, 406, 500, 501)),
        *(CannedResponse(status, {}, {"Retry-After": "5"}) for status in (429, 503)),
        *(CannedResponse(200, document) for document in (None, [], 5, {}, {"nodes": 5}, {"nodes": [5], "edges": {}})),
        CannedResponse(302, None, {"Location": "http://127.0.0.1:1/"}),
        CannedResponse(200, raw=b"<html>"),
        CannedResponse(200, raw=b""),
        HANG_UP,
    ],
)
def test_without_a_definition_the_nodes_stand_as_they_began(
    foreign: ForeignHost, screen: io.StringIO, answer: CannedResponse
) -> None:
    foreign.replies[f"GET {PATH}"] = answer
    assert followed(foreign, screen) == LIST
    assert asked_for(foreign) == [PATH]


def test_a_refusal_would_be_seen(foreign: ForeignHost, screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "try_get", lambda self, path, _seconds=0: self.get(path))
    assert foreign.run_command("run", "w", "--follow").exit_code == 7


def test_a_host_that_keeps_silent_is_not_waited_for(
    foreign: ForeignHost, screen: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    def wait(_asked: ReceivedRequest) -> CannedResponse:
        assert over.wait(TIMEOUT_SECONDS)
        return HANG_UP

    foreign.replies[f"GET {PATH}"] = wait
    monkeypatch.setattr(following, "DEFINITION_TIMEOUT", 0.05)
    try:
        assert followed(foreign, screen) == LIST
    finally:
        over.set()


@pytest.mark.parametrize("args", [(), ("--json",)])
def test_lines_need_no_definition(foreign: ForeignHost, args: tuple[str, ...]) -> None:
    assert foreign.run_command("run", "w", "--follow", *args).exit_code == 1
    assert asked_for(foreign) == []


def test_an_id_is_one_segment_of_the_path(foreign: ForeignHost, screen: io.StringIO) -> None:
    seen: list[Any] = []
    foreign.replies["GET /v1/workflows/a%2F..%2Fb"] = lambda asked: (
        seen.append(asked.path) or CannedResponse(200, DEFINITION)
    )
    assert followed(foreign, screen, "a/../b") == TREE
    assert len(seen) == 1
