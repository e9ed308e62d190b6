"""Following a run to its end, and what the exit code says of it."""

import time
from collections.abc import Iterator
from typing import Any, Final

import click

from weftwork.cli.client.errors import DeadlineReached, HostUnreachable, RequestRefused
from weftwork.cli.client.event_stream import ReceivedFrame
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.run_tree import CHILD_EVENTS
from weftwork.cli.console.text import clean, say
from weftwork.cli.follow.run_views import LineView, LiveView, RunView, pick_view
from weftwork.cli.follow.run_watch import (
    RunTreeWatch,
    await_child_ends,
    is_still_open,
    print_child_interrupt,
    print_node_interrupt,
)
from weftwork.cli.render.interrupt_text import quote_id
from weftwork.cli.render.outline import outline
from weftwork.cli.render.run_progress import INTERRUPT_EVENTS, RunProgress
from weftwork.protocol.run.events import CHILD_STATUS
from weftwork.protocol.wire.v1.paths import path_for

EXIT_CODES: Final = {"completed": 0, "failed": 1, "cancelled": 3}
EXIT_WAITING: Final = 4
EXIT_TIMEOUT: Final = 5
EXIT_INTERRUPTED: Final = 130
SETTLE_SECONDS: Final = 0.5
"""Seconds of silence after which a run that waits is taken to do nothing else."""

DEFINITION_TIMEOUT: Final = 3.0
"""Seconds for the definition, without which the run can be shown as well."""


def follow_run(
    client: Client,
    run_id: str,
    as_json: bool,
    no_wait: bool,
    workflow_id: str,
    definition: Any = None,
    begun: bool = False,
) -> int:
    """Show the run until it ends, waits for somebody although nobody wants to wait, or time is up.

    A definition that is not given is asked for, if a picture needs it. Of a run that has `begun` before, the questions
    of the past are told only if they are still open.
    """
    tree = RunProgress(run_id)
    view = pick_view(tree, client.url, as_json)
    client.notify = view.note
    deadline = client.deadline
    watch = RunTreeWatch(client, run_id, view.set_run_tree) if isinstance(view, LiveView) else None
    try:
        with view:
            if isinstance(view, LiveView):
                path = path_for("getWorkflow", workflowId=workflow_id)
                view.set_outline(outline(definition or client.try_get(path, DEFINITION_TIMEOUT)))
            for frame in _frames(client, run_id):
                _show(client, tree, view, frame, begun)
                if watch is not None and frame.event_type in CHILD_EVENTS:
                    watch.notify_change()
                if no_wait:
                    # What else may begin comes at once; only silence says that nothing does.
                    soon = time.monotonic() + SETTLE_SECONDS
                    client.deadline = min(soon, deadline or soon) if tree.is_blocked else deadline
            client.deadline = None
            _finish(client, tree, view)
    except KeyboardInterrupt:
        return _stop_following(tree, "goes on", EXIT_INTERRUPTED)
    except DeadlineReached:
        if no_wait and tree.is_blocked:
            return _stop_following(tree, "waits for somebody", EXIT_WAITING)
        return _stop_following(tree, "is not over", EXIT_TIMEOUT)
    except HostUnreachable as error:
        raise HostUnreachable(f"{error.format_message()}\nThe run may go on there; {_follow_command(tree)}.") from None
    finally:
        if watch is not None:
            watch.stop()
    return EXIT_CODES[tree.status]


def _finish(client: Client, tree: RunProgress, view: RunView) -> None:
    """The stream is over, and so is the run. Its snapshot says how, where no event did."""
    # The end of the run may be the reason for theirs; those that it does not wait for may go on.
    await_child_ends(
        client, tree.run_id, [each for each in tree.children if each.is_awaited or tree.status != "completed"]
    )
    try:
        snapshot = client.get(path_for("getRun", runId=tree.run_id))
    except RequestRefused:
        # Deleted right after its end, which the stream has told.
        if tree.status not in EXIT_CODES:
            raise
        return
    view.end(snapshot)
    if tree.status not in EXIT_CODES:
        tree.apply_snapshot(snapshot)
    if tree.status not in EXIT_CODES:
        status = clean(tree.status, 40)
        raise click.ClickException(f"the run ended as {status}, which is no end that this version knows.")


def _frames(client: Client, run_id: str) -> Iterator[ReceivedFrame]:
    """Every event where the host shows them all, else those that it shows."""
    frames = client.stream(run_id, streamMode="debug")
    try:
        first = next(frames, None)
    except RequestRefused as refused:
        if refused.status not in (400, 403):
            raise
        frames = client.stream(run_id)
        first = next(frames, None)
    if first is not None:
        yield first
        yield from frames


def _show(client: Client, tree: RunProgress, view: RunView, frame: ReceivedFrame, begun: bool) -> None:
    """An event, and how to answer what it asks where no picture shows that."""
    if isinstance(view, LineView) and frame.event_type == CHILD_STATUS and not begun:
        view.show(frame)
        if (child := tree.child_of(frame)) is not None and child.is_waiting:
            print_child_interrupt(client, child)
        return
    if not isinstance(view, LineView) or frame.event_type not in INTERRUPT_EVENTS:
        view.show(frame)
        return
    known = {row.node_id for row in tree.waiting_nodes}
    view.show(frame)
    for row in tree.waiting_nodes:
        if row.node_id not in known and (not begun or is_still_open(client, tree, row)):
            print_node_interrupt(client.url, tree.run_id, row)


def _stop_following(tree: RunProgress, how: str, code: int) -> int:
    say(
        f"the run {how}; {_follow_command(tree)}, cancel it with `weftwork runs cancel {quote_id(tree.run_id)}`.",
        err=True,
    )
    return code


def _follow_command(tree: RunProgress) -> str:
    return f"follow it with `weftwork events {quote_id(tree.run_id)} --follow --from {tree.sequence + 1}`"
