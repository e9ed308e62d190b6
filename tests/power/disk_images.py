"""What a disk may hold after the power went: all that was synced, and any part of what was not."""

from pathlib import Path
from random import Random
from typing import Final

from tests.power.recording_disk import DiskOperation

SECTOR: Final = 512
LOSS_MODES: Final = ("none", "all", "sectors", "cut", "sizes")
"""Of the operations since the last sync of a file: none is kept, or all; or each sector of each for itself; or
all up to one byte and nothing after it; or what they did to the size of the file and not to its content."""


class _File:
    def __init__(self) -> None:
        self.kept = bytearray()
        self.pending: list[DiskOperation] = []


class DiskState:
    """The disk after the first `point` operations of a log. `dice` decides what a failed sync has lost."""

    def __init__(self, log: list[DiskOperation], dice: Random) -> None:
        self._log = log
        self._dice = dice
        self._files: dict[int, _File] = {}
        self._names: dict[str, int] = {}
        self._moves: list[DiskOperation] = []
        self.point = 0

    def advance(self, point: int) -> None:
        """Go on to a later point."""
        for op in self._log[self.point : point]:
            self._apply(op)
        self.point = point

    def image(self, dice: Random, loss: str | None = None) -> dict[str, bytes]:
        """The files by name, if the power goes now. Without `loss` each has its own."""
        names = dict(self._names)
        for name in sorted({op.name for op in self._moves}):
            moves = [op for op in self._moves if op.name == name]
            for op in moves[: _kept_writes(dice, loss, len(moves))]:
                _apply_names(names, op)
        return {
            name: _content(self._files[number], dice, loss or dice.choice(LOSS_MODES)) for name, number in names.items()
        }

    def _apply(self, op: DiskOperation) -> None:
        match op.kind:
            case "create":
                self._files[op.file] = _File()
                self._moves.append(op)
            case "delete":
                self._moves.append(op)
            case "folder":
                for move in self._moves:
                    _apply_names(self._names, move)
                self._moves.clear()
            case "sync":
                file = self._files[op.file]
                for pending in file.pending:
                    _write(file.kept, pending)
                file.pending.clear()
            case "unsynced":
                # The system may have dropped what it could not write, and the next sync will not bring it back.
                file = self._files[op.file]
                file.kept = bytearray(_content(file, self._dice, self._dice.choice(LOSS_MODES)))
                file.pending.clear()
            case "write" | "truncate":
                self._files[op.file].pending.append(op)


def put_image(folder: Path, image: dict[str, bytes], dice: Random) -> None:
    """Write the files; where there is a write-ahead log, its index is there too and holds anything."""
    for name, content in image.items():
        (folder / name).write_bytes(content)
        if name.endswith("-wal") and dice.random() < 0.5:
            (folder / f"{name[:-4]}-shm").write_bytes(dice.randbytes(32_768))


def _apply_names(names: dict[str, int], op: DiskOperation) -> None:
    if op.kind == "create":
        names[op.name] = op.file
    else:
        names.pop(op.name, None)


def _kept_writes(dice: Random, loss: str | None, most: int) -> int:
    if loss in ("none", "all"):
        return most if loss == "all" else 0
    return dice.randint(0, most)


def _content(file: _File, dice: Random, loss: str) -> bytes:
    content = bytearray(file.kept)
    likely = dice.choice((0.1, 0.5, 0.9))
    left = dice.randint(0, sum(len(op.data) for op in file.pending))
    for op in file.pending:
        if loss == "all":
            _write(content, op)
        elif loss == "cut":
            if op.kind == "write":
                op, left = op._replace(data=op.data[:left]), left - len(op.data)
            _write(content, op)
            if left <= 0:
                break
        elif loss == "sizes":
            size = op.at + len(op.data)
            if op.kind == "truncate" or size > len(content):
                _resize(content, size)
        elif loss == "sectors":
            if op.kind == "truncate":
                if dice.random() < likely:
                    _write(content, op)
                continue
            for part in _sectors(op):
                if dice.random() < likely:
                    _write(content, part)
    return bytes(content)


def _sectors(op: DiskOperation) -> list[DiskOperation]:
    """The write in pieces, each within one sector."""
    first = SECTOR - op.at % SECTOR
    starts = [0, *range(first, len(op.data), SECTOR)]
    ends = [*starts[1:], len(op.data)]
    return [op._replace(at=op.at + start, data=op.data[start:end]) for start, end in zip(starts, ends, strict=True)]


def _write(content: bytearray, op: DiskOperation) -> None:
    if op.kind == "truncate":
        _resize(content, op.at)
    elif op.data:
        if op.at > len(content):
            _resize(content, op.at)
        content[op.at : op.at + len(op.data)] = op.data


def _resize(content: bytearray, size: int) -> None:
    del content[size:]
    content.extend(bytes(size - len(content)))
