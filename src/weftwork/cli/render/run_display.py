"""The display of a run on a terminal: a tree of nodes with states, attempts and times, and log lines below.

Every text of the host goes through `clean` into rich texts, which interpret neither escapes nor markup.
"""

import json
import time
from textwrap import wrap
from typing import Any, Final

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.text import Text

from weftwork.cli.client.run_tree import MAX_LISTED_INTERRUPTS, TreeRun, describe_children, find_waiting_runs
from weftwork.cli.console.table import colour
from weftwork.cli.console.text import clean
from weftwork.cli.render import node_lines
from weftwork.cli.render.event_line import named_values
from weftwork.cli.render.interrupt_text import answer_command
from weftwork.cli.render.node_lines import DetailLine, HiddenRows
from weftwork.cli.render.run_progress import NodeProgress, RunProgress
from weftwork.cli.render.run_tree_lines import LEVEL_WIDTH, OutlineRow, branch_prefixes, rich_line, run_tree_lines
from weftwork.protocol.run.header import TERMINAL_STATUSES

LIVE_LOG_LINES: Final = 8
"""Log lines that are shown while the run goes on."""
MIN_FINAL_LINES: Final = 40
"""Lines of nodes that stay on the screen, if it is not larger."""
_LEVEL_STYLES: Final = {"error": "red", "warn": "yellow", "debug": "dim"}
_MAX_OUTPUTS: Final = 2000
_MAX_NAME: Final = 60
_MIN_WIDTH: Final = 8
_DETAIL_LINES: Final = 8
"""Lines below a node while the run goes on."""
_MIN_DESCENDANT_LINES: Final = 6
"""Lines for the runs below, if there are so many."""
_DESCENDANT_DETAIL_LINES: Final = 3
"""Lines of what a run below asks while the run goes on."""
_MARGIN: Final = "  "


