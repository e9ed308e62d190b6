"""Files on their way to a host: looked at before anything is sent, then sent in pieces.

Nothing in the answer of the host is taken for granted. How far a transfer is, is said on one line of a terminal, which
is gone in the end, and nowhere else.
"""

import hashlib
import mimetypes
import shutil
import stat
import sys
import tempfile
from base64 import b64encode
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from weftwork.cli.client.errors import HostUnreachable, RequestRefused, not_offered
from weftwork.cli.console.text import clean, say
from weftwork.cli.console.units import format_size
from weftwork.protocol.json.values import is_object
from weftwork.protocol.media.media_types import UNKNOWN_TYPE
from weftwork.protocol.wire.v1.paths import method_and_path, path_for

if TYPE_CHECKING:
    from weftwork.cli.client.http_client import Client

_CHUNK_BYTES: Final = 262_144
MIN_BYTES_SHOWN: Final = 1_000_000
"""Bytes from which on a terminal is shown how much has come."""


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
    with ExitStack() as stack:
        try:
            spool = stack.enter_context(tempfile.NamedTemporaryFile(prefix="weftwork-"))
            shutil.copyfileobj(sys.stdin.buffer, spool, _CHUNK_BYTES)
            spool.flush()
        except OSError as error:
            raise click.ClickException(f"{where} cannot be kept: {error.strerror}.") from None
        yield Upload(where, media_type, name or "", Path(spool.name))


def upload_asset(client: "Client", upload: Upload, name: str | None = None, days: int | None = None) -> dict[str, Any]:
    """What the host says of the asset that it has made. Raises RequestRefused, HostUnreachable or ClickException."""
    upload.on_progress, clear = transfer_progress(f"sent of {format_size(upload.size)}:")
    try:
        with not_offered(f"this host takes no files; it has no {method_and_path('uploadAsset')}."):
            answer = client.upload(path_for("uploadAsset"), upload, name=name or upload.name or None, days=days)
    except RequestRefused as refused:
        limit = refused.details.get("limit")
        if refused.status == 413 and isinstance(limit, int):
            refused.advice = (
                f"{clean(upload.path, 200)} has {format_size(upload.size)}, and the host takes {format_size(limit)}"
            )
        raise
    finally:
        clear()
    if not is_object(answer) or not isinstance(answer.get("mediaRef"), str):
        raise HostUnreachable(
            f"{client.url} does not say what it made of the file; see that --url names a weftwork host."
        )
    if answer.get("sha256") != upload.sha256.hex():
        raise HostUnreachable(f"{client.url} has other bytes than those that were sent; try again.")
    if answer.get("mimeType") == UNKNOWN_TYPE and upload.media_type != UNKNOWN_TYPE:
        what = f"{clean(upload.path, 200)} does not look like {clean(upload.media_type, 80)}"
        say(f"warning: {what}, and is kept as {UNKNOWN_TYPE}.", err=True)
    return answer


def transfer_progress(done: str) -> tuple[Callable[[int], None], Callable[[], None]]:
    """Two callbacks: one receives the number of bytes so far, the other clears the progress line."""
    width = 0

    def heard(count: int) -> None:
        nonlocal width
        if count >= MIN_BYTES_SHOWN and sys.stderr.isatty():
            text = f"{done} {format_size(count)}"
            click.echo(f"\r{text:<{width}}", err=True, nl=False)
            width = len(text)

    def clear() -> None:
        if width:
            click.echo(f"\r{'':<{width}}\r", err=True, nl=False)

    return heard, clear
