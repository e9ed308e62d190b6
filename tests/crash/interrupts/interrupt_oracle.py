"""The oracle of interrupts: given what people were told, what a host that was started again must show.

Raises AssertionError.
"""

import time
from collections import Counter
from typing import Any

from tests.crash.interrupts.interrupt_host import LONG_MS, LONG_REMINDERS, SHORT_MS, SHORT_REMINDERS
from tests.crash.interrupts.scripted_clients import ANSWERED_WORKFLOWS, ScriptedClients, ScriptedRun, call
from tests.crash.oracle import TERMINAL, TIMEOUT_SECONDS, Log, follow, listing, timestamp_ms
from tests.live import Host
from tests.live.steering import events
from weftwork.protocol.run.events import CANCEL_REQUESTED, INTERRUPT_REMINDER

LIMITS = {"due": (SHORT_MS, SHORT_REMINDERS), "late": (LONG_MS, LONG_REMINDERS)}
TIMED_WORKFLOWS = tuple(LIMITS)
"""Workflows that end by themselves."""
EXPECTED_STATUS = {"ask": "completed", "vote": "completed", "turns": "completed", "due": "failed", "drop": "cancelled"}
MARK_FIELDS = {"interrupt.resolved": "resumeValue", "approval.granted": "principal"}
QUESTIONS = {"drop": 2}
"""How much is asked at once, if it is more than one thing."""
PAIRED_EVENTS = {"interrupt.resolved": ("approval.received",), "interrupt.requested": ("approval.requested",)}
"""Of an approval: what comes with it, in the same commit."""


def check_runs(host: Host, desk: ScriptedClients, patience: float = TIMEOUT_SECONDS) -> dict[str, Log]:
    """Look before anybody does anything; then bring all to its end, and look again. The logs by name of case."""
    check_all_runs(host, desk, patience)
    desk.finish_scripts(host)
    runs = listing(host)
    found = Counter(tag for run in runs.values() for tag in run["tags"])
    assert found == Counter(case.name for case in desk.runs), "a run is missing or twice"
    logs = {case.name: follow(host, case.run_id, patience) for case in desk.runs}
    for case in desk.runs:
        check_ended(host, case, logs[case.name])
    assert not open_interrupts(host), "the inbox has what was answered"
    return logs


def views_agree(host: Host, desk: ScriptedClients) -> bool:
    """Whether all views agree by now: for a second, a run that was told of a failure that was none may lag behind."""
    try:
        check_all_runs(host, desk, 0)
    except AssertionError:
        return False
    return True


def check_all_runs(host: Host, desk: ScriptedClients, patience: float = TIMEOUT_SECONDS) -> None:
    logs = {case.run_id: settled_log(host, case, patience) for case in desk.runs if case.run_id}
    inbox = open_interrupts(host)
    for case in desk.runs:
        if case.run_id:
            check_run(host, case, logs[case.run_id], inbox)


def settled_log(host: Host, case: ScriptedRun, patience: float = TIMEOUT_SECONDS) -> Log:
    """The log of a run once it only waits or has ended, or as it is when patience ends: a busy host may store what
    follows from a request in a commit of its own, after the response."""
    until = time.monotonic() + patience
    while True:
        log = events(host, case.run_id)
        if has_settled(case, log) or time.monotonic() > until:
            return log
        time.sleep(0.01)


def has_settled(case: ScriptedRun, log: Log) -> bool:
    """Whether the run has ended, or has asked all and nobody was told of its cancel."""
    kinds = [event["type"] for event in log]
    if any(kind in TERMINAL for kind in kinds):
        return True
    statuses = interrupt_statuses(log)
    has_asked = len(statuses) >= QUESTIONS.get(case.workflow, 1) and "open" in statuses.values()
    return has_asked and not is_cancelled(case) and CANCEL_REQUESTED not in kinds


def is_cancelled(case: ScriptedRun) -> bool:
    """Whether a cancel was acknowledged."""
    return any(wish.path.endswith("/cancel") and wish.answer is not None for wish in case.requests)


def open_interrupts(host: Host) -> dict[str, set[str]]:
    """By run, what the inbox shows of it; in its order, and each once."""
    found: dict[str, set[str]] = {}
    query, before = "?limit=200", ""
    while query:
        page = call(host, "GET", f"/v1/host/weftwork/interrupts{query}").document
        for row in page["interrupts"]:
            assert before <= row["requestedAt"], "the inbox is not in order"
            assert row["interruptId"] not in found.setdefault(row["runId"], set()), "the inbox has something twice"
            found[row["runId"]].add(row["interruptId"])
            before = row["requestedAt"]
        query = f"?limit=200&cursor={page['nextCursor']}" if "nextCursor" in page else ""
    return found


def interrupt_statuses(log: Log) -> dict[str, str]:
    """Every interrupt of a log, and how it stands: open, resolved or cancelled."""
    standing: dict[str, str] = {}
    for event in log:
        if event["type"] == "interrupt.requested":
            standing[event["interruptId"]] = "open"
        elif event["type"] == "interrupt.resolved":
            assert standing[event["interruptId"]] == "open", "an interrupt was resolved twice"
            standing[event["interruptId"]] = "resolved"
        elif event["type"] == "run.cancelled":
            standing = {name: "cancelled" if how == "open" else how for name, how in standing.items()}
    return standing


