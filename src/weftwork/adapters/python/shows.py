"""What the contexts of async and plain functions have in common: how a node shows media, and looks at some."""

import math
from abc import abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from weftwork.adapters.python.bearings import Bearings
from weftwork.adapters.python.errors import misused
from weftwork.adapters.python.media import Reference, Source
from weftwork.adapters.python.values import is_storable
from weftwork.ports.media import MediaKind

Shown = TypeVar("Shown")
"""A Media, or in an async function what gives it when it is awaited."""
Read = TypeVar("Read")
"""A MediaContent, or in an async function what gives it when it is awaited."""


class Shows(Bearings, Generic[Shown, Read]):
    """Media are kept as assets of the tenant, and their emission is recorded: a node that is entered again emits none
    of them twice. To be awaited in an async function."""

    __slots__ = ()

    @abstractmethod
    def _speak(self, name: str, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Ask it in the way of the function; `name` is the call that the author made."""

    def emit_image(
        self,
        data: Source,
        *,
        alt: str = "",
        mime_type: str = "",
        title: str = "",
        name: str = "",
        inline: bool = False,
    ) -> Shown:
        """Show an image to those who follow the run: bytes, a file, or an asset by its mediaRef.

        `alt` says what is to be seen, for those who do not see it. `inline`: the bytes stand in the event itself, if
        they are few enough. Raises NodeError, and OSError for a file that cannot be read.
        """
        return self._show("image", data, alt, mime_type, title, name, inline)

    def emit_audio(
        self,
        data: Source,
        *,
        alt: str = "",
        mime_type: str = "",
        title: str = "",
        name: str = "",
        inline: bool = False,
        duration_seconds: float | None = None,
    ) -> Shown:
        """The same with a sound; `alt` says what is to be heard."""
        length: Any = duration_seconds
        if length is not None and (
            not isinstance(length, int | float) or isinstance(length, bool) or not 0 <= length < math.inf
        ):
            raise misused("ctx.emit_audio takes the duration in seconds, from 0 on.")
        return self._show("audio", data, alt, mime_type, title, name, inline, length)

    def emit_file(
        self,
        data: Source,
        *,
        name: str = "",
        alt: str = "",
        mime_type: str = "",
        title: str = "",
        inline: bool = False,
    ) -> Shown:
        """The same with any file; `name` is the one under which it is saved."""
        return self._show("file", data, alt, mime_type, title, name, inline)

    def read_media(self, ref: Reference, *, most: int | None = None) -> Read:
        """The bytes of an asset, by its mediaRef or an object that has one: `data`, `mime_type`, `media_ref`.

        They come from outside, so the node is untrusted from here on. Raises NodeError: media_not_found for what is not
        there or belongs to another tenant, media_too_large for more bytes than `most`.
        """
        media = self._entry.media
        return self._speak("ctx.read_media", lambda: media.read(ref, most))

    def _show(
        self,
        kind: MediaKind,
        data: Source,
        alt: str,
        mime_type: str,
        title: str,
        name: str,
        inline: bool,
        duration_seconds: float | None = None,
    ) -> Shown:
        said: dict[str, Any] = {"media_type": mime_type, "alt": alt, "title": title, "name": name}
        for each, text in said.items():
            if not isinstance(text, str) or not is_storable(text):
                told = "mime_type" if each == "media_type" else each
                raise misused(f"ctx.emit_{kind} takes a text without NUL as {told}.")
        said |= {"inline": bool(inline), "duration_seconds": duration_seconds}
        media, turn = self._entry.media, self._entry.models.voice()
        return self._speak(f"ctx.emit_{kind}", lambda: media.emit(turn, data, kind, said))
