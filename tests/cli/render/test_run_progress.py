"""How a run stands, put together from events alone."""

import io
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.harness.cases import each_case
from weftwork.cli.client.event_stream import ReceivedFrame
from weftwork.cli.client.run_tree import TreeRun, find_waiting_runs, format_status_counts, read_tree
from weftwork.cli.follow.run_views import LineView
from weftwork.cli.render import run_tree_lines as drawing
from weftwork.cli.render.event_line import event_line
from weftwork.cli.render.interrupt_text import curl_lines, describe_interrupt
from weftwork.cli.render.run_display import RunDisplay
from weftwork.cli.render.run_progress import MAX_LOG_LINES, RunProgress
from weftwork.cli.render.run_tree_lines import MAX_SIBLINGS, rich_line, run_tree_lines
from weftwork.protocol.run.header import STATUSES


def tree_after(*events: tuple[Any, ...]) -> RunProgress:
    """Each event is a type, a node or None, and members of its payload; a second goes by between two."""
    tree = RunProgress("r")
    for at, (kind, node_id, *rest) in enumerate(events):
        payload = dict(rest[0]) if rest else {}
        document = {"type": kind, "sequence": at, "timestamp": f"2026-01-01T00:00:{at:02}Z", "payload": payload}
        tree.apply(ReceivedFrame("message", document | ({"nodeId": node_id} if node_id else {}), ""))
    return tree


def drawn(tree: RunProgress, height: int | None = None, encoding: str = "utf-8") -> list[str]:
    """All of it, or as much as a screen of this height takes."""
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=100, height=height or 25, color_system=None)
    picture = RunDisplay(tree, "http://x", console)
    console.print(picture.live() if height else picture.final(), soft_wrap=not height)
    file.seek(0)
    return [line.rstrip() for line in file.read().splitlines()]


START = ("run.started", None, {"workflowId": "w"})


def test_a_text_that_is_being_written_stays_on_its_line() -> None:
    begun = ("node.started", "a", {"typeId": "core.ai.callPrompt"})
    tree = tree_after(
        START, begun, ("output.chunk", "a", {"chunk": "One\n\nTwo"}), ("output.chunk", "a", {"chunk": "\n\tThree"})
    )
    assert [line for line in drawn(tree) if "One Two Three" in line]


def test_a_piece_that_comes_in_two_forms_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    view = LineView(RunProgress("r"))
    for at, kind in ((0, "run.started"), (1, "output.chunk"), (1, "ai.message.chunk"), (2, "output.chunk")):
        view.show(ReceivedFrame("message", {"type": kind, "sequence": at, "payload": {"chunk": "Hi"}}, ""))
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines()] == ["run.started", *["output.chunk"] * 2]
    alone = LineView(RunProgress("r"))
    alone.show(ReceivedFrame("ai.message.chunk", {"chunk": "Hi"}, ""))
    alone.show(
        ReceivedFrame("ai.message.chunk", {"type": "ai.message.chunk", "sequence": 3, "payload": {"chunk": "Ho"}}, "")
    )
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_nodes_stand_in_the_order_in_which_they_began() -> None:
    tree = tree_after(
        START,
        ("node.started", "b", {"typeId": "core.delay", "attempt": 1}),
        ("node.started", "a", {"typeId": "core.noop"}),
        ("node.completed", "a"),
        ("node.skipped", "c", {"reason": "x"}),
        ("node.completed", "b"),
        ("run.completed", None, {"outputs": {"b": 1}}),
    )
    assert drawn(tree) == [
        "w  r  completed  6.0 s",
        "  ✓ b  core.delay  4.0 s",
        "  ✓ a  core.noop  1.0 s",
        "  - c  skipped",
        "",
        "{",
        '  "b": 1',
        "}",
    ]


