"""Goes through the events of a run one at a time, in both directions, with the variables that each one changed.

Works with every host: it reads the log by polling, a page at a time, and keeps only the latest pages. Of all events
that were read it keeps the writes of variables, so that each change can be shown with the value before it.
"""

import contextlib
import os
import re
import sys
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator
from typing import Any, Final

import click
import msgspec

from weftwork.cli.client.event_stream import ReceivedFrame, frame_of_document
from weftwork.cli.client.http_client import Client
from weftwork.cli.console.documents import as_list, as_object
from weftwork.cli.console.text import clean, display_width, json_line, say
from weftwork.cli.render.event_line import event_line
from weftwork.protocol.wire.v1.paths import path_for

MAX_PAGES: Final = 8
"""Pages of events that are kept in memory."""
MAX_VALUE: Final = 300
_KEYS: Final = {
    "n": "n",
    " ": "n",
    "\n": "n",
    "\x1b[C": "n",
    "\x1b[B": "n",
    "p": "p",
    "\x1b[D": "p",
    "\x1b[A": "p",
    "\x7f": "p",
    "g": "g",
    "\x1b[H": "g",
    "\x1b[1~": "g",
    "G": "G",
    "\x1b[F": "G",
    "\x1b[4~": "G",
    "q": "q",
    "\x1b": "q",
    "\x04": "q",
}
"""What keys of a terminal mean: next, previous, first, last and quit."""
_KEY: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|.", re.DOTALL)
_HELP: Final = "n: next  p: previous  g: first  G: last  number, enter: go to  q: quit"
_UNKNOWN: Final = "enter n (next), p (previous), g (first), G (last), a sequence, or q (quit)."

Changes = list[dict[str, Any]]


class Step(msgspec.Struct, frozen=True):
    """An event, and the variables and channels that it wrote. `index` counts the events that the host returned."""

    index: int
    frame: ReceivedFrame
    changes: Changes

    @property
    def document(self) -> dict[str, Any]:
        return {"event": self.frame.data, "changes": self.changes}

    def lines(self) -> Iterator[str]:
        yield event_line(self.frame)
        for change in self.changes:
            name, value = clean(change["name"], 100), clean(_text(change["value"]), MAX_VALUE)
            if "channel" in change:
                yield f"  channel {name} <- {value} ({clean(change['channel'], 100)})"
            else:
                before = f"  (was {clean(_text(change['previous']), MAX_VALUE)})" if "previous" in change else ""
                yield f"  {name} = {value}{before}"


class EventSteps:
    """The events of a run so far, by their index. Reads more of the log when it is needed."""

    def __init__(self, client: Client, run_id: str) -> None:
        self._client = client
        self._path = path_for("pollRunEvents", runId=run_id)
        self._starts: list[int] = []
        """The index of the first event of each page."""
        self._after: list[int] = []
        """The sequence after which each page begins."""
        self._pages: OrderedDict[int, list[ReceivedFrame]] = OrderedDict()
        self._writes: dict[str, tuple[list[int], list[bytes]]] = {}
        """The indices of the writes of each variable, and the encoded values."""
        self._last = -1
        self.count = 0
        """How many events were read."""

    def read_more(self) -> bool:
        """Read the next page; False if there are no more events now."""
        frames = self._read(self._last)
        if not frames:
            return False
        self._starts.append(self.count)
        self._after.append(self._last)
        self._keep(len(self._starts) - 1, frames)
        for index, frame in enumerate(frames, self.count):
            for name, value in _variable_writes(frame):
                indices, values = self._writes.setdefault(name, ([], []))
                indices.append(index)
                values.append(msgspec.json.encode(value))
        self.count += len(frames)
        self._last = frames[-1].sequence or 0
        return True

    def step(self, index: int) -> Step | None:
        """An event by its index; None if the log has no such event now."""
        while index >= self.count:
            if not self.read_more():
                return None
        page = bisect_left(self._starts, index + 1) - 1
        if page not in self._pages:
            following = self._starts[page + 1] if page + 1 < len(self._starts) else self.count
            frames = self._read(self._after[page])[: following - self._starts[page]]
            self._keep(page, frames)
        self._pages.move_to_end(page)
        frames = self._pages[page]
        at = index - self._starts[page]
        if at >= len(frames):
            raise click.ClickException("the host no longer returns an event that it returned before.")
        return Step(index, frames[at], self._changes(index, frames[at]))

    def last(self) -> int:
        """The index of the last event that the log has now; -1 if it has none."""
        while self.read_more():
            pass
        return self.count - 1

    def find(self, sequence: int) -> int:
        """The index of the event with this sequence, or of the next one; that of the last event if it is behind."""
        # Hosts may leave out events, so an index is never larger than its sequence.
        while self._last < sequence and self.read_more():
            pass
        low = 0
        high = self.count - 1
        while low < high:
            middle = (low + high) // 2
            step = self.step(middle)
            if step is not None and (step.frame.sequence or 0) < sequence:
                low = middle + 1
            else:
                high = middle
        return high

    def _read(self, after: int) -> list[ReceivedFrame]:
        page = self._client.get(self._path, lastSequence=after, timeout=1)
        frames = [frame_of_document(each, "") for each in as_list(as_object(page).get("events"))]
        # A host that has no more may repeat events.
        return [frame for frame in frames if frame.sequence is not None and frame.sequence > after]

    def _keep(self, page: int, frames: list[ReceivedFrame]) -> None:
        self._pages[page] = frames
        if len(self._pages) > MAX_PAGES:
            self._pages.popitem(last=False)

    def _changes(self, index: int, frame: ReceivedFrame) -> Changes:
        changes: Changes = []
        for name, value in _variable_writes(frame):
            change: dict[str, Any] = {"name": name, "value": value}
            indices, values = self._writes[name]
            if (at := bisect_left(indices, index)) > 0:
                change["previous"] = msgspec.json.decode(values[at - 1])
            changes.append(change)
        payload = as_object(as_object(frame.data).get("payload"))
        if frame.event_type == "channel.written":
            reducer = str(payload.get("reducer", "written"))
            changes.append(
                {"name": str(payload.get("channel", "?")), "value": payload.get("value"), "channel": reducer}
            )
        return changes


