"""Three views of a run or run tree that is followed: a live display on a terminal, text lines, or JSON lines."""

import signal
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from weftwork.cli.client.event_stream import ReceivedFrame
from weftwork.cli.client.run_tree import TreeRun, describe_children, read_tree
from weftwork.cli.console.text import can_draw, json_line, say
from weftwork.cli.render.event_line import is_repeat, run_event_line
from weftwork.cli.render.run_progress import RunProgress
from weftwork.cli.render.run_tree_lines import OutlineRow, rich_line, run_parts, run_tree_lines

if TYPE_CHECKING:
    from rich.console import Console


class _PlainView:
    """A view without terminal state to restore."""

    def __init__(self, tree: RunProgress) -> None:
        self._tree = tree

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        sys.stdout.flush()

    def note(self, text: str) -> None:
        say(text, err=True)


class LineView(_PlainView):
    """One line per event."""

    def show(self, frame: ReceivedFrame) -> None:
        is_repeated = is_repeat(self._tree, frame)
        self._tree.apply(frame)
        if not is_repeated:
            say(run_event_line(self._tree, frame))

    def end(self, snapshot: Any) -> None:
        self._tree.update_children(snapshot)
        if self._tree.children:
            self.note(describe_children(self._tree.children))


class JsonView(_PlainView):
    """One line of JSON per event, and the snapshot as the last line."""

    def show(self, frame: ReceivedFrame) -> None:
        self._tree.apply(frame)
        say(json_line(frame.data))

    def end(self, snapshot: Any) -> None:
        say(json_line(snapshot))


class LivePicture:
    """A display that is updated in place while it is open, and printed permanently at the end."""

    def __init__(self, console: "Console | None" = None) -> None:
        from rich.console import Console

        self.console = console or Console(highlight=False, markup=False, emoji=False)
        self._signal_guard = exit_on_sigterm()

    def __enter__(self) -> Self:
        from rich.live import Live

        self._signal_guard.__enter__()
        # Live draws as soon as it starts, so it is created after the subclass is initialized.
        self._live = Live(console=self.console, get_renderable=self._render, transient=True, refresh_per_second=4)
        self._live.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._live.stop()
        self._print_final()
        self._signal_guard.__exit__(*error)

    def note(self, text: str) -> None:
        self.console.print(text, style="dim")

    def _render(self) -> Any:
        raise NotImplementedError

    def _print_final(self) -> None:
        raise NotImplementedError


class LiveView(LivePicture):
    """The nodes of a run, its child runs, and its log lines."""

    def __init__(self, tree: RunProgress, url: str, console: "Console | None" = None) -> None:
        from weftwork.cli.render.run_display import RunDisplay

        super().__init__(console)
        self._tree = tree
        self._display = RunDisplay(tree, url, self.console)
        # rich draws in its own thread.
        self._lock = threading.Lock()

    def show(self, frame: ReceivedFrame) -> None:
        with self._lock:
            self._tree.apply(frame)

    def set_outline(self, places: "Sequence[OutlineRow]") -> None:
        """Show the nodes of the definition before they start."""
        with self._lock:
            self._tree.set_outline(places)

    def set_run_tree(self, top: TreeRun) -> None:
        """Replace the tree of child runs with the host's latest report."""
        with self._lock:
            self._tree.reported_tree = top

    def end(self, snapshot: Any) -> None:
        with self._lock:
            self._tree.update_children(snapshot)

    def _render(self) -> Any:
        with self._lock:
            return self._display.live()

    def _print_final(self) -> None:
        self.console.print(self._display.final(), soft_wrap=True)


@contextmanager
def exit_on_sigterm() -> Generator[None]:
    """Turn SIGTERM into SystemExit, so that the live display restores the hidden cursor before the process ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, _raise_exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _raise_exit(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


RunView = LineView | JsonView | LiveView
"""A context manager, open while the run is followed. `show` applies an event to the tree and shows it, `note` prints a
message about the connection, and `end` receives the snapshot of the ended run."""


def pick_view(tree: RunProgress, url: str, as_json: bool) -> RunView:
    """The live display on a terminal with cursor control, otherwise lines."""
    if as_json:
        return JsonView(tree)
    return LiveView(tree, url) if can_draw() else LineView(tree)


class JsonTreeView:
    """One line of JSON for each changed document."""

    def __init__(self) -> None:
        self._before: Any = None

    def show(self, document: Any) -> None:
        if document != self._before:
            say(json_line(document))
        self._before = document


class LineTreeView:
    """One line for each new run and for each change of status."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[str, str]] = {}

    def show(self, document: Any) -> None:
        for run in _require_tree(document).walk(with_forks=True):
            if self._before.get(run.run_id) != run.status_key:
                say("".join(text for text, _ in run_parts(run)))
            self._before[run.run_id] = run.status_key
        sys.stdout.flush()


class LiveTreeView(LivePicture):
    """The tree: as much as fits the screen while it is open, complete at the end."""

    def __init__(self, document: Any) -> None:
        super().__init__()
        self._document = document

    def show(self, document: Any) -> None:
        self._document = document

    def _print_final(self) -> None:
        print_tree(self._document, self.console)

    def _render(self) -> Any:
        from rich.console import Group

        is_ascii = self.console.options.ascii_only
        lines = run_tree_lines(_require_tree(self._document), is_ascii, max(1, self.console.height - 1))
        return Group(*(rich_line(line, "crop" if is_ascii else "ellipsis") for line in lines))


RunTreeView = JsonTreeView | LineTreeView | LiveTreeView
"""`show` is called with each new version of the tree's document."""


def print_tree(document: Any, console: "Console | None" = None) -> None:
    """Print the complete tree, with colours if a console is given."""
    is_ascii = console.options.ascii_only if console is not None else not _supports_box_drawing()
    for line in run_tree_lines(_require_tree(document), is_ascii):
        if console is not None:
            console.print(rich_line(line, "ignore"), soft_wrap=True)
        else:
            say(line.text)
    if document.get("truncated") is True:
        count = len(document["runs"])
        say(
            f"only the first {count} runs are shown; `weftwork runs tree RUN` of a child shows the runs below it.",
            err=True,
        )


def _supports_box_drawing() -> bool:
    try:
        "├─└│…".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _require_tree(document: Any) -> TreeRun:
    top = read_tree(document)
    assert top is not None, "the caller has checked the document"
    return top
