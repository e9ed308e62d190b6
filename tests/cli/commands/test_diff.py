"""`weftwork diff`, with a host of ours and with one that is not."""

import hashlib
import json
import struct
import zlib
from typing import Any

import pytest
from click.testing import Result

from tests.cli.foreign_host import CannedResponse, ForeignHost, run_command, run_on
from tests.cli.terminal import run_at_terminal
from tests.harness.definitions import edge, node, variable
from tests.live import KEY, Host, weftwork
from tests.live.assets import upload_asset
from tests.live.fixtures import host_fixture
from tests.live.steering import cancel, flow
from weftwork.cli.commands.review import diff as module
from weftwork.protocol.json import schema

WORDS, MEDIA, WAITS = "diff-words", "conformance-media-emit", "conformance-cancellable"


def words() -> dict[str, Any]:
    """Fails for the word `bad`."""
    is_bad = {"type": "expression", "expression": "variables.word == 'bad'"}
    nodes = [
        node("say", "core.identity", inputs={"x": {"type": "variable", "variableName": "word"}}),
        node("end"),
        node("fail", "core.fail", config={"code": "bad_word", "message": "No."}),
    ]
    edges = [edge("say", "end"), edge("end", "fail", condition=is_bad)]
    return flow(WORDS, nodes, edges, variables=[variable("word")])


host = host_fixture("--conformance", "--test-seams", workflows=[words()], store="memory")


def diff(host: Host, *args: str, code: int = 0) -> Result:
    return run_on(host, "diff", *args, code=code)


def run_foreign(foreign: ForeignHost, *args: str, code: int) -> Result:
    done = run_command(foreign.url, *args)
    assert done.exit_code == code, done.output
    return done


def ended(host: Host, workflow_id: str = WORDS, **inputs: Any) -> str:
    run_id = host.create(workflow_id, inputs=inputs)
    host.log(run_id)
    return run_id


def test_equal_runs_exit_with_0(host: Host) -> None:
    a, b = ended(host, word="x"), ended(host, word="x")
    lines = diff(host, a, b).stdout.splitlines()
    assert [line.split()[:4] for line in lines[:2]] == [["a", a, WORDS, "completed"], ["b", b, WORDS, "completed"]]
    assert [line for line in lines[2:] if line] == ["the outcomes are the same.", "no event differs."]
    document = json.loads(diff(host, a, b, "--json").stdout)
    outcome = document.pop("outcome")
    assert schema.check("run-diff-response", document) == []
    assert schema.check("run-outcome-diff", outcome) == []
    assert (document["divergedAtSeq"], outcome["same"]) == (None, True)


def test_differences_are_shown_side_by_side_and_exit_with_1(host: Host) -> None:
    a, b = ended(host, word="fine"), ended(host, word="bad")
    shown = diff(host, a, b, code=1).stdout
    columns = [" ".join(line.split()) for line in shown.splitlines()]
    assert '/variables/word "fine" | /variables/word "bad"' in columns
    assert '/status "completed" | /status "failed"' in columns
    assert '> /error {"code": "bad_word", "message": "No."}' in columns
    assert "the events differ from sequence 0:" in columns
    assert "0 run.started | 0 run.started" in columns
    assert '/inputs/word "fine" | /inputs/word "bad"' in columns
    assert any(line.startswith("> ") and "node.failed fail code=bad_word" in line for line in columns)
    assert a not in "".join(columns[2:])
    document = json.loads(diff(host, a, b, "--json", code=1).stdout)
    assert document["divergedAtSeq"] == 0
    assert "/variables/word" in [each["pointer"] for each in document["outcome"]["differences"]]


def test_outcomes_are_compared_alone_on_request(host: Host) -> None:
    a, b, c = ended(host, word="x"), ended(host, word="x"), ended(host, word="y")
    same = diff(host, a, b, "--outcome").stdout
    assert "the outcomes are the same." in same
    assert "event" not in same
    assert "the outcomes differ in 2 values:" in diff(host, a, c, "--outcome", code=1).stdout
    assert json.loads(diff(host, a, c, "--outcome", "--json", code=1).stdout).keys() == {"a", "b", "outcome"}


def test_a_run_that_has_not_ended_is_not_called_equal(host: Host) -> None:
    live = host.create(WAITS)
    for options in ((), ("--outcome",), ("--json",)):
        assert "a run has not ended" in diff(host, live, live, *options, code=2).stderr
    cancel(host, live)


