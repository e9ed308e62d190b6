"""The organisation that a host belongs to, as the pages behind a link show it: the table `[organisation]` of the
settings file, and the contrast of its colour.

Sources: none for the settings, which are the host's own; the contrast is that of WCAG 2.2, 1.4.3.
"""

import re
from typing import Any, Final

import msgspec

from weftwork.protocol.json.values import is_object
from weftwork.protocol.spelling import did_you_mean

MAX_NAME: Final = 80
MIN_CONTRAST: Final = 4.5
"""The contrast that WCAG 2.2 asks for between text and its background."""
LIGHT_BACKGROUNDS: Final = ("#ffffff", "#f6f7f9")
DARK_BACKGROUNDS: Final = ("#191d24", "#101318")
"""The backgrounds of the pages, on which the colour has to stand out."""
_COLOUR: Final = re.compile(r"#[0-9a-fA-F]{6}")
_MEMBERS: Final = ("name", "logo", "colour", "language")
_STEPS: Final = 50


class InvalidOrganisation(Exception):
    """A setting is invalid. `member` names it, or is empty for the whole table. The message says what to write."""

    def __init__(self, member: str, message: str) -> None:
        super().__init__(message)
        self.member = member
        self.message = message


class Organisation(msgspec.Struct, frozen=True):
    """The table `[organisation]`."""

    name: str = ""
    logo: str = ""
    """The path of an image, relative to the folder of the settings file."""
    colour: str = ""
    language: str = ""
    """The language of the pages; empty: the default."""


class Palette(msgspec.Struct, frozen=True):
    """The colour of an organisation for light and dark pages, each with the colour of text on it."""

    light: str
    light_ink: str
    dark: str
    dark_ink: str


def parse_organisation(table: Any) -> Organisation:
    """surf-68 (host): parse the table `[organisation]`. Raises InvalidOrganisation."""
    if not is_object(table):
        raise InvalidOrganisation("", "write a table: [organisation]")
    for member, value in table.items():
        if member not in _MEMBERS:
            hint = did_you_mean(member, list(_MEMBERS)) or f"; the settings are {', '.join(_MEMBERS)}"
            raise InvalidOrganisation(member, f"unknown setting{hint}")
        if not isinstance(value, str) or not value.strip():
            raise InvalidOrganisation(member, 'write text in quotes, such as "Example Ltd"')
    name = table.get("name", "")
    if len(name) > MAX_NAME or not name.isprintable():
        text = f"write a name of at most {MAX_NAME} characters, without control characters"
        raise InvalidOrganisation("name", text)
    if "colour" in table:
        palette(table["colour"])
    return Organisation(**table)


def palette(colour: str) -> Palette:
    """surf-68 (WCAG 2.2, 1.4.3): the colours of the pages, made from the colour of the organisation. Raises
    InvalidOrganisation if text in that colour could not be read on a light page.

    One colour cannot stand out on white and on black, so it is made lighter for dark pages until it does.
    """
    if not _COLOUR.fullmatch(colour):
        raise InvalidOrganisation("colour", 'write a colour as "#" and six hexadecimal digits, such as "#1749b8"')
    least = _least_contrast(colour, LIGHT_BACKGROUNDS)
    if least < MIN_CONTRAST:
        better = _mixed_until_readable(colour, "#000000", LIGHT_BACKGROUNDS)
        text = (
            f"{colour} has a contrast of {least:.1f} with the background of the pages, and text needs {MIN_CONTRAST}; "
            f'write a darker colour, such as "{better}"'
        )
        raise InvalidOrganisation("colour", text)
    dark = _mixed_until_readable(colour, "#ffffff", DARK_BACKGROUNDS)
    return Palette(colour.lower(), "#ffffff", dark, "#101318")


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21 (WCAG 2.2)."""
    low, high = sorted([_luminance(one), _luminance(other)])
    return (high + 0.05) / (low + 0.05)


def _least_contrast(colour: str, backgrounds: tuple[str, ...]) -> float:
    return min(contrast(colour, each) for each in backgrounds)


def _mixed_until_readable(colour: str, other: str, backgrounds: tuple[str, ...]) -> str:
    """The colour, mixed with as little as needed of the other one."""
    mixed = (_mix(colour, other, step / _STEPS) for step in range(_STEPS + 1))
    return next((each for each in mixed if _least_contrast(each, backgrounds) >= MIN_CONTRAST), other)


def _mix(one: str, other: str, share: float) -> str:
    pairs = zip(_channels(one), _channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(each / 255) for each in _channels(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