def test_attempts_rounds_and_items_are_counted() -> None:
    tree = tree_after(
        START,
        ("node.started", "n", {"attempt": 1}),
        ("node.failed", "n", {"error": {"code": "c", "message": "m"}}),
        ("node.retried", "n", {"attempt": 2, "delayMs": 5, "lastError": {"code": "c", "message": "m"}}),
        ("node.started", "n", {"attempt": 2}),
        ("node.completed", "n"),
        ("node.started", "n", {"attempt": 1}),
        ("weftwork.map.item", "n", {"index": 0}),
        ("weftwork.map.item", "n", {"index": 1, "error": {"code": "c", "message": "m"}}),
    )
    row = tree.nodes["n"]
    assert (row.state, row.attempt, row.round, row.items, row.failed_items) == ("running", 1, 2, 2, 1)
    assert drawn(tree)[1].startswith("  ● n  round 2, 2 items, 1 failed, 2.")


def test_a_retry_shows_why() -> None:
    tree = tree_after(
        START,
        ("node.started", "n", {"attempt": 1}),
        ("node.retried", "n", {"attempt": 2, "lastError": {"code": "c", "message": "m"}}),
    )
    first, second = drawn(tree)[1:]
    assert first.startswith("  ↻ n  retrying, attempt 2, 1.")
    assert second == "      c: m"


def test_a_retry_that_is_put_off_shows_until_when() -> None:
    events = [START, ("node.started", "n", {"attempt": 1}), ("node.retried", "n", {"attempt": 2, "delayMs": 90_000})]
    assert re.fullmatch(r"  ↻ n  attempt 2 in 1 min (30|29|2\d) s", drawn(tree_after(*events))[1])
    passed = [("log.appended", None, {"level": "info", "message": "x"})] * 40
    events[-1] = ("node.retried", "n", {"attempt": 2, "delayMs": 5000})
    assert drawn(tree_after(*events, *passed))[1].startswith("  ↻ n  retrying, attempt 2, 4")


def test_what_a_loop_did_is_not_forgotten_when_it_ends() -> None:
    rounds = [("node.started", "n", {"attempt": 1}), ("node.completed", "n")] * 3
    tree = tree_after(START, *rounds, ("node.skipped", "n"))
    assert drawn(tree)[1] == "  ✓ n  3 rounds, 1.0 s"


def test_a_pause_is_no_round() -> None:
    tree = tree_after(
        START,
        ("node.started", "n", {"attempt": 1}),
        ("run.paused", None),
        ("run.resumed", None),
        ("node.started", "n", {"attempt": 2}),
    )
    assert (tree.nodes["n"].round, tree.nodes["n"].attempt, tree.status) == (1, 2, "running")


@each_case(
    "requested, resolved, words",
    (
        ("interrupt.requested", {"kind": "approval", "data": {"title": "Pay?", "actions": ["accept"]}}),
        "interrupt.resolved",
        "approval: Pay?",
    ),
    (("approval.requested", {"title": "Pay?", "actions": ["accept"]}), "approval.received", "approval: Pay?"),
    (
        ("clarification.requested", {"questions": [{"id": "q", "question": "Who?"}]}),
        "clarification.resolved",
        "clarification: Who?",
    ),
    (("node.suspended", {"kind": "custom", "key": "k"}), "node.resumed", "an answer (custom)"),
)
def test_a_question_is_open_until_it_is_answered(requested: Any, resolved: str, words: str) -> None:
    kind, payload = requested
    events = [START, ("node.started", "n"), (kind, "n", payload)]
    tree = tree_after(*events)
    assert tree.is_blocked
    assert [describe_interrupt(row.interrupt or {})[0] for row in tree.waiting_nodes] == [words]
    assert drawn(tree)[0].startswith("w  r  waiting")
    assert drawn(tree)[2] == f"      requests {words}"
    tree = tree_after(*events, (resolved, "n"))
    assert (tree.waiting_nodes, tree.nodes["n"].state, tree.is_blocked) == ([], "running", False)


def test_a_run_that_still_does_something_does_not_stand_still() -> None:
    tree = tree_after(START, ("node.started", "a"), ("node.started", "b"), ("node.suspended", "a", {"kind": "custom"}))
    assert not tree.is_blocked