def _variable_writes(frame: ReceivedFrame) -> list[tuple[str, Any]]:
    """The variables that an event writes: inputs are written when the run starts."""
    payload = as_object(as_object(frame.data).get("payload"))
    if frame.event_type == "variable.changed":
        return [(str(payload.get("name", "?")), payload.get("next"))]
    if frame.event_type == "run.started":
        return list(as_object(payload.get("inputs")).items())
    return []


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def print_steps(steps: EventSteps) -> None:
    """Print every event so far as one object on one line."""
    index = 0
    while (step := steps.step(index)) is not None:
        say(json_line(step.document))
        index += 1


def step_by_lines(steps: EventSteps, read_line: Callable[[], str]) -> None:
    """Go through the events by commands, one on each line, until they end."""
    _Walk(steps, _print_step).follow(_read_commands(read_line))


def _read_commands(read_line: Callable[[], str]) -> Iterator[str]:
    while True:
        try:
            line = read_line()
        except UnicodeDecodeError:
            line = "?\n"
        if not line:
            return
        yield line.strip() or "n"


def step_by_keys(steps: EventSteps, columns: Callable[[], int], can_redraw: bool) -> None:
    """Go through the events by keys of a terminal. With `can_redraw`, each event replaces the one before it."""
    screen = _Screen(columns, can_redraw)
    with _open_keyboard() as read:
        _Walk(steps, screen.show, screen.note).follow(_typed_commands(read, screen))


@contextlib.contextmanager
def _open_keyboard() -> Generator[Callable[[], str]]:
    """A function that waits for keys and returns all that were pressed. The terminal does not echo them."""
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    # Once for all keys, and at once, because a change that waits or flushes would lose what was typed meanwhile.
    tty.setcbreak(terminal, termios.TCSANOW)
    try:
        yield lambda: os.read(terminal, 256).decode(errors="replace")
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _typed_commands(read: Callable[[], str], screen: "_Screen") -> Iterator[str]:
    """The commands of the keys. Digits are collected until enter."""
    digits = ""
    while typed := read():
        for key in _KEY.findall(typed):
            if key.isdecimal() and key.isascii():
                digits += key
                screen.note(f"go to {digits}")
            elif digits and key in ("\x7f", "\b"):
                digits = digits[:-1]
                screen.note(f"go to {digits}")
            elif digits:
                yield digits if key == "\n" else _KEYS.get(key, "?")
                digits = ""
            else:
                yield _KEYS.get(key, "?")


def _print_step(step: Step) -> None:
    for line in step.lines():
        say(line)


def _print_note(text: str) -> None:
    say(text, err=True)


class _Walk:
    """The position in the log."""

    def __init__(
        self, steps: EventSteps, show: Callable[[Step], None], note: Callable[[str], None] = _print_note
    ) -> None:
        self._steps = steps
        self._show = show
        self._note = note
        self._at = 0

    def follow(self, commands: Iterator[str]) -> None:
        """Show the first event, and then the event of each command, until there are no more commands or one is q."""
        if not self._go(0, "the run has no events yet."):
            return
        for command in commands:
            if command == "q":
                return
            self._obey(command)

    def _obey(self, command: str) -> None:
        if command == "n":
            self._go(self._at + 1, "this is the last event so far.")
        elif command == "p":
            self._go(self._at - 1, "this is the first event.")
        elif command == "g":
            self._go(0, "")
        elif command == "G":
            self._go(self._steps.last(), "")
        elif command.isdecimal() and command.isascii() and len(command) < 16:
            self._go(self._steps.find(int(command)), "")
        else:
            self._note(_UNKNOWN)

    def _go(self, index: int, refusal: str) -> bool:
        step = self._steps.step(index) if index >= 0 else None
        if step is None:
            self._note(refusal)
            return False
        self._at = index
        self._show(step)
        return True


class _Screen:
    """Draws one step and a line of help; the next step replaces it."""

    def __init__(self, columns: Callable[[], int], can_redraw: bool) -> None:
        self._columns = columns
        self._can_redraw = can_redraw
        self._rows = 0
        self._lines: list[str] = []

    def show(self, step: Step) -> None:
        self._lines = list(step.lines())
        self._draw(_HELP)

    def note(self, text: str) -> None:
        self._draw(text)

    def _draw(self, last: str) -> None:
        if self._can_redraw and self._rows:
            # To the first line of what was drawn before, and clear all below.
            click.echo(f"\x1b[{self._rows}A\x1b[J", nl=False)
        width = max(20, self._columns() - 1)
        rows = [_cut(line, width) if self._can_redraw else line for line in (*self._lines, last)]
        for row in rows:
            say(row)
        self._rows = len(rows)


def _cut(line: str, width: int) -> str:
    """The line on one row of a terminal."""
    if display_width(line) <= width:
        return line
    cut = line[: width - 1]
    while display_width(cut) >= width:
        cut = cut[:-1]
    return f"{cut}…"