def answer_marks(log: Log) -> list[Any]:
    """Which answers and votes a log has, in order; what ended a quorum is known by its last vote."""
    found = [
        (event["type"], event["payload"].get(MARK_FIELDS[event["type"]]))
        for event in log
        if event["type"] in MARK_FIELDS
    ]
    return [mark for kind, mark in found if kind == "approval.granted" or isinstance(mark, str)]


def check_run(host: Host, case: ScriptedRun, log: Log, inbox: dict[str, set[str]]) -> None:
    """What was acknowledged is there once, what was not is there as a whole or not at all, and every view agrees."""
    check_log(case, log)
    sent = [wish.expected_mark for wish in case.requests if wish.expected_mark]
    told = [wish.expected_mark for wish in case.requests if wish.expected_mark and wish.answer is not None]
    kept = answer_marks(log)
    assert kept[: len(told)] == told, f"{case.name}: {told} was acknowledged and is lost: {kept}"
    assert kept == sent[: len(kept)], f"{case.name}: nobody said {kept}, but {sent}"
    if is_cancelled(case):
        assert "cancelled" in interrupt_statuses(log).values(), f"{case.name}: the cancel is lost"
    if case.workflow not in TIMED_WORKFLOWS:
        # Of those the clock may have changed something in the meantime.
        check_views(host, case, log, inbox.get(case.run_id, set()))


def check_log(case: ScriptedRun, log: Log) -> None:
    """No gap, nothing after the end, and no half of what belongs together."""
    assert log, f"{case.name} was acknowledged and is lost"
    assert [event["sequence"] for event in log] == list(range(len(log))), f"{case.name} has a gap"
    kinds = [event["type"] for event in log]
    ends = [kind for kind in kinds if kind in TERMINAL]
    assert ends in ([], kinds[-1:]), f"{case.name}: something comes after the end"
    interrupt_statuses(log)
    for at, event in enumerate(log):
        if event["type"] in PAIRED_EVENTS and event["payload"]["kind"] == "approval":
            assert kinds[at + 1] in PAIRED_EVENTS[event["type"]], f"{case.name}: half of {event['type']} is there"
    waiting = [name for name, how in interrupt_statuses(log).items() if how == "open"]
    assert waiting or ends, f"{case.name}: it waits for nobody and has not ended"


def check_views(host: Host, case: ScriptedRun, log: Log, listed: set[str]) -> None:
    """The inbox, the snapshot and the links say what the log says."""
    standing = interrupt_statuses(log)
    waiting = {name for name, how in standing.items() if how == "open"}
    assert listed == waiting, f"{case.name} waits for {waiting}, and the inbox has {listed}"
    shown = {row["interruptId"]: row for row in host.snapshot(case.run_id).get("interrupts", ())}
    assert set(shown) == waiting, f"{case.name} is shown with {set(shown)}"
    voted = [event["payload"]["principal"] for event in log if event["type"] == "approval.granted"]
    for row in shown.values():
        assert [vote["voter"] for vote in row.get("votes", ())] == (voted if row["nodeId"] == "gate" else [])
    for token in case.links:
        status = {"open": 200, "resolved": 409, "cancelled": 409}[standing["gate.1"]]
        answer = call(host, "GET", f"/v1/interrupts/{token}", key=None)
        assert answer.status == status, f"{case.name}: its link leads nowhere: {answer.body!r}"


def check_ended(host: Host, case: ScriptedRun, log: Log) -> None:
    check_log(case, log)
    assert log[-1]["type"] in TERMINAL
    status = TERMINAL[log[-1]["type"]]
    assert status == EXPECTED_STATUS.get(case.workflow, "failed"), f"{case.name} is {status}"
    assert host.snapshot(case.run_id)["status"] == status
    standing = interrupt_statuses(log)
    resolved = Counter(event["interruptId"] for event in log if event["type"] == "interrupt.resolved")
    if case.cancelled:
        assert not resolved, f"{case.name} was answered after its cancel"
        return
    assert resolved == Counter(standing.keys()), f"{case.name}: {resolved} of {standing}"
    if case.workflow in ANSWERED_WORKFLOWS:
        assert answer_marks(log) == [wish.expected_mark for wish in case.requests], (
            f"{case.name}: not every answer counts once"
        )
    else:
        check_times(case, log)


def check_times(case: ScriptedRun, log: Log) -> None:
    """Nobody answered: people were reminded in time and once, and the end came when the time was up."""
    limit, reminders = LIMITS[case.workflow]
    (begun,) = [timestamp_ms(event) for event in log if event["type"] == "interrupt.requested"]
    (ended,) = [event for event in log if event["type"] == "interrupt.resolved"]
    assert ended["payload"]["reason"] == "timeout"
    assert timestamp_ms(ended) >= begun + limit, f"{case.name} ended too early"
    said = [event for event in log if event["type"] == INTERRUPT_REMINDER]
    numbers = [event["payload"]["number"] for event in said]
    assert numbers == sorted(set(numbers)), f"{case.name}: somebody was reminded twice: {numbers}"
    for event, number in zip(said, numbers, strict=True):
        assert timestamp_ms(event) >= begun + reminders[number - 1], f"{case.name}: a reminder came too early"
