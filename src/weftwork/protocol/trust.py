"""Trust: content from outside is untrusted, and so is all that is made of it.

Theory. Trust is a meet: what is composed of several things is untrusted if any of them is, and nothing raises it
again. The engine stamps it on events; the model has no say in it. Where such content is shown to a model it stands
between two markers, and nothing in it can look like the closing one: not to a parser, and not to a model, which reads
over case, spaces, invisible signs, look-alikes and escapes. Sources: RFC 0021 (trust), RFC 0143.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

import msgspec

from weftwork.protocol.answerer import Trust
from weftwork.protocol.json_value import is_array, is_object

TRUSTED: Final[Trust] = "trusted"
UNTRUSTED: Final[Trust] = "untrusted"
SOURCE: Final = "run-event"
TAG: Final = "UNTRUSTED"

_JOINER: Final = "_"
"""Put between the bracket and the name: the text stays readable, and is no tag any more."""
# fmt: off
_LOOKS: Final = {
    "<": "<\uff1c\ufe64\u2039\u3008\u27e8\u2329\u276c\u276e\u1438\u02c2\u226e",
    "U": "U\u1d41\u1d58\u1d64\u0555\u222a\u22c3\u1200\u144c", "N": "N\u039d\u0274\u1d3a\u207f\u2099\u2115",
    "T": "T\u03a4\u0422\u13a2\u1d1b\u1d40\u1d57\u209c\u22a4",
    "R": "R\u02b3\u13a1\u0280\u1d3f\u1d63\u211b-\u211d\U0001f12c",
    "S": "S\u017f\u0405\u054f\ua731\u13da\u02e2\u209b", "D": "D\u13a0\u1d05\u1d30\u1d48\u2145\u2146\u216e\u217e",
    "E": "E\u0395\u0415\u13ac\u1d07\u1d31\u1d49\u2091\u212f\u2130\u2147",
}
"""The bracket and the letters, each with others that look the same."""
_DRESSED: Final = (
    0x1D400, 0x1D434, 0x1D468, 0x1D49C, 0x1D4D0, 0x1D504, 0x1D538, 0x1D56C, 0x1D5A0, 0x1D5D4, 0x1D608, 0x1D63C, 0x1D670,
    0x24B6, 0x1F110, 0x1F130, 0x1F150, 0x1F170,
)
"""Where alphabets of other capitals begin; their small letters follow 26 later."""
# fmt: on
_AND: Final = "&(?:amp;)*"
_UNSEEN: Final = "nbsp|shy|zwn?j|lrm|rlm|e[nm]sp|thinsp|tab|newline|nobreak|zerowidthspace|ic|it|sol|bsol"


def _written(*points: int) -> str:
    """All ways to write one of these characters by its number."""
    plain, hexed = "|".join(map(str, points)), "|".join(f"{point:x}" for point in points)
    four = "|".join(f"{point:04x}" for point in points if point < 0x10000)
    two = "|".join(f"{point:02x}" for point in points if point < 0x100)
    entity = rf"{_AND}#(?:0*(?:{plain})(?!\d)|x0*(?:{hexed})(?![0-9a-f]));?+"
    return rf"{entity}|\\u(?:\{{0*(?:{hexed})\}}|(?:{four}))|(?:\\x|%)(?:{two})"


def _shapes(letter: str) -> str:
    at = ord(letter) - ord("A")
    wide = chr(0xFF21 + at) + chr(0xFF41 + at)
    return _LOOKS[letter] + wide + "".join(chr(start + at) + chr(start + 26 + at) for start in _DRESSED)


def _letter(letter: str) -> str:
    return rf"(?:[{_shapes(letter)}]|{_written(ord(letter), ord(letter.lower()))})"


_OPEN: Final = rf"(?:[{_LOOKS['<']}]|{_AND}lt;?+|{_written(60)})"
_LETTERS: Final = "|".join(map(_letter, sorted(set(TAG))))
_PLAIN: Final = rf"[^\w&%\\{_LOOKS['<']}{''.join(map(_shapes, sorted(set(TAG))))}]"
_GAP: Final = (
    rf"(?:{_PLAIN}++|[\u115f\u1160\u17b4\u17b5\u3164\uffa0]|(?=[&%\\])(?!{_LETTERS})(?:{_AND}(?:{_UNSEEN});?+"
    rf"|{_written(*range(33), 47, 127, 160, 173, *range(0x200B, 0x2010), 0x2060, 0xFEFF)}|%e2%80%8[b-f]|[&%\\]))*+"
)
"""What may stand between them without anybody taking notice: whatever is no letter, no digit and no bracket. Nothing
that can be a letter of the name is among it, so there is one way to read a text, and a hostile one is read once."""


@cache
def _tags() -> "re.Pattern[str]":
    """Made when it is first needed: that takes a while, and most processes never do."""
    return re.compile(rf"({_OPEN})(?={_GAP}{_GAP.join(map(_letter, TAG))})", re.IGNORECASE)


def meet(given: Iterable[Trust | None]) -> Trust:
    """trust-01 (RFC 0143): untrusted if any of these is. None is something of the host's own."""
    return UNTRUSTED if any(each == UNTRUSTED for each in given) else TRUSTED


def wrap_untrusted(
    payload: Any,
    *,
    type: str,  # noqa: A002 - the name of the attribute
    source: str = SOURCE,
    attributes: Mapping[str, Any] | None = None,
) -> str:
    """trust-07 (RFC 0021, trust): content between markers that nothing inside of it can end or begin.

    A text stands as it is, anything else as JSON; nothing is taken out of it.
    """
    named = {name: value for name, value in (attributes or {}).items() if name not in ("source", "type")}
    members = [("source", source), ("type", type), *sorted(named.items())]
    head = "".join(f' {_name(name)}="{_value(value)}"' for name, value in members)
    return f"<{TAG}{head}>\n{neutralised(payload)}\n</{TAG}>"


def neutralised(payload: Any) -> str:
    """The content as a text in which no marker stands, however written: each is taken apart by one sign."""
    # Each text for itself first: what JSON writes with escapes is no longer there as it is.
    text = payload if isinstance(payload, str) else _json(_apart(payload))
    return _tags().sub(rf"\g<1>{_JOINER}", text)


def _apart(value: Any) -> Any:
    if isinstance(value, str):
        return neutralised(value)
    if is_object(value):
        return {neutralised(name): _apart(each) for name, each in value.items()}
    return [_apart(each) for each in value] if is_array(value) else value


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def shown_to_model(
    payload: Any,
    trust: Trust | None,
    *,
    type: str,  # noqa: A002 - the name of the attribute
    source: str = SOURCE,
    attributes: Mapping[str, Any] | None = None,
) -> str:
    """trust-07: content as a prompt holds it: with markers if it is untrusted, and else without."""
    if trust == UNTRUSTED:
        return wrap_untrusted(payload, type=type, source=source, attributes=attributes)
    return payload if isinstance(payload, str) else _json(payload)


def _name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.:-]", "_", name) or "_"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else _json(value)
    text = text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    # On one line, and with no sign that would reorder or hide what follows.
    return re.sub(r"[^\S ]|[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]", " ", text)
