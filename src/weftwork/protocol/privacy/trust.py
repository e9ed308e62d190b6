"""Trust: content from outside is untrusted, and so is everything that is made from it.

Theory of operation. A value that is made of several others is untrusted if any of them is, and nothing raises trust
again. The engine stamps it on events; the model has no say in it.

In a prompt, untrusted content stands between two markers, and nothing in it may look like the closing one: not to a
parser, and not to a model, which ignores differences of case, spaces, invisible characters, look-alikes and escapes.
The content is therefore read as such a reader would, character by character from each bracket on. There is one way to
read it and each character is read once, so a hostile text takes no longer. Sources: RFC 0021 (trust), RFC 0143.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, Final
from unicodedata import normalize

import msgspec

from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.run.events import TRUSTED, UNTRUSTED, Trust

DEFAULT_SOURCE: Final = "run-event"
MARKER_TAG: Final = "UNTRUSTED"

_MARKER_NAME: Final = MARKER_TAG.lower()
_JOINER: Final = "_"
"""Put between the bracket and the name: the text stays readable, and is no tag any more."""
_LOOKALIKES: Final = {
    "<": "\u2039\u3008\u27e8\u2329\u276c\u276e\u1438\u02c2",
    "u": "\u0555\u057d\u1d1c\u222a\u22c3\u1200\u144c",
    "n": "\u039d\u0274\u0578",
    "t": "\u03a4\u0422\u0442\u13a2\u1d1b\u22a4",
    "r": "\u13a1\u0280",
    "s": "\u0405\u0455\u054f\ua731\u13da",
    "d": "\u13a0\u1d05",
    "e": "\u0395\u0415\u0435\u13ac\u1d07",
}
"""The bracket and the letters, each with others that look the same and that Unicode does not fold to it."""
_ENCLOSED_ALPHABETS: Final = (0x1F150, 0x1F170)
"""Where alphabets of other capitals begin that it does not fold either."""
_FOLDING: Final = {ord(look): letter for letter, looks in _LOOKALIKES.items() for look in looks} | {
    start + ord(letter) - ord("a"): letter for start in _ENCLOSED_ALPHABETS for letter in _MARKER_NAME
}
_FILLERS: Final = frozenset("\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Letters by their Unicode category that are invisible."""
_BRACKETS: Final = "<\u226e\ufe3f\ufe64\uff1c" + _LOOKALIKES["<"]
_AMPERSAND: Final = r"(?:&|\\u0026|\\x26|%(?:25)*26)(?:amp;?|#0*38;?|#x0*26;?)*"
_INVISIBLE_ENTITIES: Final = (
    "nbsp|shy|zwn?j|lrm|rlm|emsp1[34]|e[nm]sp|thinsp(?:ace)?|tab|newline|nobreak|zerowidthspace|ic|it|sol|bsol"
)
_ESCAPE: Final = (
    rf"{_AMPERSAND}(?:(?P<bracket>lt)|(?P<nothing>{_INVISIBLE_ENTITIES})|#0*(?P<number>[0-9]{{1,7}})(?![0-9])"
    r"|#x0*(?P<hexed>[0-9a-f]{1,6})(?![0-9a-f])|(?P<entity>[a-z][a-z0-9]{1,31}));?"
    r"|\\u\{0*(?P<braced>[0-9a-f]{1,6})\}|\\u(?P<pair>d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})"
    r"|\\u(?P<four>[0-9a-f]{4})|\\x(?P<two>[0-9a-f]{2})|%(?:25)*(?P<byte>[0-7][0-9a-f])|(?P<bytes>%e2%80%8[b-f])"
)
"""One character that is written by its number or its name. A name that is none is taken as it stands."""
_IGNORED_RUN: Final = r"[\x00-$'-/:;=>?@\[\]^`{-\xa0\xad\u200b-\u200f\u2060-\u2064\u3000\ufeff]+"
"""Many at once of what is not noticed. It could be left out: it is the fast way through a long row of them."""


def combine_trust(given: Iterable[Trust | None]) -> Trust:
    """trust-01 (RFC 0143): untrusted if any of these is. None is something of the host's own."""
    return UNTRUSTED if any(each == UNTRUSTED for each in given) else TRUSTED