class RunDisplay:
    """Draws a tree as it stands. The time of what still runs goes on between events."""

    def __init__(self, tree: RunProgress, url: str, console: Console) -> None:
        self._tree = tree
        self._url = url
        self._console = console
        self._is_ascii = console.options.ascii_only
        self._last_seen = (tree.last_event_at, time.monotonic())

    def live(self) -> RenderableType:
        """As much as fits the screen, each line cut to its width."""
        tail = [*self._descendants(), *self._log_tail(list(self._tree.log_lines)[-LIVE_LOG_LINES:])]
        lines = [self._head(True), *self._nodes(self._console.height - len(tail) - 2, True), *tail]
        if self._is_ascii:
            for line in lines:
                # An ellipsis would be spelled out, and then not fit.
                line.overflow = "crop"
        return Group(*lines)

    def final(self) -> RenderableType:
        """What stays: the nodes, all lines that are kept, and what came of the run."""
        nodes = self._nodes(max(MIN_FINAL_LINES, self._console.height), False)
        lines = [
            self._head(False),
            *nodes,
            *self._children(),
            *self._log_tail(list(self._tree.log_lines)),
            *self._result(),
        ]
        for line in lines:
            # What is to be copied must not be cut; the terminal wraps it.
            line.overflow = "ignore"
        return Group(*lines)

    def _now(self) -> float | None:
        """The host's time, carried on from the newest event by our own clock."""
        if self._last_seen[0] != self._tree.last_event_at:
            self._last_seen = (self._tree.last_event_at, time.monotonic())
        last, since = self._last_seen
        return None if last is None else last + (time.monotonic() - since) * 1000

    def _head(self, is_cut: bool) -> Text:
        tree = self._tree
        ended = tree.status in ("completed", "failed", "cancelled")
        status = "waiting" if not ended and (tree.waiting_nodes or tree.has_waiting_child) else tree.status
        time_taken = node_lines.duration_text(tree.started, tree.last_event_at if ended else self._now())
        name = (clean(tree.workflow_id or "run", 100), "bold")
        run_id = (f"  {clean(tree.run_id, 60)}", "dim")
        how = (f"  {clean(status, 40)}", "magenta" if status == "waiting" else colour(tree.status))
        line = _line(name, run_id, how, (f"  {time_taken}" if time_taken else "", ""))
        # The id stays with the picture that stays.
        return line if not is_cut or line.cell_len <= self._console.width else _line(name, how, ("  " + time_taken, ""))

    def _nodes(self, room: int, is_cut: bool) -> list[Text]:
        rows = list(self._tree.nodes.values())
        below: dict[int, list[DetailLine]] = {}

        def height(at: int) -> int:
            # Only what may be shown is put into words: there may be thousands, several times a second.
            if at not in below:
                found = node_lines.detail_lines(rows[at], self._url, self._tree.run_id)
                below[at] = self._shorten(found, _DETAIL_LINES) if is_cut else found
            return 1 + len(below[at])

        parts = node_lines.select_rows(rows, room, height)
        # A line for several stands where the first of them does.
        names = [rows[each.first if isinstance(each, HiddenRows) else each].node_id for each in parts]
        places = [self._tree.outline.get(node_id, OutlineRow(node_id)) for node_id in names]
        deepest = max(1, self._console.width // (4 * LEVEL_WIDTH))
        found: list[Text] = []
        for part, (beside, under) in zip(parts, branch_prefixes(places, deepest, self._is_ascii), strict=True):
            if isinstance(part, HiddenRows):
                more = node_lines.hidden_rows_text(rows[part.first : part.end])
                found.append(_line((f"{_MARGIN}{beside}{'...' if self._is_ascii else '…'} {more}", "dim")))
                continue
            found.append(self._node(rows[part], beside, is_cut))
            for text, how, is_pasted in below.get(part, ()):
                found.append(_line((_MARGIN if is_pasted else f"{_MARGIN}{under} ", "dim"), (text, how)))
        return found

    def _shorten(self, found: list[DetailLine], most: int) -> list[DetailLine]:
        """Long words in a few lines: the screen has to hold more than this."""
        room = max(_MIN_WIDTH, self._console.width * 3 // 4)
        told = [each for each in found if not each.is_command]
        lines = [
            DetailLine(line, each.style) for each in told for line in wrap(each.text, room, subsequent_indent="  ")
        ]
        kept = lines if len(lines) <= most else [*lines[: most - 1], DetailLine("Ctrl-C prints all of it", "dim")]
        pasted = [each for each in found if each.is_command]
        if any(len(each.text) > self._console.width - len(_MARGIN) for each in pasted):
            # Half a command must not be pasted.
            pasted = [DetailLine("Ctrl-C prints how to answer", "dim")]
        return [*kept, *pasted]

    def _node(self, row: NodeProgress, beside: str, is_cut: bool) -> Text:
        told = node_lines.state_text(row, self._now())
        told = f"  {told}" if told else ""
        kind = f"  {clean(row.type_id, _MAX_NAME)}" if row.type_id else ""
        room = self._console.width - len(_MARGIN) - len(beside) - 2 - cell_len(told)
        name = clean(row.node_id, _MAX_NAME)
        # How a node stands says more than its type or the end of its name.
        if cell_len(name) + cell_len(kind) > room:
            kind = ""
        if is_cut and cell_len(name) > room:
            name = clean(row.node_id, max(_MIN_WIDTH, min(room, _MAX_NAME)))
        faint = "dim" if node_lines.style(row) == "dim" else ""
        return _line(
            (f"{_MARGIN}{beside}", "dim"),
            (f"{node_lines.symbol(row, self._is_ascii)} ", node_lines.style(row)),
            (name, faint),
            (kind, "dim"),
            (told, node_lines.style(row)),
        )

    def _descendants(self) -> list[Text]:
        """The runs below that go on, in a third of the screen at most; those that are over are counted."""
        top = self._tree.run_tree if self._tree.children else None
        if top is None or not any(not run.is_terminal for child in top.children for run in child.walk()):
            return []
        room = max(_MIN_DESCENDANT_LINES, self._console.height // 3)
        lines = run_tree_lines(top, self._is_ascii, room, only_open=True)[1:]
        asked: list[DetailLine] = []
        for run in find_waiting_runs(top)[:MAX_LISTED_INTERRUPTS]:
            more = self._shorten(self._interrupt_details(run), _DESCENDANT_DETAIL_LINES)
            if asked and len(asked) + len(more) > room:
                break
            asked += more
        drawn = [rich_line(line, "ellipsis", _MARGIN) for line in lines]
        return [Text(""), *drawn, *(_line((f"{_MARGIN}{each.text}", each.style)) for each in asked)]

    def _interrupt_details(self, run: TreeRun) -> list[DetailLine]:
        """What a run below asks, as far as that is known, and how to answer it."""
        name = clean(run.workflow_id or "run", _MAX_NAME)
        words = [DetailLine(f"{name} waits; answer it with", "magenta")] if run.interrupt is None else []
        told = words or node_lines.interrupt_lines(f"{name} asks", run.interrupt or {})
        return [*told, DetailLine(answer_command(self._url, run.run_id, run.detail), "", True)]

    def _children(self) -> list[Text]:
        """How many runs it has started, what those that wait ask, and how to answer them."""
        if not self._tree.children:
            return []
        top = self._tree.run_tree
        lines = [Text(""), _line((f"{_MARGIN}{describe_children(top.children)}", ""))]
        if self._tree.status in TERMINAL_STATUSES:
            return lines
        told = [each for run in find_waiting_runs(top)[:MAX_LISTED_INTERRUPTS] for each in self._interrupt_details(run)]
        return [*lines, *(_line((_MARGIN + each.text, each.style)) for each in told)]

    def _log_tail(self, lines: list[tuple[str, str, str, dict[str, Any]]]) -> list[Text]:
        if not lines:
            return []
        earlier = self._tree.dropped_lines + len(self._tree.log_lines) - len(lines)
        told = [_line((f"{_MARGIN}{earlier} earlier lines", "dim"))] if earlier else []
        for level, node_id, message, fields in lines:
            place = f" {clean(node_id, 40)}:" if node_id else ""
            said = " ".join([f"{_MARGIN}{clean(level, 10)}{place} {clean(message, 400)}", *named_values(fields)])
            told.append(_line((said, _LEVEL_STYLES.get(level, ""))))
        return [Text(""), *told]

    def _result(self) -> list[Text]:
        tree = self._tree
        if tree.status == "failed" and tree.error:
            return [Text(""), Text(node_lines.error_text(tree.error), "red")]
        if tree.status == "cancelled" and tree.reason:
            return [Text(""), Text(f"cancelled: {clean(tree.reason, 400)}", "yellow")]
        if tree.status == "completed" and tree.outputs not in (None, {}):
            text = json.dumps(tree.outputs, ensure_ascii=False, indent=2)
            cut = text if len(text) <= _MAX_OUTPUTS else text[:_MAX_OUTPUTS] + "\n…"
            return [Text(""), *(Text(clean(line, _MAX_OUTPUTS)) for line in cut.split("\n"))]
        return []


def _line(*parts: tuple[str, str]) -> Text:
    """One line that is cut rather than wrapped."""
    text = Text(no_wrap=True, overflow="ellipsis")
    for said, how in parts:
        text.append(said, how or None)
    return text
