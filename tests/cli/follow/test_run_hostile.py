"""Whatever a host sends: no escape reaches the terminal, no markup is obeyed, and nothing of it breaks the view."""

import io
import json
import re
import shlex
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tests.cli.foreign_host import KEY, CannedResponse, ForeignHost
from weftwork.cli.client.event_stream import ReceivedFrame
from weftwork.cli.follow.run_views import LiveView
from weftwork.cli.render.event_line import event_line
from weftwork.cli.render.interrupt_text import curl_lines, describe_interrupt
from weftwork.cli.render.outline import outline
from weftwork.cli.render.run_display import RunDisplay
from weftwork.cli.render.run_progress import RunProgress

EVIL = "a\x1b[2J\x1b]0;title\x07\r\n\u202eb\u2028[red]c[/red]\x9b31m'; echo $(id)`id`\\"
"""NUL is missing: no document with one is read."""
STYLE = re.compile(r"\x1b\[[0-9;]*m")
KINDS = """run.started node.started node.completed node.failed node.retried node.skipped node.cancelled node.suspended
node.resumed node.dispatched interrupt.requested interrupt.resolved log.appended output.chunk variable.changed
channel.written artifact.created cap.breached run.paused run.resumed approval.requested clarification.requested
state.snapshot ai.message.chunk weftwork.map.item acme.unknown run.failed""".split()


def evil_events() -> list[dict[str, Any]]:
    """Every type, with such a text wherever a text may stand."""
    payload: dict[str, Any] = dict.fromkeys(
        "workflowId typeId reason kind key level message chunk name channel artifactId status childRunId".split(), EVIL
    )
    error = {"code": EVIL, "message": EVIL}
    payload |= {"error": error, "lastError": error, "data": {"title": EVIL, EVIL: EVIL}, "outputs": {EVIL: EVIL}}
    found = [
        {
            "eventId": EVIL,
            "runId": EVIL,
            "nodeId": f"{EVIL}{at % 3}",
            "type": kind,
            "timestamp": EVIL,
            "payload": payload,
        }
        for at, kind in enumerate((*KINDS[:-1], EVIL, KINDS[-1]))
    ]
    return [{**each, "sequence": at} for at, each in enumerate(found)]


def serve(foreign: ForeignHost, events: list[dict[str, Any]]) -> None:
    body = b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in events)
    run_id = "r"
    foreign.replies |= {
        "POST /v1/runs": CannedResponse(201, {"runId": run_id, "status": EVIL}),
        f"GET /v1/runs/{run_id}/events": CannedResponse(stream=lambda write: write(body)),
        f"GET /v1/runs/{run_id}/events/poll": CannedResponse(200, {"events": events, "isComplete": True}),
        f"GET /v1/runs/{run_id}": CannedResponse(200, {"runId": run_id, "status": "failed", "workflowId": EVIL}),
    }


def escapes(text: str) -> set[str]:
    """What a terminal or a log reader might obey; our own styles and line ends are none."""
    return {each for each in STYLE.sub("", text) if not each.isprintable() and each != "\n"}


def shown(foreign: ForeignHost) -> dict[str, str]:
    """All that the commands print of such a run."""
    serve(foreign, evil_events())
    found = {
        name: foreign.run_command(*args).output
        for name, args in {
            "lines": ("run", "w", "--follow"),
            "json": ("run", "w", "--follow", "--json"),
            "started": ("run", "w", "--json"),
            "events": ("events", "r"),
            "followed": ("events", "r", "--follow"),
            "events as json": ("events", "r", "--json"),
            "snapshot": ("events", "r", "--mode", "values"),
        }.items()
    }
    foreign.replies["POST /v1/runs"] = CannedResponse(
        400, {"error": EVIL, "message": EVIL, "details": {"pointer": EVIL}}
    )
    found["refused"] = foreign.run_command("run", "w").output
    foreign.replies["POST /v1/runs"] = CannedResponse(201, {"runId": EVIL})
    found["id"] = foreign.run_command("run", "w").output
    return found | {"tree": tree_of(evil_events())}


def tree_of(events: list[dict[str, Any]]) -> str:
    """The picture after each event, and the one that stays."""
    file = io.StringIO()
    console = Console(
        file=file, force_terminal=True, width=300, height=50, color_system="truecolor", legacy_windows=False
    )
    tree = RunProgress(EVIL)
    ids = [f"{EVIL}{at}" for at in range(5)]
    edges = [{"sourceNodeId": ids[0], "targetNodeId": each} for each in ids]
    tree.set_outline(outline({"nodes": [{"id": each, "typeId": EVIL} for each in ids], "edges": edges}))
    picture = RunDisplay(tree, "http://x", console)
    for each in events:
        tree.apply(ReceivedFrame(str(each.get("type")), each, ""))
        console.print(picture.live())
    console.print(picture.final(), soft_wrap=True)
    return file.getvalue()


