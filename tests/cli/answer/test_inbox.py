"""`weftwork inbox`: what waits for an answer, as any host may tell of it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.cli.foreign_host import CannedResponse, ForeignHost, ReceivedRequest
from tests.harness.cases import each_case
from weftwork.cli.client.event_stream import ReceivedFrame
from weftwork.cli.render.interrupt_text import due_text, headline, status_lines, vote_progress
from weftwork.cli.render.run_progress import RunProgress
from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND

PATH = "GET /v1/host/weftwork/interrupts"
NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
EVIL = "a\x1b[2J\x9b1m\u202e\nb\r"


def row(run_id: str = "r1", **more: Any) -> dict[str, Any]:
    asked = (datetime.now(UTC) - timedelta(hours=3, minutes=5)).isoformat()
    known = {"runId": run_id, "workflowId": "order", "nodeId": "review", "kind": "approval", "requestedAt": asked}
    data = {"title": "Pay 5 EUR?", "actions": ["accept"], "requiredApprovals": 3}
    return {**known, "interruptId": "review.1", "data": data, "votes": [{"voter": "ada", "action": "accept"}], **more}


def pages(*found: list[dict[str, Any]]) -> Any:
    """Pages whose cursors are their numbers."""

    def reply(asked: ReceivedRequest) -> CannedResponse:
        at = int(asked.query.get("cursor", ["0"])[0])
        more = {"nextCursor": str(at + 1)} if at + 1 < len(found) else {}
        return CannedResponse(200, {"interrupts": found[at], **more})

    return reply


def test_what_waits_is_listed_with_its_age_votes_and_end(foreign: ForeignHost) -> None:
    soon = (datetime.now(UTC) + timedelta(hours=2, minutes=10, seconds=30)).isoformat()
    late = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    clarify = {"questions": [{"id": "q", "question": "Which colour?\nPlease."}]}
    second = row("r2", kind="clarification", nodeId="ask", data=clarify, votes=None, dueAt=late)
    foreign.replies[PATH] = CannedResponse(200, {"interrupts": [row(dueAt=soon), second]})
    done = foreign.run_command("inbox")
    assert (done.exit_code, done.stderr) == (0, "")
    head, first, other = done.stdout.splitlines()
    assert head.split() == ["run", "node", "question", "age", "expires", "votes", "kind", "workflow"]
    cells = [each.strip() for each in first.split("  ") if each.strip()]
    assert cells == ["r1", "review", "Pay 5 EUR?", "3 h 05 min", "in 2 h 10 min", "1 of 3", "approval", "order"]
    assert [each.strip() for each in other.split("  ") if each.strip()][2:5] == [
        "Which colour?",
        "3 h 05 min",
        "overdue",
    ]


def test_filters_are_asked_for(foreign: ForeignHost) -> None:
    foreign.replies[PATH] = CannedResponse(200, {"interrupts": []})
    line = "--kind approval --kind custom --workflow w --run r --node n --due-within 24h --limit 7".split()
    done = foreign.run_command("inbox", *line)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "no open interrupts match these options.\n")
    (asked,) = foreign.requests
    before = datetime.fromisoformat(asked.query.pop("dueBefore")[0])
    assert timedelta(hours=23) < before - datetime.now(UTC) < timedelta(hours=25)
    known = {"workflowId": ["w"], "runId": ["r"], "nodeId": ["n"], "limit": ["7"]}
    assert asked.query == {"kind": ["approval", "custom"], **known}
    assert foreign.run_command("inbox").stderr == "no open interrupts.\n"
    assert foreign.requests[-1].query == {"limit": ["50"]}


@pytest.mark.parametrize("wrong", ["", "2", "h", "0h", "2 days", "-1d"])
def test_a_length_of_time_has_a_unit(foreign: ForeignHost, wrong: str) -> None:
    assert foreign.run_command("inbox", "--due-within", wrong).exit_code == 2
    assert foreign.requests == []


def test_a_length_of_time_may_be_of_seconds(foreign: ForeignHost) -> None:
    foreign.replies["GET /v1/host/weftwork/interrupts"] = CannedResponse(200, {"interrupts": []})
    assert foreign.run_command("inbox", "--due-within", "90s").exit_code == 0
    before = datetime.fromisoformat(foreign.requests[0].query["dueBefore"][0])
    assert before - datetime.now(UTC) <= timedelta(seconds=90)


def test_kinds_that_there_are_not_are_answered_with_those_that_there_are(foreign: ForeignHost) -> None:
    details = {"parameter": "kind", "supported": ["approval", "custom\x1b[2J"]}
    refusal = {"error": "validation_error", "message": "No such kind.", "details": details}
    foreign.replies["GET /v1/host/weftwork/interrupts"] = CannedResponse(400, refusal)
    done = foreign.run_command("inbox", "--kind", "nope")
    assert done.exit_code == 7
    assert done.stderr == "Error: No such kind (validation_error).\n  supported: approval, custom\\u{1b}[2J\n"


def test_pages_are_followed_to_the_limit_or_to_the_end(foreign: ForeignHost) -> None:
    foreign.replies[PATH] = pages([row("r1"), row("r2")], [row("r3"), row("r4")], [row("r5")])

    def listed(*args: str) -> list[str]:
        return [
            each["runId"] for each in json.loads(foreign.run_command("inbox", "--json", *args).stdout)["interrupts"]
        ]

    assert listed("--all") == ["r1", "r2", "r3", "r4", "r5"]
    assert listed("--limit", "3") == ["r1", "r2", "r3"]
    assert foreign.requests[-1].query == {"cursor": ["1"], "limit": ["1"]}
    foreign.replies[PATH] = CannedResponse(200, {"interrupts": [row()], "nextCursor": "same"})
    assert len(listed("--all")) == 2


def test_json_is_what_the_host_sent(foreign: ForeignHost) -> None:
    foreign.replies[PATH] = CannedResponse(200, {"interrupts": [row(extra={"a": EVIL})]})
    done = foreign.run_command("inbox", "--json")
    assert json.loads(done.stdout)["interrupts"][0]["extra"] == {"a": EVIL}
    assert done.stdout.isascii()


def test_texts_of_others_move_no_cursor(foreign: ForeignHost) -> None:
    evil = row(EVIL, nodeId=EVIL, kind=EVIL, workflowId=EVIL, data={"title": EVIL, "requiredApprovals": 2})
    foreign.replies[PATH] = CannedResponse(200, {"interrupts": [evil, 5, {"data": EVIL, "votes": 5, "dueAt": 5}]})
    done = foreign.run_command("inbox")
    assert done.exit_code == 0
    assert all(each.isprintable() for each in done.stdout.split("\n"))
    assert "\\u{1b}[2J" in done.stdout


def test_without_the_guard_they_would(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.cli.console.table.clean", lambda text, _most=0: text)
    with pytest.raises(AssertionError):
        test_texts_of_others_move_no_cursor(foreign)


@each_case(
    "left, said",
    (timedelta(days=2, hours=3), "in 2 d 3 h"),
    (timedelta(minutes=5), "in 5 min 00 s"),
    (timedelta(0), "overdue"),
    (timedelta(days=-3), "overdue"),
)
def test_the_end_is_said_in_words(left: timedelta, said: str) -> None:
    assert due_text({"dueAt": (NOW + left).isoformat()}, NOW) == said


@each_case("when", None, 5, "", "soon", "2026-99-99")
def test_what_is_no_time_is_no_end(when: Any) -> None:
    assert due_text({"dueAt": when}, NOW) == ""
    assert list(status_lines({"dueAt": when}, NOW)) == []


@each_case(
    "limit, end", (60_000, "2026-01-01T00:01:00+00:00"), (10**18, ""), (10**400, ""), ("soon", None), (None, None)
)
def test_events_tell_of_the_end(limit: Any, end: str | None) -> None:
    tree = RunProgress("r")
    payload = {"kind": "custom", "key": "k", "timeoutMs": limit}
    event = {"type": "interrupt.requested", "nodeId": "n", "timestamp": "2026-01-01T00:00:00.000Z", "payload": payload}
    tree.apply(ReceivedFrame("", event, ""))
    (row,) = tree.waiting_nodes
    assert (row.interrupt or {}).get("dueAt") == end
    assert len(list(status_lines(row.interrupt or {}, NOW))) == bool(end)
    granted = {"type": "approval.granted", "nodeId": "n", "payload": {"quorumProgress": {"granted": 1, "required": 3}}}
    tree.apply(ReceivedFrame("", granted, ""))
    assert vote_progress(row.interrupt or {}) == "1 of 3"


def test_votes_are_counted_where_several_are_needed() -> None:
    votes = [{"voter": "ada", "action": "accept"}, {"voter": EVIL, "action": "reject"}]
    question = {"data": {"requiredApprovals": 3}, "votes": votes, "dueAt": (NOW + timedelta(hours=1)).isoformat()}
    assert vote_progress(question) == "1 of 3"
    first, second = status_lines(question, NOW)
    assert first.startswith("  approvals: 1 of 3 (ada accept, a\\u{1b}[2J")
    assert second == "  answer by 2026-11-15 13:00:00 UTC, in 1 h 00 min"
    assert vote_progress({**question, "progress": {"granted": 2, "required": 3}}) == "2 of 3"
    assert vote_progress({**question, "progress": {"granted": True}}) == "1 of 3"
    assert vote_progress({"data": {"requiredApprovals": 1}, "votes": votes}) == ""
    assert vote_progress({"data": {"requiredApprovals": True}}) == vote_progress({"data": 5}) == ""
    many = {**question, "votes": [{"voter": f"v{at}", "action": "accept"} for at in range(12)]}
    assert "v9 accept and 2 more)" in next(iter(status_lines(many, NOW)))


@each_case(
    "question, said",
    ({"data": {"title": "T", "description": "D"}}, "T"),
    ({"data": {"questions": [{"id": "q", "question": "Q?"}]}}, "Q?"),
    ({"data": {"payload": {"message": "M\nN"}}}, "M"),
    ({"data": {"customKind": "k", "payload": [1]}}, "k"),
    ({"data": {"customKind": "k"}}, "k"),
    ({"data": {"customKind": "k", "payload": {"message": "M\nN"}}}, "k: M"),
    ({"data": {"customKind": "k", "payload": {"title": "T", "message": "M"}}}, "k: T"),
    ({"data": {"customKind": "k", "payload": "P"}}, "k: P"),
    ({"data": {"customKind": UNKNOWN_OUTCOME_KIND, "payload": {"message": "M"}}}, "M"),
    ({"data": {"other": [1]}}, '{"other": [1]}'),
    ({"data": {}}, ""),
    ({}, ""),
)
def test_a_question_has_a_headline(question: dict[str, Any], said: str) -> None:
    assert headline(question) == said
