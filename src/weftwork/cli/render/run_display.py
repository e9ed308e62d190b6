"""The display of a run on a terminal: a tree of nodes with states, attempts and durations, and log lines below.

Every text of the host goes through `clean` into rich `Text` objects, which do not interpret escapes or markup.
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
"""Log lines shown while the run is active."""
MIN_FINAL_LINES: Final = 40
"""Minimum number of node lines in the final output; more if the screen is higher."""
_LEVEL_STYLES: Final = {"error": "red", "warn": "yellow", "debug": "dim"}
_MAX_OUTPUTS: Final = 2000
_MAX_NAME: Final = 60
_MIN_WIDTH: Final = 8
_DETAIL_LINES: Final = 8
"""Lines below a node while the run is active."""
_MIN_DESCENDANT_LINES: Final = 6
"""Lines available for child runs, also on a low screen."""
_DESCENDANT_DETAIL_LINES: Final = 3
"""Lines per open interrupt of a child run while the run is active."""
_MARGIN: Final = "  "


class RunDisplay:
    """Renders the progress of a run. Durations of active nodes advance between events."""

    def __init__(self, tree: RunProgress, url: str, console: Console) -> None:
        self._tree = tree
        self._url = url
        self._console = console
        self._is_ascii = console.options.ascii_only
        self._last_seen = (tree.last_event_at, time.monotonic())

    def live(self) -> RenderableType:
        """As much as fits the screen, each line truncated to its width."""
        tail = [*self._descendants(), *self._log_tail(list(self._tree.log_lines)[-LIVE_LOG_LINES:])]
        lines = [self._head(True), *self._nodes(self._console.height - len(tail) - 2, True), *tail]
        if self._is_ascii:
            for line in lines:
                # rich would write the ellipsis as three dots, which would not fit.
                line.overflow = "crop"
        return Group(*lines)

    def final(self) -> RenderableType:
        """The permanent output: the nodes, all stored log lines, and the result of the run."""
        nodes = self._nodes(max(MIN_FINAL_LINES, self._console.height), False)
        lines = [
            self._head(False),
            *nodes,
            *self._children(),
            *self._log_tail(list(self._tree.log_lines)),
            *self._result(),
        ]
        for line in lines:
            # Text that the user may copy must be complete; the terminal wraps it.
            line.overflow = "ignore"
        return Group(*lines)

    def _now(self) -> float | None:
        """The host's time: the time of the newest event plus the local time since it arrived."""
        if self._last_seen[0] != self._tree.last_event_at:
            self._last_seen = (self._tree.last_event_at, time.monotonic())
        last, since = self._last_seen
        return None if last is None else last + (time.monotonic() - since) * 1000

    def _head(self, is_cut: bool) -> Text:
        tree = self._tree
        has_ended = tree.status in ("completed", "failed", "cancelled")
        status = "waiting" if not has_ended and (tree.waiting_nodes or tree.has_waiting_child) else tree.status
        time_taken = node_lines.duration_text(tree.started, tree.last_event_at if has_ended else self._now())
        name = (clean(tree.workflow_id or "run", 100), "bold")
        run_id = (f"  {clean(tree.run_id, 60)}", "dim")
        status_part = (f"  {clean(status, 40)}", "magenta" if status == "waiting" else colour(tree.status))
        line = _line(name, run_id, status_part, (f"  {time_taken}" if time_taken else "", ""))
        # On a narrow screen the live display omits the run id; the final output has it.
        fits = not is_cut or line.cell_len <= self._console.width
        return line if fits else _line(name, status_part, ("  " + time_taken, ""))

    def _nodes(self, room: int, is_cut: bool) -> list[Text]:
        rows = list(self._tree.nodes.values())
        details: dict[int, list[DetailLine]] = {}

        def height(at: int) -> int:
            # Details are rendered only for rows that may be shown: there can be thousands, several times a second.
            if at not in details:
                lines = node_lines.detail_lines(rows[at], self._url, self._tree.run_id)
                details[at] = self._shorten(lines, _DETAIL_LINES) if is_cut else lines
            return 1 + len(details[at])

        parts = node_lines.select_rows(rows, room, height)
        # A line for hidden rows has the position of the first of them.
        names = [rows[each.first if isinstance(each, HiddenRows) else each].node_id for each in parts]
        places = [self._tree.outline.get(node_id, OutlineRow(node_id)) for node_id in names]
        deepest = max(1, self._console.width // (4 * LEVEL_WIDTH))
        lines: list[Text] = []
        for part, (prefix, detail_prefix) in zip(parts, branch_prefixes(places, deepest, self._is_ascii), strict=True):
            if isinstance(part, HiddenRows):
                hidden_text = node_lines.hidden_rows_text(rows[part.first : part.end])
                lines.append(_line((f"{_MARGIN}{prefix}{'...' if self._is_ascii else '…'} {hidden_text}", "dim")))
                continue
            lines.append(self._node(rows[part], prefix, is_cut))
            for text, style, is_pasted in details.get(part, ()):
                lines.append(_line((_MARGIN if is_pasted else f"{_MARGIN}{detail_prefix} ", "dim"), (text, style)))
        return lines

    def _shorten(self, details: list[DetailLine], max_lines: int) -> list[DetailLine]:
        """Wrap the details to the screen and limit them to `max_lines`, commands not counted."""
        room = max(_MIN_WIDTH, self._console.width * 3 // 4)
        texts = [each for each in details if not each.is_command]
        lines = [
            DetailLine(line, each.style) for each in texts for line in wrap(each.text, room, subsequent_indent="  ")
        ]
        if len(lines) > max_lines:
            lines = [*lines[: max_lines - 1], DetailLine("Ctrl-C prints the rest", "dim")]
        commands = [each for each in details if each.is_command]
        if any(len(each.text) > self._console.width - len(_MARGIN) for each in commands):
            # A truncated command must not be copied.
            commands = [DetailLine("Ctrl-C prints the command", "dim")]
        return [*lines, *commands]

    def _node(self, row: NodeProgress, prefix: str, is_cut: bool) -> Text:
        state = node_lines.state_text(row, self._now())
        state = f"  {state}" if state else ""
        kind = f"  {clean(row.type_id, _MAX_NAME)}" if row.type_id else ""
        room = self._console.width - len(_MARGIN) - len(prefix) - 2 - cell_len(state)
        name = clean(row.node_id, _MAX_NAME)
        # The state is more important than the type or the end of a long name.
        if cell_len(name) + cell_len(kind) > room:
            kind = ""
        if is_cut and cell_len(name) > room:
            name = clean(row.node_id, max(_MIN_WIDTH, min(room, _MAX_NAME)))
        faint = "dim" if node_lines.style(row) == "dim" else ""
        return _line(
            (f"{_MARGIN}{prefix}", "dim"),
            (f"{node_lines.symbol(row, self._is_ascii)} ", node_lines.style(row)),
            (name, faint),
            (kind, "dim"),
            (state, node_lines.style(row)),
        )

    def _descendants(self) -> list[Text]:
        """The active child runs, in at most a third of the screen; ended ones are counted."""
        top = self._tree.run_tree if self._tree.children else None
        if top is None or not any(not run.is_terminal for child in top.children for run in child.walk()):
            return []
        room = max(_MIN_DESCENDANT_LINES, self._console.height // 3)
        lines = run_tree_lines(top, self._is_ascii, room, only_open=True)[1:]
        interrupts: list[DetailLine] = []
        for run in find_waiting_runs(top)[:MAX_LISTED_INTERRUPTS]:
            details = self._shorten(self._interrupt_details(run), _DESCENDANT_DETAIL_LINES)
            if interrupts and len(interrupts) + len(details) > room:
                break
            interrupts += details
        drawn = [rich_line(line, "ellipsis", _MARGIN) for line in lines]
        return [Text(""), *drawn, *(_line((f"{_MARGIN}{each.text}", each.style)) for each in interrupts)]

    def _interrupt_details(self, run: TreeRun) -> list[DetailLine]:
        """The open interrupt of a child run, if it is known, and the command that answers it."""
        name = clean(run.workflow_id or "run", _MAX_NAME)
        waiting = [DetailLine(f"{name} waits; answer with", "magenta")] if run.interrupt is None else []
        lines = waiting or node_lines.interrupt_lines(f"{name} requests", run.interrupt or {})
        return [*lines, DetailLine(answer_command(self._url, run.run_id, run.detail), "", True)]

    def _children(self) -> list[Text]:
        """The number of child runs, and the open interrupts of the waiting ones with their commands."""
        if not self._tree.children:
            return []
        top = self._tree.run_tree
        lines = [Text(""), _line((f"{_MARGIN}{describe_children(top.children)}", ""))]
        if self._tree.status in TERMINAL_STATUSES:
            return lines
        details = [
            each for run in find_waiting_runs(top)[:MAX_LISTED_INTERRUPTS] for each in self._interrupt_details(run)
        ]
        return [*lines, *(_line((_MARGIN + each.text, each.style)) for each in details)]

    def _log_tail(self, lines: list[tuple[str, str, str, dict[str, Any]]]) -> list[Text]:
        if not lines:
            return []
        earlier = self._tree.dropped_lines + len(self._tree.log_lines) - len(lines)
        tail = [_line((f"{_MARGIN}{earlier} earlier lines", "dim"))] if earlier else []
        for level, node_id, message, fields in lines:
            node = f" {clean(node_id, 40)}:" if node_id else ""
            text = " ".join([f"{_MARGIN}{clean(level, 10)}{node} {clean(message, 400)}", *named_values(fields)])
            tail.append(_line((text, _LEVEL_STYLES.get(level, ""))))
        return [Text(""), *tail]

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
    """One line that is truncated, not wrapped."""
    text = Text(no_wrap=True, overflow="ellipsis")
    for content, style in parts:
        text.append(content, style or None)
    return text
