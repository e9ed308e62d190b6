"""`weftwork answer --all`: sends one answer to all open interrupts about effects with an unknown outcome.

A crash can leave such an interrupt in every run that was executing an effect. The interrupts are listed completely
before the first answer is sent, so an interrupt that an answer causes, such as after `again`, is not answered. Other
interrupts need a decision of their own, so there is no way to answer them together.
"""

import json
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

import click
import msgspec

from weftwork.cli.answer.prompt import TerminalPrompt
from weftwork.cli.answer.target import AnswerTarget
from weftwork.cli.client.errors import HostUnreachable, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.listing import list_open_interrupts
from weftwork.cli.console.documents import as_object
from weftwork.cli.console.table import print_table
from weftwork.cli.console.text import clean, say, say_json
from weftwork.cli.console.units import count_of, format_elapsed, parse_time
from weftwork.cli.render.interrupt_text import headline
from weftwork.cli.render.schema_text import schema_problems
from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.effects import OUTCOMES, is_outcome_interrupt
from weftwork.protocol.wire.v1.paths import path_for

EFFECT_UNKNOWN: Final = "effect-unknown"
CODES: Final = (EFFECT_UNKNOWN,)
"""The values of --code."""
CONCURRENCY: Final = 8
"""Answers that are sent at the same time."""
PROGRESS_EVERY: Final = 100
EXIT_PARTIAL: Final = 1
EXIT_NONE: Final = 7
MISSING_ANSWER: Final = (
    f"pass the answer for all interrupts: --set outcome=OUTCOME, one of {', '.join(OUTCOMES)}; or --value with the "
    "whole answer. --dry-run lists the interrupts first."
)
_MAX_PREVIEW: Final = 400
_FATAL_STATUSES: Final = (401, 403)
"""Every further answer would be refused for the same reason."""


class Selection(msgspec.Struct, frozen=True):
    """Which interrupts are answered."""

    workflow_id: str | None = None
    node_id: str | None = None
    older_than_ms: int | None = None


class Tally(msgspec.Struct):
    """What became of the answers."""

    answered: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    not_sent: int = 0
    error: str = ""
    """Why the command stopped before all answers were sent."""


def answer_all(
    client: Client,
    as_json: bool,
    selection: Selection,
    make_value: Callable[[dict[str, Any]], Any] | None,
    dry_run: bool,
    yes: bool,
) -> int:
    """Answer all selected interrupts and return the exit code. `make_value` builds the answer for an interrupt; it is
    called once, because all get the same answer, and may be missing with `dry_run`. Raises UsageError, ClickException
    or HostUnreachable before anything is sent."""
    if make_value is None and not dry_run:
        raise click.UsageError(MISSING_ANSWER)
    targets = find_targets(client, selection)
    if not targets:
        if as_json:
            say_json({"interrupts": []} if dry_run else _result(Tally()))
        say("no open interrupts about effects with an unknown outcome match these options.", err=True)
        return 0
    value = None if make_value is None else _validate(targets[0], make_value(targets[0].interrupt))
    if dry_run:
        _print_preview(targets, value, make_value is not None, as_json)
        return 0
    if not yes:
        _confirm(targets, value)
    tally = _send_all(client, targets, value, as_json)
    return _report(tally, len(targets), as_json)


def find_targets(client: Client, selection: Selection) -> list[AnswerTarget]:
    """The open interrupts about effects with an unknown outcome, oldest first."""
    rows = list_open_interrupts(
        client, None, kind=["custom"], workflowId=selection.workflow_id, nodeId=selection.node_id
    )
    age = selection.older_than_ms
    latest = None if age is None else datetime.now(UTC) - timedelta(milliseconds=age)
    return [
        AnswerTarget(str(row.get("runId")), str(row.get("nodeId")), str(row.get("workflowId") or ""), row)
        for row in rows
        if is_outcome_interrupt(row.get("data")) and (latest is None or _was_requested_by(row, latest))
    ]


def _was_requested_by(row: dict[str, Any], latest: datetime) -> bool:
    requested = parse_time(row.get("requestedAt", row.get("createdAt")))
    return requested is not None and requested <= latest


def _validate(target: AnswerTarget, value: Any) -> Any:
    """The value without the key of one interrupt, so that it can answer all. Raises UsageError for an invalid value.

    --set adds the key of the interrupt, which would be wrong for the others. The id of the interrupt, which each
    request contains, serves the same purpose.
    """
    if is_object(value) and value.get("key") == target.interrupt.get("key"):
        value = {name: member for name, member in value.items() if name != "key"}
    problems = schema_problems(as_object(target.interrupt.get("resumeSchema")), value)
    if problems:
        raise click.UsageError(f"the answer is not valid: {'; '.join(problems)}. {MISSING_ANSWER}")
    return value


def _print_preview(targets: list[AnswerTarget], value: Any, has_value: bool, as_json: bool) -> None:
    if as_json:
        members = ("runId", "nodeId", "interruptId", "workflowId", "requestedAt")
        rows = [{name: each.interrupt[name] for name in members if name in each.interrupt} for each in targets]
        say_json({"interrupts": rows, **({"resumeValue": value} if has_value else {})})
        return
    now = datetime.now(UTC).isoformat()
    print_table(
        ("run", "node", "question", "age", "workflow"),
        [
            (
                each.run_id,
                each.node_id,
                headline(each.interrupt),
                format_elapsed(each.interrupt.get("requestedAt"), now),
                each.workflow_id,
            )
            for each in targets
        ],
        ("question",),
    )
    what = f"would be answered with {_value_text(value)}" if has_value else "would be answered"
    say(f"{_summary(targets)} {what}; nothing was sent (--dry-run).", err=True)


