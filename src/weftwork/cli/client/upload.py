"""File uploads: the file is checked and hashed before anything is sent, then sent in chunks.

The host's response is validated. Progress is shown on one line of a terminal, which is cleared at the end; without a
terminal there is no progress output.
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
"""Progress is shown after this many bytes."""


class Upload:
    """A file and its digest. Every iteration reads the file from the start, so that an upload can be retried.

    `spooled` has the bytes if `path` is not a file. Raises UsageError if the file cannot be sent.
    """

    def __init__(
        self, path: str, media_type: str | None = None, name: str | None = None, spooled: Path | None = None
    ) -> None:
        self.path = path
        self.name = Path(path).name if name is None else name
        self._file_path = spooled or Path(path)
        self.on_progress: Callable[[int], None] = lambda count: None
        """Called with the number of bytes sent so far."""
        try:
            status = self._file_path.stat()
            if stat.S_ISDIR(status.st_mode):
                raise click.UsageError(f"{clean(path, 200)} is a folder; pass a file.")
            if not stat.S_ISREG(status.st_mode):
                raise click.UsageError(f"{clean(path, 200)} is not a regular file; pass a file, or - for stdin.")
            self.size = status.st_size
            with self._file_path.open("rb") as file:
                self.sha256 = hashlib.file_digest(file, "sha256").digest()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "the name is not valid"
            raise click.UsageError(f"{clean(path, 200)} cannot be read: {reason}.") from None
        if not self.size:
            raise click.UsageError(f"{clean(path, 200)} is empty; an asset must have at least one byte.")
        # mimetypes reads tables that differ between machines; the host detects the type from the bytes anyway.
        self.media_type = media_type or mimetypes.guess_type(self.name)[0] or UNKNOWN_TYPE
        if not (self.media_type.isascii() and self.media_type.isprintable() and "/" in self.media_type):
            raise click.UsageError(f"{clean(self.media_type, 60)} is not a media type; expected a form like image/png.")

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
                while sent < self.size and (chunk := file.read(min(_CHUNK_BYTES, self.size - sent))):
                    yield chunk
                    sent += len(chunk)
                    self.on_progress(sent)
        except OSError as error:
            if error.filename is None:
                # An error of the connection, which the transport reports.
                raise
            raise click.ClickException(f"{clean(self.path, 200)} cannot be read: {error.strerror}.") from None
        if sent < self.size:
            raise click.ClickException(f"{clean(self.path, 200)} was truncated during the upload; try again.")


@contextmanager
def spool_standard_input(media_type: str | None, name: str | None) -> Generator[Upload]:
    """An upload of standard input, copied to a temporary file: the digest and the length are sent in headers."""
    source = "standard input"
    with ExitStack() as stack:
        try:
            spool = stack.enter_context(tempfile.NamedTemporaryFile(prefix="weftwork-"))
            shutil.copyfileobj(sys.stdin.buffer, spool, _CHUNK_BYTES)
            spool.flush()
        except OSError as error:
            raise click.ClickException(
                f"{source} cannot be copied to a temporary file in {tempfile.gettempdir()}: {error.strerror}."
            ) from None
        yield Upload(source, media_type, name or "", Path(spool.name))


def upload_asset(client: "Client", upload: Upload, name: str | None = None, days: int | None = None) -> dict[str, Any]:
    """The host's description of the new asset. Raises RequestRefused, HostUnreachable or ClickException."""
    upload.on_progress, clear = transfer_progress(f"sent of {format_size(upload.size)}:")
    try:
        with not_offered(f"this host does not accept files: it does not support {method_and_path('uploadAsset')}."):
            answer = client.upload(path_for("uploadAsset"), upload, name=name or upload.name or None, days=days)
    except RequestRefused as refused:
        limit = refused.details.get("limit")
        if refused.status == 413 and isinstance(limit, int):
            refused.advice = (
                f"{clean(upload.path, 200)} has {format_size(upload.size)}; the host accepts up to {format_size(limit)}"
            )
        raise
    finally:
        clear()
    if not is_object(answer) or not isinstance(answer.get("mediaRef"), str):
        raise HostUnreachable(f"{client.url} sent a response without a mediaRef; check that --url is a weftwork host.")
    if answer.get("sha256") != upload.sha256.hex():
        raise HostUnreachable(
            f"the file was changed on its way to {client.url}: the SHA-256 digests differ; try again."
        )
    if answer.get("mimeType") == UNKNOWN_TYPE and upload.media_type != UNKNOWN_TYPE:
        what = f"{clean(upload.path, 200)} does not look like {clean(upload.media_type, 80)}"
        say(f"warning: {what}; the host stored it as {UNKNOWN_TYPE}.", err=True)
    return answer


def transfer_progress(label: str) -> tuple[Callable[[int], None], Callable[[], None]]:
    """Two callbacks: one receives the number of bytes so far, the other clears the progress line."""
    width = 0

    def on_progress(count: int) -> None:
        nonlocal width
        if count >= MIN_BYTES_SHOWN and sys.stderr.isatty():
            text = f"{label} {format_size(count)}"
            click.echo(f"\r{text:<{width}}", err=True, nl=False)
            width = len(text)

    def clear() -> None:
        if width:
            click.echo(f"\r{'':<{width}}\r", err=True, nl=False)

    return on_progress, clear