@each_case(
    "question, answer",
    ({"kind": "approval", "data": {"actions": ["reject", "accept"]}}, '{"resumeValue": {"action": "reject"}}'),
    ({"kind": "approval"}, '{"resumeValue": {"action": "accept"}}'),
    (
        {"kind": "clarification", "data": {"questions": [{"id": "q1"}]}},
        '{"resumeValue": {"answers": {"q1": "..."}}}',
    ),
    ({"kind": "external-event", "data": {"correlation": {"order": 1}}}, '{"resumeValue": {"order": 1}}'),
    ({"kind": "custom", "data": 5}, '{"resumeValue": "..."}'),
)
def test_the_line_that_answers_has_the_shape_that_is_wanted(question: dict[str, Any], answer: str) -> None:
    first, *_, last = curl_lines("http://x", "r", "a/b", question)
    assert (first, last) == (f"curl -d '{answer}'", "http://x/v1/runs/r/interrupts/a%2Fb")


def test_unknown_events_change_nothing() -> None:
    tree = tree_after(START, ("node.exploded", "n"), ("acme.thing", "n"), ("run.teleported", None))
    assert (tree.nodes, tree.status) == ({}, "running")


def test_nodes_that_have_ended_make_room() -> None:
    done = [event for at in range(40) for event in (("node.started", f"n{at}"), ("node.completed", f"n{at}"))]
    tree = tree_after(START, *done[:58], ("node.started", "last"))
    lines = drawn(tree, height=10)
    assert len(lines) <= 10
    assert lines[1] == "  … 23 more completed"
    assert lines[-1].startswith("  ● last")
    assert len(drawn(tree)) == 31


def test_log_lines_are_kept_up_to_a_bound() -> None:
    tree = RunProgress("r")
    for at in range(MAX_LOG_LINES + 5):
        tree.apply(
            ReceivedFrame("log.appended", {"payload": {"level": "info", "message": f"line {at}"}, "nodeId": "n"}, "")
        )
    lines = drawn(tree)
    assert lines[1:4] == ["", "  5 earlier lines", "  info n: line 5"]
    assert lines[-1] == f"  info n: line {MAX_LOG_LINES + 4}"
    assert drawn(tree, height=24)[2] == f"  {MAX_LOG_LINES - 3} earlier lines"


def test_a_terminal_without_signs_gets_letters() -> None:
    tree = tree_after(START, ("node.started", "n"), ("node.failed", "n", {"error": {"code": "c", "message": "m"}}))
    assert drawn(tree, encoding="ascii")[1:] == ["  x n  failed, 1.0 s", "      c: m"]


NEXT_WORKER = {"kind": "next-worker", "nextWorkerIds": ["a"], "confidence": 0.9}
DECIDED = 'iteration=2 kind=next-worker nextWorkerIds=["a"] confidence=0.9 agentId=host:s'


@each_case(
    "kind, node_id, payload, told",
    ("node.failed", "n", {"error": {"code": "c", "message": 'a "b"\nc'}}, 'code=c message="a \\"b\\"\\nc"'),
    ("log.appended", "n", {"level": "info", "message": "", "nodeId": "n"}, 'level=info message=""'),
    ("acme.thing", None, {"a": [1]}, 'payload={"a": [1]}'),
    ("weftwork.model.answered", "n", {"requestKeys": {"v1": "ab"}, "text": "Hi"}, 'payload={"text": "Hi"}'),
    ("output.chunk", None, {"chunk": "Hi", "isLast": True}, "chunk=Hi isLast=true"),
    ("node.started", "a b", None, ""),
    (
        "interrupt.resolved",
        "n",
        {"kind": "approval", "outcome": "rejected", "reason": "timeout"},
        "kind=approval outcome=rejected reason=timeout",
    ),
    (
        "approval.granted",
        None,
        {"gateId": "n", "principal": "ada", "quorumProgress": {"granted": 1, "required": 2}},
        'principal=ada quorumProgress={"granted": 1, "required": 2}',
    ),
    (
        "weftwork.approval.remark",
        None,
        {"principal": "ada", "action": "ask", "text": "Who?"},
        'principal=ada action=ask text="Who?"',
    ),
    ("weftwork.interrupt.reminder", None, {"number": 2}, "number=2"),
    ("runOrchestrator.decided", "s", {"agentId": "host:s", "decision": NEXT_WORKER, "iteration": 2}, DECIDED),
    ("runOrchestrator.decided", None, {"decision": 5}, ""),
    (
        "core.workflowChain.event",
        "d",
        {"phase": "child.failed", "workerId": "a", "childRunId": "c", "error": {"code": "x"}},
        "phase=child.failed workerId=a childRunId=c code=x",
    ),
)
def test_an_event_is_one_line(kind: str, node_id: str | None, payload: Any, told: str) -> None:
    document = {"type": kind, "payload": payload, **({"nodeId": node_id} if node_id else {})}
    line = f"{kind} {(node_id or '-').replace(' ', '_')} {told}".rstrip()
    assert event_line(ReceivedFrame("message", document, "")) == f"- - {line}"
    placed = {**document, "sequence": 4, "timestamp": "T"}
    assert event_line(ReceivedFrame("message", placed, "")) == f"T 4 {line}"
    assert event_line(ReceivedFrame("message", [1], "")) == "- - message -"


