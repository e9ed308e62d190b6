"""Follows a run to its end and returns the exit code for its status."""

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
"""With --no-wait: seconds without an event after which a waiting run counts as blocked."""

DEFINITION_TIMEOUT: Final = 3.0
"""Seconds to wait for the definition, which is optional for the display."""


def follow_run(
    client: Client,
    run_id: str,
    as_json: bool,
    no_wait: bool,
    workflow_id: str,
    definition: Any = None,
    is_resumed: bool = False,
) -> int:
    """Show the run until it ends, until it is blocked (with `no_wait`), or until the client's deadline.

    The live display fetches the definition if it is not given. With `is_resumed` the run has past events, and an
    interrupt is printed only if it is still open.
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
            for frame in debug_frames(client, run_id):
                _show(client, tree, view, frame, is_resumed)
                if watch is not None and frame.event_type in CHILD_EVENTS:
                    watch.notify_change()
                if no_wait:
                    # Other nodes may start right after this event, so the run counts as blocked only after a pause.
                    settled_at = time.monotonic() + SETTLE_SECONDS
                    client.deadline = min(settled_at, deadline or settled_at) if tree.is_blocked else deadline
            client.deadline = None
            _finish(client, tree, view)
    except KeyboardInterrupt:
        return _stop_following(tree, "stopped following; the run continues on the host", EXIT_INTERRUPTED)
    except DeadlineReached:
        if no_wait and tree.is_blocked:
            state = "is paused" if tree.status == "paused" else "waits for an answer"
            return _stop_following(tree, f"the run {state} (--no-wait)", EXIT_WAITING)
        return _stop_following(tree, "--timeout elapsed; the run continues on the host", EXIT_TIMEOUT)
    except HostUnreachable as error:
        text = f"{error.format_message()}\nThe run may still be active on the host; {_follow_command(tree)}."
        raise HostUnreachable(text) from None
    finally:
        if watch is not None:
            watch.stop()
    return EXIT_CODES[tree.status]


def _finish(client: Client, tree: RunProgress, view: RunView) -> None:
    """Show the final snapshot after the stream has ended, and take the status from it if no event had one."""
    # A run that fails or is cancelled ends all its children; a completed run only those that it waits for.
    await_child_ends(
        client, tree.run_id, [each for each in tree.children if each.is_awaited or tree.status != "completed"]
    )
    try:
        snapshot = client.get(path_for("getRun", runId=tree.run_id))
    except RequestRefused:
        # The run was deleted after its terminal event.
        if tree.status not in EXIT_CODES:
            raise
        return
    view.end(snapshot)
    if tree.status not in EXIT_CODES:
        tree.apply_snapshot(snapshot)
    if tree.status not in EXIT_CODES:
        status = clean(tree.status, 40)
        raise click.ClickException(f"the run ended with the unknown status {status}; a newer weftwork may know it.")


def debug_frames(client: Client, run_id: str, last_event_id: str | None = None) -> Iterator[ReceivedFrame]:
    """All events if the host allows the mode debug, otherwise those of its default mode."""
    frames = client.stream(run_id, last_event_id=last_event_id, streamMode="debug")
    try:
        first = next(frames, None)
    except RequestRefused as refused:
        if refused.status not in (400, 403):
            raise
        frames = client.stream(run_id, last_event_id=last_event_id)
        first = next(frames, None)
    if first is not None:
        yield first
        yield from frames


def _show(client: Client, tree: RunProgress, view: RunView, frame: ReceivedFrame, is_resumed: bool) -> None:
    """Show an event. In the line view, also print a new open interrupt and the command that answers it."""
    if isinstance(view, LineView) and frame.event_type == CHILD_STATUS and not is_resumed:
        view.show(frame)
        if (child := tree.child_of(frame)) is not None and child.is_waiting:
            print_child_interrupt(client, child)
        return
    if not isinstance(view, LineView) or frame.event_type not in INTERRUPT_EVENTS:
        view.show(frame)
        return
    already_waiting = {row.node_id for row in tree.waiting_nodes}
    view.show(frame)
    for row in tree.waiting_nodes:
        if row.node_id not in already_waiting and (not is_resumed or is_still_open(client, tree, row)):
            print_node_interrupt(client.url, tree.run_id, row)


def _stop_following(tree: RunProgress, state: str, code: int) -> int:
    say(
        f"{state}; {_follow_command(tree)}, or cancel it with `weftwork runs cancel {quote_id(tree.run_id)}`.",
        err=True,
    )
    return code


def _follow_command(tree: RunProgress) -> str:
    return f"follow it with `weftwork events {quote_id(tree.run_id)} --follow --from {tree.sequence + 1}`"