def test_no_escape_of_a_host_is_printed(foreign: ForeignHost) -> None:
    found = shown(foreign)
    assert {name: escapes(text) for name, text in found.items()} == {name: set() for name in found}
    assert "\\u{1b}[2J" in found["lines"]
    assert "[red]c[/red]" in found["tree"]
    assert all(len(text) > 20 for text in found.values()), found


def test_each_event_stays_on_its_line(foreign: ForeignHost) -> None:
    events = evil_events()
    serve(foreign, events)
    lines = foreign.run_command("events", "r").stdout.splitlines()
    assert len(lines) == len(events)
    assert [line.split(" ")[1] for line in lines] == [str(at) for at in range(len(events))]


def test_without_the_guard_escapes_would_be_printed(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.cli.console.text.printable", lambda text, most=60: text)
    found = shown(foreign)
    assert all(escapes(found[name]) for name in ("lines", "events", "followed", "refused", "tree", "id"))


def test_a_live_view_shows_no_escape_either() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=120, color_system="truecolor", legacy_windows=False)
    view = LiveView(RunProgress("r"), "http://x", console)
    with view:
        for each in evil_events():
            view.show(ReceivedFrame("", each, ""))
        view.note("connected again")
    ours = re.sub(r"\x1b\[\??[0-9;]*[A-LN-Zhl]|\r", "", file.getvalue())
    assert escapes(ours) == set()
    assert "connected again" in ours


@pytest.mark.parametrize("kind", ["approval", "clarification", "external-event", "custom", EVIL, None])
def test_nothing_leaves_the_quotes_of_the_line_that_answers(kind: str | None) -> None:
    data = {"questions": [{"id": EVIL, "question": EVIL}], "actions": [EVIL], "correlation": {EVIL: EVIL}, EVIL: EVIL}
    question = {"kind": kind, "key": EVIL, "data": data}
    if kind == EVIL:
        data["payload"] = {"message": EVIL, "answers": {EVIL: EVIL}, EVIL: [EVIL] * 100}
        question["resumeSchema"] = {"type": "object", "required": [EVIL], "properties": {EVIL: {"const": EVIL}}}
    line = " ".join(curl_lines("http://127.0.0.1:8787", EVIL, EVIL, question))
    assert escapes(line) == escapes("".join(describe_interrupt(question))) == set()
    words = shlex.split(line)
    assert len(words) == 10
    assert re.fullmatch(r"Idempotency-Key: [0-9a-f]{64}", words[8])
    assert words[-1].startswith("http://127.0.0.1:8787/v1/runs/a%1B")
    assert json.loads(words[2]).keys() == {"resumeValue"}


def test_an_id_cannot_become_a_command_that_is_pasted(foreign: ForeignHost) -> None:
    foreign.replies["POST /v1/runs"] = CannedResponse(201, {"runId": "r; touch x"})
    hint = foreign.run_command("run", "w").stderr
    assert shlex.split(hint.split("`")[1]) == ["weftwork", "events", "r; touch x", "--follow"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    "nodeId attempt typeId error lastError kind key data message level chunk childRunId outputs reason resumeSchema "
    "fields interruptId".split()
)
DOCUMENTS = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS) | VALUES},
    optional={
        "payload": VALUES | st.dictionaries(NAMES, VALUES, max_size=5),
        "nodeId": VALUES | st.sampled_from("ab"),
        "timestamp": VALUES
        | st.sampled_from(["2026-01-01T00:00:00Z", "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00"]),
        "sequence": VALUES,
        "runId": VALUES,
    },
)


@settings(max_examples=150, deadline=None)
@given(st.lists(DOCUMENTS | VALUES, max_size=6))
def test_any_document_can_be_shown(documents: list[Any]) -> None:
    tree = RunProgress("r")
    console = Console(file=io.StringIO(), force_terminal=True, width=80, height=10)
    picture = RunDisplay(tree, "http://x", console)
    for each in documents:
        frame = ReceivedFrame("message", each, "")
        tree.apply(frame)
        line = event_line(frame)
        assert line.isprintable()
        assert len(line) < 4000
        console.print(picture.live())
    console.print(picture.final(), soft_wrap=True)


def test_the_key_is_shown_nowhere(foreign: ForeignHost) -> None:
    serve(foreign, [{**each, "payload": {"message": "x"}} for each in evil_events()])
    run: Callable[..., Any] = foreign.run_command
    for args in (("run", "w", "--follow"), ("events", "r"), ("run", "w", "--follow", "--json")):
        assert KEY not in run(*args).output