def _summary(targets: list[AnswerTarget]) -> str:
    runs = len({each.run_id for each in targets})
    workflows = len({each.workflow_id for each in targets})
    return f"{count_of(len(targets), 'interrupt')} in {count_of(runs, 'run')} of {count_of(workflows, 'workflow')}"


def _value_text(value: Any) -> str:
    return clean(json.dumps(value, ensure_ascii=False), _MAX_PREVIEW)


def _confirm(targets: list[AnswerTarget], value: Any) -> None:
    """Raises ClickException if the user declines, UsageError if there is no user to ask."""
    if not sys.stdin.isatty():
        raise click.UsageError(
            f"{_summary(targets)} would be answered, and standard input is not a terminal for the confirmation; "
            "add --yes to send the answers, or --dry-run to list the interrupts."
        )
    if not TerminalPrompt().confirm(f"Answer {_summary(targets)} with {_value_text(value)}?"):
        raise click.ClickException("nothing was sent.")


def _send_all(client: Client, targets: list[AnswerTarget], value: Any, as_json: bool) -> Tally:
    """Send the answers, CONCURRENCY at a time. After an error that concerns all answers, or Ctrl-C, no further ones
    are sent; those that are on their way are waited for."""
    tally = Tally()
    stopped = threading.Event()
    remaining: Iterator[AnswerTarget] = iter(targets)
    with ThreadPoolExecutor(CONCURRENCY) as pool:

        def submit(count: int) -> dict[Future[dict[str, Any]], AnswerTarget]:
            chosen: Iterable[AnswerTarget] = () if stopped.is_set() else islice(remaining, count)
            return {pool.submit(_post, client, each, value): each for each in chosen}

        open_requests = submit(CONCURRENCY)
        try:
            while open_requests:
                done, _ = wait(open_requests, return_when=FIRST_COMPLETED)
                for future in done:
                    _record_result(tally, open_requests.pop(future), future, stopped, as_json)
                open_requests |= submit(len(done))
                _show_progress(tally, len(targets), len(done), as_json)
        except KeyboardInterrupt:
            stopped.set()
            tally.error = "interrupted"
            for future, target in open_requests.items():
                _record_result(tally, target, future, stopped, as_json)
    tally.not_sent = len(targets) - len(tally.answered) - len(tally.refused)
    return tally


def _post(client: Client, target: AnswerTarget, value: Any) -> dict[str, Any]:
    path = path_for("resolveInterruptByRun", runId=target.run_id, nodeId=target.node_id)
    body = {"resumeValue": value}
    answer = client.post(path, body, idempotency_key=str(uuid.uuid4()), interruptId=target.interrupt_id)
    client.require_text(answer, "status", "the run's status")
    return answer


def _record_result(
    tally: Tally, target: AnswerTarget, future: "Future[dict[str, Any]]", stopped: threading.Event, as_json: bool
) -> None:
    """Record and print what became of one answer."""
    place = {"runId": target.run_id, "nodeId": target.node_id, "interruptId": target.interrupt_id}
    try:
        answer = future.result()
    except RequestRefused as refused:
        tally.refused.append({**place, "error": refused.code, "message": clean(refused.message, _MAX_PREVIEW)})
        if refused.status in _FATAL_STATUSES:
            stopped.set()
            tally.error = tally.error or refused.format_message()
        else:
            say(f"{target.quoted_name}: not answered: {refused.format_message()}", err=True)
        return
    except HostUnreachable as error:
        stopped.set()
        tally.error = tally.error or error.format_message()
        tally.refused.append({**place, "error": "", "message": "no response; the answer may have been recorded"})
        return
    tally.answered.append({**place, "status": answer["status"]})
    if not as_json:
        say(f"{target.quoted_name}: answer recorded; the run is {clean(answer['status'], 40)}")


def _show_progress(tally: Tally, total: int, done: int, as_json: bool) -> None:
    """A line on standard error after each PROGRESS_EVERY answers, if standard output does not show each answer."""
    count = len(tally.answered) + len(tally.refused)
    if as_json and count // PROGRESS_EVERY > (count - done) // PROGRESS_EVERY and count < total:
        say(f"{count} of {total} answers sent", err=True)


def _result(tally: Tally) -> dict[str, Any]:
    return {"answered": tally.answered, "refused": tally.refused, "notSent": tally.not_sent}


def _report(tally: Tally, total: int, as_json: bool) -> int:
    """Print the summary, and return the exit code."""
    if as_json:
        say_json(_result(tally))
    parts = [f"answered {len(tally.answered)} of {count_of(total, 'interrupt')}"]
    if tally.refused:
        parts.append(f"{len(tally.refused)} not answered")
    if tally.not_sent:
        parts.append(f"{tally.not_sent} not sent")
    if tally.error:
        say(f"Error: {tally.error}", err=True)
    is_incomplete = len(tally.answered) < total
    advice = " The same command with --dry-run lists the interrupts that are still open." if is_incomplete else ""
    say(f"{', '.join(parts)}.{advice}", err=True)
    if tally.error == "interrupted":
        return 130
    return 0 if not is_incomplete else EXIT_PARTIAL if tally.answered else EXIT_NONE