EVIL = "\x1b[2J\r\n[bold]evil\u202e"
BEGAN, ENDED = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01.200Z"


def row(run_id: str, parent: str = "", status: str = "completed", workflow: str = "pay", **more: Any) -> dict[str, Any]:
    times = {"startedAt": BEGAN, "completedAt": ENDED} if status in ("completed", "failed", "cancelled") else {}
    above = {"parentRunId": parent, "parentNodeId": "n"} if parent else {}
    return {"runId": run_id, "workflowId": workflow, "status": status, **times, **above, **more}


def top_of(*rows: dict[str, Any]) -> TreeRun:
    found = read_tree({"runId": rows[0]["runId"], "runs": list(rows), "truncated": False})
    assert found is not None
    return found


def texts(top: TreeRun, is_ascii: bool = False, most: int | None = None, only_open: bool = False) -> list[str]:
    return [line.text for line in run_tree_lines(top, is_ascii, most, only_open)]


def many(count: int, status: str = "completed") -> list[dict[str, Any]]:
    return [row(f"c{at}", "top", status) for at in range(count)]


def test_each_run_is_a_line_below_its_parent() -> None:
    top = top_of(
        row("top", status="waiting-approval", workflow="order", currentNodeId="fan"),
        row("a", "top"),
        row("b", "top", "waiting-approval", "stock", currentNodeId="gate"),
        row("c", "top", "failed", error={"code": "no_stock", "message": "m"}),
        row("d", "b", "running", "shelf"),
        row("e", "b"),
    )
    assert texts(top) == [
        "order  waiting-approval  top  at fan",
        "├─ pay  completed  a  1.2 s",
        "├─ stock  waiting-approval  b  at gate",
        "│  ├─ shelf  running  d",
        "│  └─ pay  completed  e  1.2 s",
        "└─ pay  failed  c  1.2 s  no_stock",
    ]
    assert texts(top, is_ascii=True)[1:4] == [
        "|- pay  completed  a  1.2 s",
        "|- stock  waiting-approval  b  at gate",
        "|  |- shelf  running  d",
    ]
    assert [run.run_id for run in find_waiting_runs(top)] == ["b"]


@each_case(
    "count, lines",
    (MAX_SIBLINGS, MAX_SIBLINGS),
    (MAX_SIBLINGS + 1, MAX_SIBLINGS + 1),
    (MAX_SIBLINGS + 2, MAX_SIBLINGS + 1),
    (1000, MAX_SIBLINGS + 1),
)
def test_siblings_that_stand_alike_are_folded(count: int, lines: int) -> None:
    drawn = texts(top_of(row("top"), *many(count)))
    assert len(drawn) == lines + 1
    assert drawn[-1] == (
        f"└─ … and {count - MAX_SIBLINGS} more (completed)"
        if lines < count
        else f"└─ pay  completed  c{count - 1}  1.2 s"
    )
    assert texts(top_of(row("top"), *many(count)), is_ascii=True)[-1].startswith("`- ")


