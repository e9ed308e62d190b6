"""Media in Python nodes that are read from files: as far as they may be, and nobody waits."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.python.calls.media_nodes import PNG, media_error, run_media_node
from weftwork.adapters.python.calls import media
from weftwork.protocol.limits import Limits


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "dot.png"
    path.write_bytes(PNG)
    result, _ = run_media_node(lambda ctx: ctx.emit_image(path))
    assert result.media[0].data == PNG
    failed, _ = run_media_node(lambda ctx: ctx.emit_image(tmp_path / "nothing.png"))
    assert failed.error is not None
    assert failed.error.code == "node_failed"
    assert isinstance(failed.raised, FileNotFoundError)


SMALL = Limits(max_upload_bytes=99)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dot.png"
    path.write_bytes(PNG)
    assert media_error(lambda ctx: ctx.emit_image(path), SMALL) == ("media_too_large", [])
    assert media_error(lambda ctx: ctx.emit_image(PNG), SMALL) == ("media_too_large", [])
    read: list[int] = []
    opened = open

    def watched(*given: Any) -> Any:
        return _Watched(opened(*given), read)

    monkeypatch.setattr(media, "open", watched, raising=False)
    assert media_error(lambda ctx: ctx.emit_image(path), SMALL)[0] == "media_too_large"
    assert read == []
    # Without the look at its size, it is read.
    monkeypatch.setattr(os, "fstat", lambda _: os.stat_result((0o100644, *[0] * 9)))
    assert media_error(lambda ctx: ctx.emit_image(path), SMALL)[0] == "media_too_large"
    assert read == [100]


class _Watched:
    """A file whose reads are seen."""

    def __init__(self, file: Any, seen: list[int]) -> None:
        self._file = file
        self._seen = seen
        self.fileno = file.fileno

    def read(self, size: int) -> bytes:
        self._seen.append(size)
        return self._file.read(size)

    def __enter__(self) -> "_Watched":
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()


def test_a_pipe_and_a_folder_keep_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    waited, _ = run_media_node(lambda ctx: ctx.emit_image(pipe))
    assert waited.error is not None
    assert (waited.error.code, "regular file" in waited.error.message) == ("node_misused", True)
    failed, _ = run_media_node(lambda ctx: ctx.emit_image(tmp_path))
    assert failed.error is not None
    # Without the look at what it is, a pipe counts as an empty file.
    monkeypatch.setattr(stat, "S_ISREG", lambda _: True)
    result, _ = run_media_node(lambda ctx: ctx.emit_image(pipe))
    assert result.error is not None
    assert "no bytes" in result.error.message
