"""Reads a surface out of a model's answer while the answer is still being written (RFC 0102, streaming).

Theory of operation. The text so far is cut behind its last closing brace and parsed by jiter, which accepts a JSON
document that ends early and drops what is incomplete. It cannot say whether the last object of a list has ended. A
`null` behind the cut answers that: if the cut is between two components, the `null` becomes an item of their list, and
otherwise it becomes an item of another list, a part of a text, or an error. The last item is therefore always dropped,
and every component before it is complete.

The text is parsed again only after it has grown by a fixed share, so the work is linear in the length of the answer.
"""

import re
from typing import Any, Final

import jiter
import msgspec

from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.json import schema
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.surfaces.limits import check_limits

MAX_TEXT: Final = 131_072
"""Characters of an answer that are read. Every surface within the limits of the host is shorter."""
MAX_PREFACE: Final = 512
"""Characters before the first object. An answer with a longer text before it is prose."""
MAX_UNDECIDED: Final = 16_384
"""Characters within which the payload must have begun, for example after a long `reasoning`."""
GROWTH_SHARE: Final = 32
"""The text is parsed again when it has grown by 1/32."""
_START: Final = re.compile(r"\{|\[\s*\{")
_MARK: Final = '"catalogVersion"'
_SCHEMA: Final = f"envelopes/{SURFACE_KIND}"
_SHOWN: Final = ("catalogVersion", "surface")
_MEMBERS: Final = frozenset({*_SHOWN, "reasoning"})


def may_show_surface(accepts: frozenset[str] | None, config: dict[str, Any]) -> bool:
    """Whether a node shows the surfaces that its model writes. One that does not accept them stores them only, unless
    its config asks for one."""
    return accepts is None or SURFACE_KIND in accepts or config.get("envelopeType") == SURFACE_KIND


class PartialSurface(msgspec.Struct, eq=False):
    """The surface in one answer, as far as it has been written."""

    payload: dict[str, Any] | None = None
    """The payload with all complete components, which is itself a valid payload. None before the first one."""
    is_closed: bool = False
    """Nothing more is read: the answer is no surface, or its surface will be refused."""
    size: int = 0
    """The characters that are kept."""
    _text: str = ""
    _new: list[str] = []
    _parsed_size: int = 0
    _has_brace: bool = False
    _check_at: int = MAX_PREFACE
    """The size at which the text is read even if no object has ended."""
    _count: int = 0

    def add(self, text: str) -> bool:
        """surf-50 (RFC 0102, streaming): add the next part of the answer.

        Returns whether `payload` has changed: it has more components, or it became None because the surface will be
        refused."""
        if self.is_closed:
            return False
        self._new.append(text)
        self.size += len(text)
        if self.size > MAX_TEXT:
            return self.close()
        self._has_brace = self._has_brace or "}" in text
        has_grown = self.size * GROWTH_SHARE >= self._parsed_size * (GROWTH_SHARE + 1)
        return (self._has_brace or self.size >= self._check_at) and has_grown and self._read()

    def close(self) -> bool:
        """Read nothing more, and show nothing. Returns whether something was shown before."""
        was_shown = self.payload is not None
        self.payload, self.is_closed = None, True
        self._text, self._new, self.size = "", [], 0
        return was_shown

    def _read(self) -> bool:
        self._text = "".join((self._text, *self._new))
        self._new, self._parsed_size = [], self.size
        self._check_at = MAX_UNDECIDED if self.size < MAX_UNDECIDED else MAX_TEXT
        start = _START.search(self._text)
        if start is None:
            return self.size >= MAX_PREFACE and self.close()
        if _MARK not in self._text:
            return self.size >= MAX_UNDECIDED and self.close()
        if not self._has_brace:
            return False
        self._has_brace = False
        payload = _find_payload(_parse(self._text[start.start() : self._text.rindex("}") + 1]))
        surface: Any = payload.get("surface") if payload is not None else None
        components: Any = surface.get("components") if is_object(surface) else None
        if payload is None or not is_array(components) or "catalogVersion" not in payload:
            return False
        complete = components[:-1]
        if len(complete) <= self._count:
            return False
        self._count = len(complete)
        shown = {name: payload[name] for name in _SHOWN}
        shown["surface"] = {**surface, "components": complete}
        if payload.keys() - _MEMBERS or schema.check(_SCHEMA, shown) or check_limits(shown):
            return self.close()
        self.payload = shown
        return True


def _parse(text: str) -> Any:
    """The value of a JSON document that ends early; None if it is not one."""
    # A document that ends outside of a list cannot be followed by `null`.
    for end in (",null", ""):
        try:
            return jiter.from_json(f"{text}{end}".encode(), partial_mode=True, allow_inf_nan=False)
        except (ValueError, UnicodeEncodeError):
            continue
    return None


def _find_payload(value: Any) -> dict[str, Any] | None:
    """The payload of the first surface. An object without `type` can be a payload itself, which a model may send if it
    was asked for a surface. A piece of an envelope is no surface."""
    for each in value if is_array(value) else [value]:
        if not is_object(each) or "partial" in each:
            continue
        if each.get("type") == SURFACE_KIND and is_object(each.get("payload")):
            return each["payload"]
        if "type" not in each and "surface" in each:
            return each
    return None