def wrap_untrusted(
    payload: Any,
    *,
    type: str,  # noqa: A002 - the name of the attribute
    source: str = DEFAULT_SOURCE,
    attributes: Mapping[str, Any] | None = None,
) -> str:
    """trust-07 (RFC 0021, trust): content between markers that nothing inside of it can end or begin.

    A text stands as it is, anything else as JSON; nothing is taken out of it.
    """
    named = {name: value for name, value in (attributes or {}).items() if name not in ("source", "type")}
    members = [("source", source), ("type", type), *sorted(named.items())]
    head = "".join(f' {_attribute_name(name)}="{_attribute_value(value)}"' for name, value in members)
    return f"<{MARKER_TAG}{head}>\n{neutralize_markers(payload)}\n</{MARKER_TAG}>"


def neutralize_markers(payload: Any) -> str:
    """The content as a text in which no marker stands, however written: each is taken apart by one character."""
    # Each text for itself first: what JSON writes with escapes is no longer there as it is.
    text = payload if isinstance(payload, str) else _encode_json(_neutralize_texts(payload))
    parts: list[str] = []
    at = 0
    for found in _openings().finditer(text):
        if _read_token(found).endswith("<") and _is_marker_name(text, found.end()):
            parts += (text[at : found.end()], _JOINER)
            at = found.end()
    return "".join((*parts, text[at:])) if parts else text


def render_for_model(
    payload: Any,
    trust: Trust | None,
    *,
    type: str,  # noqa: A002 - the name of the attribute
    source: str = DEFAULT_SOURCE,
    attributes: Mapping[str, Any] | None = None,
) -> str:
    """trust-07: content as a prompt holds it: with markers if it is untrusted, and else without."""
    if trust == UNTRUSTED:
        return wrap_untrusted(payload, type=type, source=source, attributes=attributes)
    return payload if isinstance(payload, str) else _encode_json(payload)


def _neutralize_texts(value: Any) -> Any:
    if isinstance(value, str):
        return neutralize_markers(value)
    if is_object(value):
        return {neutralize_markers(name): _neutralize_texts(each) for name, each in value.items()}
    return [_neutralize_texts(each) for each in value] if is_array(value) else value


def _encode_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _attribute_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.:-]", "_", name) or "_"


def _attribute_value(value: Any) -> str:
    text = value if isinstance(value, str) else _encode_json(value)
    text = text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    # On one line, and with no character that would reorder or hide what follows.
    return re.sub(r"[^\S ]|[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]", " ", text)


@cache
def _openings() -> "re.Pattern[str]":
    """Made when it is first needed, as most processes never do."""
    return re.compile(rf"(?P<character>[{_BRACKETS}])|{_ESCAPE}", re.IGNORECASE)


@cache
def _tokens() -> "re.Pattern[str]":
    return re.compile(rf"(?P<nothings>{_IGNORED_RUN})|{_ESCAPE}|(?P<character>.)", re.IGNORECASE | re.DOTALL)


def _read_token(token: "re.Match[str]") -> str:
    """What a lenient reader takes a token for: letters in one form, and nothing for what is not noticed."""
    kind = token.lastgroup or ""
    said = token[kind]
    match kind:
        case "character":
            return _fold_character(said)
        case "bracket":
            return "<"
        case "nothing" | "nothings" | "bytes":
            return ""
        case "number" | "hexed" | "entity":
            return _entity_text({"number": "#", "hexed": "#x", "entity": ""}[kind] + said)
        case "pair":
            return _fold_character(chr(0x10000 + ((int(said[:4], 16) & 0x3FF) << 10) + (int(said[6:], 16) & 0x3FF)))
        case _:
            point = int(said, 16)
            return _fold_character(chr(point)) if point <= 0x10FFFF else ""


@lru_cache(maxsize=1024)
def _entity_text(entity: str) -> str:
    # Large, and needed by few processes.
    from html import unescape

    return "".join(map(_fold_character, unescape(f"&{entity};")))


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    """A character as it looks; empty for one that a reader does not notice: no letter, no digit, no bracket."""
    folded = normalize("NFKD", character.translate(_FOLDING)).translate(_FOLDING).casefold()
    return "".join(each for each in folded if each in "<_" or (each.isalnum() and each not in _FILLERS))


def _is_marker_name(text: str, at: int) -> bool:
    """Whether the name of the tag is read from here on. It ends at the first character that does not fit, which any
    bracket is, so nothing of a text is read for two brackets."""
    read = 0
    for token in _tokens().finditer(text, at):
        for character in _read_token(token):
            if character != _MARKER_NAME[read]:
                return False
            read += 1
            if read == len(_MARKER_NAME):
                return True
    return False
