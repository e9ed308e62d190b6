"""Three ways to show a tree of runs while it goes on: drawn in place, a line for each change, or JSON lines."""

import sys
from typing import TYPE_CHECKING, Any

from weftwork.cli.client.run_tree import TreeRun, read_tree
from weftwork.cli.console.text import json_line, say
from weftwork.cli.follow.run_views import LivePicture
from weftwork.cli.render.run_tree_lines import rich_line, run_parts, run_tree_lines

if TYPE_CHECKING:
    from rich.console import Console


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
