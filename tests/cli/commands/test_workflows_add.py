"""`weftwork workflows add`: definitions handed in to a host of ours, and to others."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.foreign_host import CannedResponse, ForeignHost, ReceivedRequest, run_command
from tests.live import KEY, Host, delays, start_host, weftwork


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    limited = ("--api-key", "reader=acme:manifest:read")
    with start_host(tmp_path_factory.mktemp("add"), *limited, "--no-conversation", store="memory") as running:
        yield running


def write(folder: Path, name: str, document: Any) -> str:
    (folder / name).write_text(json.dumps(document, indent=2), "utf-8")
    return str(folder / name)


def add(host: Host, *args: str, code: int = 0, key: str = KEY) -> Result:
    done = run_command(host.address, "workflows", "add", *args, key=key)
    assert done.exit_code == code, done.output
    return done


def bad(workflow_id: str) -> dict[str, Any]:
    document = delays(workflow_id, 1, 2)
    document["nodes"][1]["typeId"] = "core.nothing"
    document["edges"].append({"id": "loose", "sourceNodeId": "n0", "targetNodeId": "n7"})
    return document


def test_the_version_that_was_made_is_said(host: Host, tmp_path: Path) -> None:
    file = write(tmp_path, "first.json", {**delays("first", 1), "version": "2.5"})
    said = add(host, file).stdout
    assert said.startswith(f"{file}: workflow first, version 2.5, registered 20")
    assert add(host, file).stdout == said
    answer = json.loads(add(host, file, "--json").stdout)
    assert (answer["added"][0]["workflowId"], answer["added"][0]["version"]) == ("first", "2.5")
    assert answer["problems"] == []
    assert host.call("GET", "/v1/workflows/first").document["version"] == "2.5"


def test_every_problem_is_printed_as_validate_prints_it(host: Host, tmp_path: Path) -> None:
    good = write(tmp_path, "good.json", delays("good", 1))
    wrong = write(tmp_path, "bad.json", bad("bad"))
    shapeless = write(tmp_path, "shapeless.json", {**delays("shapeless", 1), "colour": "red", "name": 5})
    (tmp_path / "broken.json").write_bytes(b'{\n  "id": "x",\n  "id": "y"\n}\n')
    broken, gone = str(tmp_path / "broken.json"), str(tmp_path / "gone.json")
    files = (wrong, shapeless, broken, gone)
    checked = weftwork(tmp_path, "workflows", "validate", *files).stdout.splitlines()
    assert len(checked) >= 6
    done = add(host, *files, good, code=1)
    *problems, last = done.stdout.splitlines()
    assert problems == checked
    assert last.startswith(f"{good}: workflow good, ")
    found = json.loads(add(host, *files, "--json", code=1).stdout)
    listed = json.loads(weftwork(tmp_path, "workflows", "validate", *files, "--json").stdout)
    assert (found["added"], found["problems"]) == ([], listed)


def test_a_version_with_other_content_and_a_type_for_others_are_placed_too(host: Host, tmp_path: Path) -> None:
    add(host, write(tmp_path, "same.json", delays("same", 1)))
    other = write(tmp_path, "other.json", delays("same", 2))
    line = (tmp_path / "other.json").read_text("utf-8")[: (tmp_path / "other.json").read_text().index('"version"')]
    said = add(host, other, code=1).stdout
    assert said.startswith(f"{other}:{line.count(chr(10)) + 1}:")
    assert "/version: This version of the workflow is registered with other content" in said
    document = delays("gated", 1)
    document["nodes"][0]["typeId"] = "core.conversationGate"
    assert "/nodes/0/typeId: This host does not offer" in add(host, write(tmp_path, "g.json", document), code=1).stdout
    foreign_tenant = write(tmp_path, "t.json", {**delays("theirs", 1), "tenantId": "other"})
    assert "/tenantId: " in add(host, foreign_tenant, code=1).stdout


def test_a_key_that_may_not_is_told_once(host: Host, tmp_path: Path) -> None:
    file = write(tmp_path, "w.json", delays("w", 1))
    done = add(host, file, file, key="reader", code=7)
    assert (done.stdout, done.stderr.count("Error")) == ("", 1)


def test_standard_input_and_odd_names(host: Host, tmp_path: Path) -> None:
    odd = write(tmp_path, "ü\x1b[2J.json", bad("odd"))
    assert "\x1b" not in add(host, odd, code=1).stdout
    assert add(host, "/dev/zero", code=1).stdout.startswith("/dev/zero:1:1 /: is larger than")


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_host_that_takes_none_is_said_to_be_one(foreign: ForeignHost, tmp_path: Path, status: int) -> None:
    foreign.replies["POST /v1/workflows"] = CannedResponse(status, {"error": "x", "message": "y"})
    done = foreign.run_command("workflows", "add", write(tmp_path, "w.json", delays("w", 1)))
    assert (done.exit_code, done.stdout) == (1, "")
    assert "this host takes no definitions" in done.stderr


@pytest.mark.parametrize(
    ("details", "told"),
    [
        (None, ["1:1 /: refused"]),
        ({"violations": []}, ["1:1 /: refused"]),
        ({"violations": [{"pointer": "/name", "message": "\x1b[2J"}, 5, {"pointer": 7}]}, ["3:11 /name: \\u{1b}[2J"]),
        ({"pointer": "/nodes/0/\x1b"}, ["6:5 /nodes/0/\\u{1b}: refused"]),
        ({"violations": [{"pointer": "/id"}, {"pointer": "odd"}]}, ["1:1 odd: is refused", "2:9 /id: is refused"]),
    ],
)
def test_refusals_of_others_are_placed_as_far_as_they_say(
    foreign: ForeignHost, tmp_path: Path, details: Any, told: list[str]
) -> None:
    document = {"error": "validation_error", "message": "refused", "details": details}
    foreign.replies["POST /v1/workflows"] = CannedResponse(400, document)
    file = write(tmp_path, "w.json", delays("w", 1))
    done = foreign.run_command("workflows", "add", file)
    assert (done.exit_code, done.stdout.splitlines()) == (1, [f"{file}:{line}" for line in told])


def test_what_others_answer_is_shown_safely_and_what_is_sent_is_the_document(
    foreign: ForeignHost, tmp_path: Path
) -> None:
    def reply(asked: ReceivedRequest) -> CannedResponse:
        return CannedResponse(201, {"workflowId": "\x1b[2J", "version": 7})

    foreign.replies["POST /v1/workflows"] = reply
    file = write(tmp_path, "w.json", delays("w", 1))
    assert (
        foreign.run_command("workflows", "add", file).stdout
        == f"{file}: workflow \\u{{1b}}[2J, version 7, registered\n"
    )
    assert foreign.requests[0].body == delays("w", 1)
    assert foreign.requests[0].headers["idempotency-key"]
