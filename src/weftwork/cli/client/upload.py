"""Files on their way to a host: looked at before anything is sent, then sent in pieces."""

import hashlib
import mimetypes
import shutil
import stat
import sys
import tempfile
from base64 import b64encode
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from weftwork.cli.console.text import clean
from weftwork.protocol.media.media_types import UNKNOWN_TYPE

_CHUNK_BYTES: Final = 262_144


class Upload:
    """A file and its digest. Iterating reads it again, so that it can be sent again.

    `spooled` has the bytes of a `path` that is no file. Raises UsageError for what cannot be sent.
    """

    def __init__(
        self, path: str, media_type: str | None = None, name: str | None = None, spooled: Path | None = None
    ) -> None:
        self.path = path
        self.name = Path(path).name if name is None else name
        self._file_path = spooled or Path(path)
        self.on_progress: Callable[[int], None] = lambda count: None
        """Told how many bytes were sent."""
        try:
            found = self._file_path.stat()
            if stat.S_ISDIR(found.st_mode):
                raise click.UsageError(f"{clean(path, 200)} is a folder; name a file.")
            if not stat.S_ISREG(found.st_mode):
                raise click.UsageError(f"{clean(path, 200)} is not a file.")
            self.size = found.st_size
            with self._file_path.open("rb") as file:
                self.sha256 = hashlib.file_digest(file, "sha256").digest()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "no such name"
            raise click.UsageError(f"{clean(path, 200)} cannot be read: {why}.") from None
        if not self.size:
            raise click.UsageError(f"{clean(path, 200)} is empty.")
        # What the system's tables say differs from machine to machine; the host looks at the bytes anyway.
        self.media_type = media_type or mimetypes.guess_type(self.name)[0] or UNKNOWN_TYPE
        if not (self.media_type.isascii() and self.media_type.isprintable() and "/" in self.media_type):
            raise click.UsageError(f"{clean(self.media_type, 60)} is no media type such as image/png.")

    @property
    def headers(self) -> dict[str, str]:
        return {
            "Content-Type": self.media_type,
            "Content-Length": str(self.size),
            "Content-Digest": f"sha-256=:{b64encode(self.sha256).decode()}:",
        }

    def __iter__(self) -> Iterator[bytes]:
        sent = 0
        try:
            with self._file_path.open("rb") as file:
                while sent < self.size and (piece := file.read(min(_CHUNK_BYTES, self.size - sent))):
                    yield piece
                    sent += len(piece)
                    self.on_progress(sent)
        except OSError as error:
            if error.filename is None:
                # Of the connection, which is somebody else's to tell.
                raise
            raise click.ClickException(f"{clean(self.path, 200)} cannot be read: {error.strerror}.") from None
        if sent < self.size:
            raise click.ClickException(f"{clean(self.path, 200)} became shorter while it was sent; try again.")


@contextmanager
def spool_standard_input(media_type: str | None, name: str | None) -> Generator[Upload]:
    """What comes there, in a file meanwhile: its digest and its length have to be known before it is sent."""
    where = "standard input"
    try:
        spool = tempfile.NamedTemporaryFile(prefix="weftwork-")  # noqa: SIM115 - closed below
    except OSError as error:
        raise click.ClickException(f"{where} cannot be kept: {error.strerror}.") from None
    with spool:
        try:
            shutil.copyfileobj(sys.stdin.buffer, spool, _CHUNK_BYTES)
            spool.flush()
        except OSError as error:
            raise click.ClickException(f"{where} cannot be kept: {error.strerror}.") from None
        yield Upload(where, media_type, name or "", Path(spool.name))
