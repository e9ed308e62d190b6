"""Reads what the pages behind links show of the organisation: its logo, its colours and the language of the pages."""

from pathlib import Path
from typing import Final

import msgspec

from weftwork.adapters.http.page.messages import UnknownLanguage, load_messages
from weftwork.adapters.http.page.site import Site
from weftwork.protocol.people.organisation import palette
from weftwork.settings import Settings, SettingsError

MAX_LOGO_BYTES: Final = 262_144
_SIGNATURES: Final = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"))
_RIFF: Final = b"RIFF"
_WEBP: Final = b"WEBP"


class Logo(msgspec.Struct, frozen=True):
    """An image as the host serves it."""

    body: bytes
    media_type: str


def build_site(settings: Settings) -> tuple[Site, Logo | None]:
    """The settings of the pages, and the logo if there is one. Raises SettingsError for a setting that is wrong."""
    organisation = settings.organisation
    logo = _read_logo(settings) if organisation.logo else None
    try:
        messages = load_messages(organisation.language) if organisation.language else load_messages()
    except UnknownLanguage as error:
        raise settings.organisation_error("language", str(error)) from None
    if logo is not None and not organisation.name:
        raise settings.organisation_error("logo", 'add name = "..." as well: the pages show both together')
    colours = palette(organisation.colour) if organisation.colour else None
    return Site(organisation.name, logo is not None, colours, messages), logo


def _read_logo(settings: Settings) -> Logo:
    path = Path(settings.file.path).parent / Path(settings.organisation.logo).expanduser()
    try:
        with path.open("rb") as file:
            body = file.read(MAX_LOGO_BYTES + 1)
    except OSError as error:
        raise _refused(settings, f"cannot read {path}: {error.strerror}") from None
    if len(body) > MAX_LOGO_BYTES:
        raise _refused(settings, f"{path} is larger than {MAX_LOGO_BYTES} bytes; use a smaller image")
    media_type = next((name for start, name in _SIGNATURES if body.startswith(start)), "")
    if body.startswith(_RIFF) and body[8:12] == _WEBP:
        media_type = "image/webp"
    if not media_type:
        raise _refused(settings, f"{path} is not a PNG, JPEG or WebP image; convert it to one of these")
    return Logo(body, media_type)


def _refused(settings: Settings, message: str) -> SettingsError:
    return settings.organisation_error("logo", message)