def test_what_stands_otherwise_is_not_folded_with_the_rest() -> None:
    rows = [*many(50), row("bad", "top", "failed"), row("other", "top", workflow="stock"), row("below", "c40")]
    drawn = texts(top_of(row("top"), *rows))
    assert drawn[MAX_SIBLINGS + 1 :] == [
        "├─ … and 30 more pay (completed), with 1 below them",
        "├─ pay  failed  bad  1.2 s",
        "└─ stock  completed  other  1.2 s",
    ]


def test_a_tree_is_bounded_and_what_goes_on_is_shown_first() -> None:
    rows = [*many(50), row("a", "top", "running"), row("b", "a", "running"), row("c", "top"), row("d", "c", "running")]
    top = top_of(row("top", status="running"), *rows)
    assert texts(top, most=20, only_open=True) == [
        "pay  running  top",
        "├─ … 50 pay (completed)",
        "├─ pay  running  a",
        "│  └─ pay  running  b",
        "└─ pay  completed  c  1.2 s",
        "   └─ pay  running  d",
    ]
    assert texts(top, most=3, only_open=True)[-1] == "… and 2 more lines"
    assert len(texts(top, most=1)) == 1


def test_runs_are_counted_by_status() -> None:
    assert (
        format_status_counts(top_of(row("top"), *many(3), row("x", "top", "failed")).children)
        == "3 completed, 1 failed"
    )


TEXTS = st.sampled_from(["", "a", "b", EVIL]) | st.text(max_size=5)
VALUES = st.none() | st.booleans() | st.integers() | TEXTS | st.lists(TEXTS, max_size=2)
MEMBERS = (
    "runId",
    "workflowId",
    "parentRunId",
    "parentNodeId",
    "createdAt",
    "startedAt",
    "completedAt",
    "currentNodeId",
)
ROWS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(MEMBERS, VALUES),
        "status": st.sampled_from(STATUSES) | VALUES,
        "error": VALUES | st.fixed_dictionaries({"code": VALUES}),
        "depth": VALUES,
    },
)


@given(VALUES | st.lists(VALUES) | st.fixed_dictionaries({"runs": VALUES | st.lists(ROWS | VALUES, max_size=40)}))
def test_any_document_is_drawn_or_is_none(document: Any) -> None:
    top = read_tree(document)
    if top is None:
        return
    runs = sum(1 for each in document["runs"] if isinstance(each, dict))
    assert sum(1 for _ in top.walk()) == runs
    for most in (None, 1, 5, 100):
        for only_open in (False, True):
            drawn = texts(top, False, most, only_open)
            assert 1 <= len(drawn) <= (most or runs)
            assert all(line.isprintable() for line in drawn)


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(STATUSES)), max_size=60), st.booleans())
def test_every_run_is_shown_or_counted(picks: list[tuple[int, str]], only_open: bool) -> None:
    rows = [row(f"r{at}", f"r{pick % at}", status) for at, (pick, status) in enumerate(picks, 1)]
    drawn = texts(top_of(row("r0", status="running"), *rows), only_open=only_open)
    folded = [line for line in drawn if "… " in line]
    told = sum(int(number) for line in folded for number in re.findall(r"(?:… and|…|with) (\d+)", line))
    assert len(drawn) - len(folded) + told == len(rows) + 1


def test_a_text_of_a_host_is_no_markup_and_no_escape() -> None:
    top = top_of(row(EVIL, workflow=EVIL, status=EVIL), row("x", EVIL, "failed", error={"code": EVIL}))
    file = io.StringIO()
    console = Console(file=file, width=200, color_system="truecolor", force_terminal=True)
    for line in run_tree_lines(top, False):
        console.print(rich_line(line, "ignore"), soft_wrap=True)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
    assert all(line.isprintable() for line in shown.split("\n"))
    assert shown.count("[bold]evil") == 4


def test_without_the_guard_it_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "clean", lambda text, most=0: str(text))
    assert not all(line.isprintable() for line in texts(top_of(row(EVIL))))
