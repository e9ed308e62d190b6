"""Three views of a running run or run tree: a live drawing on a terminal, text lines, or JSON lines."""

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
    """A view that has nothing to put back."""

    def __init__(self, tree: RunProgress) -> None:
        self._tree = tree

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        sys.stdout.flush()

    def note(self, text: str) -> None:
        say(text, err=True)


class LineView(_PlainView):
    """One line for each event, at once."""

    def show(self, frame: ReceivedFrame) -> None:
        again = is_repeat(self._tree, frame)
        self._tree.apply(frame)
        if not again:
            say(run_event_line(self._tree, frame))

    def end(self, snapshot: Any) -> None:
        self._tree.update_children(snapshot)
        if self._tree.children:
            self.note(describe_children(self._tree.children))


class JsonView(_PlainView):
    """The documents of the events, one on each line, and the snapshot as the last."""

    def show(self, frame: ReceivedFrame) -> None:
        self._tree.apply(frame)
        say(json_line(frame.data))

    def end(self, snapshot: Any) -> None:
        say(json_line(snapshot))


class LivePicture:
    """A picture that is drawn anew in place while it is open, and once more at the end, to stay."""

    def __init__(self, console: "Console | None" = None) -> None:
        from rich.console import Console

        self.console = console or Console(highlight=False, markup=False, emoji=False)
        self._signal_guard = exit_on_sigterm()

    def __enter__(self) -> Self:
        from rich.live import Live

        self._signal_guard.__enter__()
        # It draws at once, so it is made only when the picture is complete.
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
    """The nodes of a run, the runs below it, and its log lines."""

    def __init__(self, tree: RunProgress, url: str, console: "Console | None" = None) -> None:
        from weftwork.cli.render.run_display import RunDisplay

        super().__init__(console)
        self._tree = tree
        self._display = RunDisplay(tree, url, self.console)
        # rich draws in a thread of its own.
        self._lock = threading.Lock()

    def show(self, frame: ReceivedFrame) -> None:
        with self._lock:
            self._tree.apply(frame)

    def set_outline(self, places: "Sequence[OutlineRow]") -> None:
        """The nodes of the definition, where it is known."""
        with self._lock:
            self._tree.set_outline(places)

    def set_run_tree(self, top: TreeRun) -> None:
        """The runs below, as the host tells of them now."""
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
    """The cursor is hidden while a picture is drawn: whoever ends this gets it back first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _raise_exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _raise_exit(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


RunView = LineView | JsonView | LiveView
"""Open while the run is followed. `show` takes an event and applies it to the tree, `note` a text about the connection,
and `end` the snapshot of the run once it is over."""


def pick_view(tree: RunProgress, url: str, as_json: bool) -> RunView:
    """The picture only where it can be drawn, and drawn anew."""
    if as_json:
        return JsonView(tree)
    return LiveView(tree, url) if can_draw() else LineView(tree)


class JsonTreeView:
    """The document, each time that it is another one."""

    def __init__(self) -> None:
        self._before: Any = None

    def show(self, document: Any) -> None:
        if document != self._before:
            say(json_line(document))
        self._before = document


class LineTreeView:
    """A line for each run that is new, or stands otherwise than before."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[str, str]] = {}

    def show(self, document: Any) -> None:
        for run in _require_tree(document).walk():
            if self._before.get(run.run_id) != run.status_key:
                say("".join(text for text, _ in run_parts(run)))
            self._before[run.run_id] = run.status_key
        sys.stdout.flush()


class LiveTreeView(LivePicture):
    """The tree, as much as fits while it is open; whole at the end."""

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
"""Is shown one document after the other."""


def print_tree(document: Any, console: "Console | None" = None) -> None:
    """The whole tree once, with colours if it is for a console."""
    is_ascii = console.options.ascii_only if console is not None else not _supports_box_drawing()
    for line in run_tree_lines(_require_tree(document), is_ascii):
        if console is not None:
            console.print(rich_line(line, "ignore"), soft_wrap=True)
        else:
            say(line.text)
    if document.get("truncated") is True:
        count = len(document["runs"])
        say(f"There are more than {count} runs; `weftwork runs tree` of one of them shows those below it.", err=True)


def _supports_box_drawing() -> bool:
    try:
        "├─└│…".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _require_tree(document: Any) -> TreeRun:
    top = read_tree(document)
    assert top is not None, "what is no tree is not shown"
    return top
