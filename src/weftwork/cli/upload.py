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
from typing import TYPE_CHECKING, Any, Final

import click

from weftwork.cli.plain import say, shown
from weftwork.cli.progress import progress, size
from weftwork.cli.refusal import Refused, Unreachable
from weftwork.protocol.json_value import is_object
from weftwork.protocol.media.sniff import UNKNOWN

if TYPE_CHECKING:
    from weftwork.cli.client import Client

ASSETS: Final = "/v1/host/weftwork/assets"
_PIECE: Final = 262_144
_ABSENT: Final = (404, 405, 501)


class Upload:
    """A file and its digest. Iterating reads it again, so that it can be sent again.

    `spooled` has the bytes of a `path` that is no file. Raises UsageError for what cannot be sent.
    """

    def __init__(
        self, path: str, media_type: str | None = None, name: str | None = None, spooled: Path | None = None
    ) -> None:
        self.path = path
        self.name = Path(path).name if name is None else name
        self._place = spooled or Path(path)
        self.heard: Callable[[int], None] = lambda count: None
        """Told how many bytes were sent."""
        try:
            found = self._place.stat()
            if stat.S_ISDIR(found.st_mode):
                raise click.UsageError(f"{shown(path, 200)} is a folder; name a file.")
            if not stat.S_ISREG(found.st_mode):
                raise click.UsageError(f"{shown(path, 200)} is not a file.")
            self.size = found.st_size
            with self._place.open("rb") as file:
                self.sha256 = hashlib.file_digest(file, "sha256").digest()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "no such name"
            raise click.UsageError(f"{shown(path, 200)} cannot be read: {why}.") from None
        if not self.size:
            raise click.UsageError(f"{shown(path, 200)} is empty.")
        # What the system's tables say differs from machine to machine; the host looks at the bytes anyway.
        self.media_type = media_type or mimetypes.guess_type(self.name)[0] or UNKNOWN
        if not (self.media_type.isascii() and self.media_type.isprintable() and "/" in self.media_type):
            raise click.UsageError(f"{shown(self.media_type, 60)} is no media type such as image/png.")

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
            with self._place.open("rb") as file:
                while sent < self.size and (piece := file.read(min(_PIECE, self.size - sent))):
                    yield piece
                    sent += len(piece)
                    self.heard(sent)
        except OSError as error:
            if error.filename is None:
                # Of the connection, which is somebody else's to tell.
                raise
            raise click.ClickException(f"{shown(self.path, 200)} cannot be read: {error.strerror}.") from None
        if sent < self.size:
            raise click.ClickException(f"{shown(self.path, 200)} became shorter while it was sent; try again.")


@contextmanager
def standard_input(media_type: str | None, name: str | None) -> Generator[Upload]:
    """What comes there, in a file meanwhile: its digest and its length have to be known before it is sent."""
    where = "standard input"
    try:
        spool = tempfile.NamedTemporaryFile(prefix="weftwork-")  # noqa: SIM115 - closed below
    except OSError as error:
        raise click.ClickException(f"{where} cannot be kept: {error.strerror}.") from None
    with spool:
        try:
            shutil.copyfileobj(sys.stdin.buffer, spool, _PIECE)
            spool.flush()
        except OSError as error:
            raise click.ClickException(f"{where} cannot be kept: {error.strerror}.") from None
        yield Upload(where, media_type, name or "", Path(spool.name))


def send(client: "Client", upload: Upload, name: str | None = None, days: int | None = None) -> dict[str, Any]:
    """What the host says of the asset that it has made. Raises Refused, Unreachable or ClickException."""
    upload.heard, clear = progress(f"sent of {size(upload.size)}:")
    try:
        answer = client.upload(ASSETS, upload, name=name or upload.name or None, days=days)
    except Refused as refused:
        if refused.status in _ABSENT:
            raise click.ClickException("this host takes no files; it has no POST /v1/host/weftwork/assets.") from None
        limit = refused.details.get("limit")
        if refused.status == 413 and isinstance(limit, int):
            refused.advice = f"{shown(upload.path, 200)} has {size(upload.size)}, and the host takes {size(limit)}"
        raise
    finally:
        clear()
    ref = answer.get("mediaRef") if is_object(answer) else None
    if not isinstance(ref, str):
        raise Unreachable(f"{client.url} does not say what it made of the file; see that --url names a weftwork host.")
    if answer.get("sha256") != upload.sha256.hex():
        raise Unreachable(f"{client.url} has other bytes than those that were sent; try again.")
    if answer.get("mimeType") == UNKNOWN and upload.media_type != UNKNOWN:
        what = f"{shown(upload.path, 200)} does not look like {shown(upload.media_type, 80)}"
        say(f"warning: {what}, and is kept as {UNKNOWN}.", err=True)
    return answer