def test_runs_are_found_by_the_beginning_of_their_ids(host: Host) -> None:
    a = ended(host, word="x")
    assert a in diff(host, a[:22], a).stdout
    assert "There is no such run" in diff(host, a, "01aaaaaaaaaaaaaaaaaaaaaaaa", code=7).stderr


def test_the_context_and_the_number_of_differences_are_limited(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = ended(host, word="fine"), ended(host, word="bad")
    assert "equal event" not in diff(host, a, b, code=1).stdout
    bare = diff(host, a, b, "--context", "0", code=1).stdout
    assert "… 1 equal event" in bare
    assert "node.started say" not in bare
    monkeypatch.setattr(module, "MAX_DIFFERENCES", 1)
    shown = diff(host, a, b, code=1).stdout
    assert "more differences; --all shows them" in shown
    assert "node.failed" not in shown
    assert "node.failed" in diff(host, a, b, "--all", code=1).stdout


def test_media_are_named_by_type_size_and_digest(host: Host) -> None:
    a, b = ended(host, MEDIA), ended(host, MEDIA)
    assert "no event differs." in diff(host, a, b).stdout
    assert "/assets/v1." not in diff(host, a, ended(host, word="x"), "--all", code=1).stdout
    pictures = [png(4, 3), png(5, 3)]
    urls = [upload_asset(host, each)["url"] for each in pictures]
    digests = [hashlib.sha256(each).hexdigest()[:12] for each in pictures]
    shown = diff(host, *(ended(host, word=url) for url in urls), code=1).stdout
    for size, digest in zip(("4x3", "5x3"), digests, strict=True):
        assert f"<image/png {size} sha256:{digest}>" in shown


def png(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x80" * width) * height)
    chunks = [(b"IHDR", head), (b"IDAT", rows), (b"IEND", b"")]
    packed = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


def test_lines_fit_the_terminal_and_have_colours_only_there(host: Host) -> None:
    a, b = ended(host, word="fine " * 100), ended(host, word="fine " * 60 + "bad " * 60)
    options = ("diff", a, b, "--url", host.address, "--key", KEY)
    for columns, has_columns in (("50", False), ("90", True)):
        env = {"TERM": "xterm", "COLUMNS": columns}
        code, text = run_at_terminal(host.data.parent, b"", *options, env=env)
        assert code == 1, text
        assert "\x1b[" in text
        # Without the head, whose run ids are complete.
        lines = [_without_colours(line) for line in text.replace("\r", "").splitlines()[2:]]
        assert all(len(line) <= int(columns) for line in lines), lines
        assert any(" | " in line for line in lines) is has_columns
        assert any("bad " in line for line in lines), "long texts are shown around their first difference"
    assert "\x1b[" not in weftwork(host.data.parent, *options).stdout


def _without_colours(line: str) -> str:
    while "\x1b[" in line:
        head, _, rest = line.partition("\x1b[")
        line = head + rest.partition("m")[2]
    return line


def test_a_host_without_comparisons_is_named(foreign: ForeignHost) -> None:
    for run_id in "ab":
        foreign.replies[f"GET /v1/runs/{run_id}"] = CannedResponse(200, {"runId": run_id, "status": "completed"})
    assert "does not compare runs" in run_foreign(foreign, "diff", "a", "b", code=2).stderr
    assert "does not compare outcomes" in run_foreign(foreign, "diff", "a", "b", "--outcome", code=2).stderr


def test_the_comparison_of_another_host_is_shown(foreign: ForeignHost) -> None:
    evil = "\x1b[2J[bold]"
    diffs = [
        {
            "seq": 4,
            "op": "changed",
            "aEvent": {"type": evil, "sequence": 4},
            "bEvent": {"type": "x", "payload": {"n": 1}},
        },
        {"seq": "5", "op": "added", "bEvent": 7},
        None,
    ]
    document = {
        "a": "a",
        "b": "b",
        "divergedAtSeq": 4,
        "eventDiffs": diffs,
        "stateDiff": {"/x": {"a": 1, "b": 2}, "y": evil},
    }
    foreign.replies["GET /v1/runs/a:diff"] = CannedResponse(200, document)
    for run_id in "ab":
        foreign.replies[f"GET /v1/runs/{run_id}"] = CannedResponse(200, {"runId": run_id, "status": evil})
    shown = run_foreign(foreign, "diff", "a", "b", code=1).stdout
    assert "\x1b[2J" not in shown
    assert "… 4 equal events" in shown
    assert "the outcomes differ in 2 values:" in shown
