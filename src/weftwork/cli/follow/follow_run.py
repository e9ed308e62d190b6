"""Following a run to its end, and what the exit code says of it."""

import time
from collections.abc import Iterator
from typing import Any, Final

import click

from weftwork.cli.client.errors import DeadlineReached, HostUnreachable, RequestRefused
from weftwork.cli.client.http_client import Client, segment
from weftwork.cli.client.run_tree import CHILD_EVENTS
from weftwork.cli.client.sse import ReceivedFrame
from weftwork.cli.console.text import say, shown
from weftwork.cli.follow.interrupt_notices import still_open, tell_child, tell_question
from weftwork.cli.follow.run_tree_watch import KinWatch, await_ends
from weftwork.cli.follow.run_views import LineView, TreeView, View, pick_view
from weftwork.cli.render.interrupt_text import word
from weftwork.cli.render.run_progress import QUESTIONS, RunTree
from weftwork.protocol.run.events import CHILD_STATUS

EXIT_CODES: Final = {"completed": 0, "failed": 1, "cancelled": 3}
WAITS: Final = 4
TIME_IS_UP: Final = 5
INTERRUPTED: Final = 130
SETTLED: Final = 0.5
"""Seconds of silence after which a run that waits is taken to do nothing else."""

PROMPT: Final = 3.0
"""Seconds for the definition, without which the run can be shown as well."""


def follow(
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
    tree = RunTree(run_id)
    view = pick_view(tree, client.url, as_json)
    client.notify = view.note
    deadline = client.deadline
    watch = KinWatch(client, run_id, view.below) if isinstance(view, TreeView) else None
    try:
        with view:
            if isinstance(view, TreeView):
                from weftwork.cli.render.outline import outline

                view.expect(outline(definition or client.try_get(f"/v1/workflows/{segment(workflow_id)}", PROMPT)))
            for frame in _frames(client, run_id):
                _show(client, tree, view, frame, begun)
                if watch is not None and frame.event_type in CHILD_EVENTS:
                    watch.hear()
                if no_wait:
                    # What else may begin comes at once; only silence says that nothing does.
                    soon = time.monotonic() + SETTLED
                    client.deadline = min(soon, deadline or soon) if tree.stands_still else deadline
            client.deadline = None
            _end(client, tree, view)
    except KeyboardInterrupt:
        return _left(tree, "goes on", INTERRUPTED)
    except DeadlineReached:
        if no_wait and tree.stands_still:
            return _left(tree, "waits for somebody", WAITS)
        return _left(tree, "is not over", TIME_IS_UP)
    except HostUnreachable as error:
        raise HostUnreachable(f"{error.format_message()}\nThe run may go on there; {_again(tree)}.") from None
    finally:
        if watch is not None:
            watch.stop()
    return EXIT_CODES[tree.status]


def _end(client: Client, tree: RunTree, view: View) -> None:
    """The stream is over, and so is the run. Its snapshot says how, where no event did."""
    # The end of the run may be the reason for theirs; those that it does not wait for may go on.
    await_ends(client, tree.run_id, [each for each in tree.children if each.is_awaited or tree.status != "completed"])
    try:
        snapshot = client.get(f"/v1/runs/{segment(tree.run_id)}")
    except RequestRefused:
        # Deleted right after its end, which the stream has told.
        if tree.status not in EXIT_CODES:
            raise
        return
    view.end(snapshot)
    if tree.status not in EXIT_CODES:
        tree.seed(snapshot)
    if tree.status not in EXIT_CODES:
        status = shown(tree.status, 40)
        raise click.ClickException(f"the run ended as {status}, which is no end that this version knows.")


def _frames(client: Client, run_id: str) -> Iterator[ReceivedFrame]:
    """Every event where the host shows them all, else those that it shows."""
    path = f"/v1/runs/{segment(run_id)}/events"
    frames = client.stream(path, streamMode="debug")
    try:
        first = next(frames, None)
    except RequestRefused as refused:
        if refused.status not in (400, 403):
            raise
        frames = client.stream(path)
        first = next(frames, None)
    if first is not None:
        yield first
        yield from frames


def _show(client: Client, tree: RunTree, view: View, frame: ReceivedFrame, begun: bool) -> None:
    """An event, and how to answer what it asks where no picture shows that."""
    if isinstance(view, LineView) and frame.event_type == CHILD_STATUS and not begun:
        view.show(frame)
        if (child := tree.child_of(frame)) is not None and child.is_waiting:
            tell_child(client, child)
        return
    if not isinstance(view, LineView) or frame.event_type not in QUESTIONS:
        view.show(frame)
        return
    known = {row.node_id for row in tree.waiting}
    view.show(frame)
    for row in tree.waiting:
        if row.node_id not in known and (not begun or still_open(client, tree, row)):
            tell_question(client.url, tree.run_id, row)


def _left(tree: RunTree, how: str, code: int) -> int:
    say(f"the run {how}; {_again(tree)}, cancel it with `weftwork runs cancel {word(tree.run_id)}`.", err=True)
    return code


def _again(tree: RunTree) -> str:
    return f"follow it with `weftwork events {word(tree.run_id)} --follow --from {tree.sequence + 1}`"
