"""Reads the settings file: TOML, with the line of each table and key for messages.

`tomllib` does not report positions. `find_lines` is therefore a second pass over the text, after tomllib has accepted
it: it follows keys, table headers, arrays and inline tables, and skips everything else. It goes through the text once.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

MAX_PATH: Final = 8
"""Deeper values have the line of their ancestor at this depth, so that the size of the table is linear in the text."""

SettingPath = tuple[str | int, ...]


class UnreadableSettings(Exception):
    """The settings file cannot be read or is not TOML. The message names the file."""


class SettingsFile(msgspec.Struct, frozen=True):
    """A settings file that was read. Without a file, all members are empty."""

    path: str = ""
    document: dict[str, Any] = {}
    lines: Mapping[SettingPath, int] = {}

    def place(self, path: SettingPath) -> str:
        """The file and the line of a value, or of the innermost table around it that has a line; an empty text if the
        file does not contain it."""
        for length in range(len(path), 0, -1):
            if (line := self.lines.get(path[:length])) is not None:
                return f"{self.path}:{line}"
        return ""


def read_settings_file(file: Path) -> SettingsFile:
    """Raises UnreadableSettings."""
    try:
        text = file.read_text("utf-8")
        return SettingsFile(str(file), tomllib.loads(text), find_lines(text))
    except OSError as error:
        raise UnreadableSettings(f"cannot read {file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UnreadableSettings(f"{file} is not valid TOML: {error}") from None
    except RecursionError:
        raise UnreadableSettings(f"{file} has arrays or tables that are nested too deeply") from None


_TOKEN: Final = re.compile(
    r"""[ \t\r]*+(?:
        (?P<line>\n)
        | (?P<comment>\#[^\n]*+)
        | (?P<string>
            \"{3}(?:[^"\\]++|\\.|\"(?!\"\"))*+\"{3,5}
            | '{3}(?:[^']++|'(?!''))*+'{3,5}
            | "(?:[^"\\\n]++|\\.)*+"
            | '[^'\n]*+')
        | (?P<mark>[\[\]{}=,.])
        | (?P<word>[^\s\#"'\[\]{}=,.]++)
    )""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(slots=True)
class _Container:
    """An open array or inline table."""

    path: SettingPath
    is_table: bool
    index: int = 0


@dataclass(slots=True)
class _Scan:
    lines: dict[SettingPath, int] = field(default_factory=dict[SettingPath, int])
    sizes: dict[SettingPath, int] = field(default_factory=dict[SettingPath, int])
    """The number of tables so far of each array of tables."""
    table: SettingPath = ()
    key: list[str] = field(default_factory=list[str])
    """The parts of the key or of the table name that is being read."""
    open: list[_Container] = field(default_factory=list[_Container])
    header: int = 0
    """The number of brackets of the table header that is being read; 0 outside of one."""
    in_value: bool = False
    value_path: SettingPath = ()

    def record(self, path: SettingPath, line: int) -> None:
        """Record the line of a value, and of the tables around it that begin with it."""
        for length in range(min(len(path), MAX_PATH), 0, -1):
            if path[:length] in self.lines:
                return
            self.lines[path[:length]] = line

    @property
    def reads_key(self) -> bool:
        return bool(self.header) or not self.in_value

    def end_header(self, line: int) -> None:
        """The table header is complete: the following keys belong to its table."""
        path = (*self._parent(), *self.key[-1:])[:MAX_PATH]
        if self.header == 2:
            self.sizes[path] = self.sizes.get(path, 0) + 1
            self.record(path, line)
            path = (*path, self.sizes[path] - 1)
        self.record(path, line)
        self.table, self.key, self.header = path[:MAX_PATH], [], 0

    def _parent(self) -> SettingPath:
        """The path of the table around the one in the header. The name of an array of tables means its last table."""
        path: SettingPath = ()
        for part in self.key[:-1][:MAX_PATH]:
            path = (*path, part)
            if size := self.sizes.get(path):
                path = (*path, size - 1)
        return path

    def begin_value(self, line: int) -> None:
        """The key is complete: its value follows."""
        base = self.open[-1].path if self.open else self.table
        path = (*base, *self.key[:MAX_PATH])[:MAX_PATH]
        self.record(path, line)
        self.value_path, self.key, self.in_value = path, [], True


def find_lines(text: str) -> dict[SettingPath, int]:
    """The line of each table, key and array item of a valid TOML document, by its path."""
    scan = _Scan()
    position, line = 0, 1
    while (match := _TOKEN.match(text, position)) is not None:
        position = match.end()
        kind, token = match.lastgroup, match[match.lastgroup or 0]
        if kind == "mark":
            _take_mark(scan, token, line, text[position : position + 1])
        elif kind in ("string", "word"):
            _take_text(scan, token, line)
        elif kind == "line" and not scan.open:
            scan.in_value, scan.key = False, []
        line += token.count("\n")
    return scan.lines


def _take_mark(scan: _Scan, mark: str, line: int, after: str) -> None:
    if scan.header:
        if mark == "[":
            scan.header = 2
        elif mark == "]" and scan.key:
            scan.end_header(line)
    elif mark == "[" and not scan.in_value:
        # The second bracket of `]]` comes when no header is open, and is skipped.
        scan.header = 1
    elif mark in "[{" and scan.in_value:
        path = _item_path(scan)
        scan.record(path, line)
        scan.open.append(_Container(path, mark == "{"))
        scan.in_value = mark == "["
    elif mark in "]}" and scan.open:
        scan.open.pop()
        scan.in_value = True
    elif mark == "," and scan.open:
        scan.open[-1].index += 1
        scan.in_value, scan.key = not scan.open[-1].is_table, []
    elif mark == "=" and not scan.in_value:
        scan.begin_value(line)


def _take_text(scan: _Scan, token: str, line: int) -> None:
    if scan.reads_key:
        scan.key.append(_name(token))
    elif scan.open and not scan.open[-1].is_table:
        scan.record(_item_path(scan), line)


def _item_path(scan: _Scan) -> SettingPath:
    """The path of the value that begins here."""
    if scan.open and not scan.open[-1].is_table:
        return (*scan.open[-1].path, scan.open[-1].index)[:MAX_PATH]
    return scan.value_path


def _name(token: str) -> str:
    """The name that a part of a key stands for."""
    if token[0] not in "\"'":
        return token
    return str(tomllib.loads(f"x = {token}")["x"])
