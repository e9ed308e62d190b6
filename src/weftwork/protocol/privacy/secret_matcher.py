"""SecretMatcher: learns the texts of sensitive values and of secrets, and finds and masks them in other texts.

This is the second line of hiding; the first one, data flow, does not depend on it. Of sensitive values it covers texts
only, and only the first ones. A secret is a text that the host itself knows to be one: it is found whole, whatever its
length.

Theory of operation. Most values contain no learnt text. Two Aho-Corasick automata find that out in linear time for all
texts at once: one reads the JSON of a whole value, the other the single texts of a value whose JSON has a match. The
exact places are found by going from one match to the next, the leftmost first, and of those that begin at the same
place the longest. Every text is searched for from there on and never again from the beginning, so a hostile text
cannot make this slow.

A streamed text is searched chunk by chunk, and a secret that spans two chunks would be found in neither. HoldBack moves
the end of a chunk that may be the beginning of a secret to the next chunk. Chunks change their length, never their
number. The text is scanned as the redactor scans it, so that both agree on what is one secret.

Sources: readings (What the log may hide), readings (Text streaming), RFC 0021 (redaction), OpenWOP security invariant
envelope-redaction-sr-1-carry-forward.
"""

import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from heapq import heapify, heappop, heappush
from typing import Any, Final

import msgspec
from ahocorasick_rs import AhoCorasick, BytesAhoCorasick

from weftwork.protocol.json.values import is_array, is_object

MARKER_PREFIX: Final = "[REDACTED:"

MIN_TEXT: Final = 4
"""Characters; a shorter text stands in too many others to be searched for."""
MAX_TEXT: Final = 64
"""Characters that are compared. Where a text that long or longer begins, the rest of the string is masked with it."""
MAX_TEXTS: Final = 64
"""Texts per run that are searched for: the first ones, objects taken in the order of their names."""
MAX_MARKER: Final = 80
"""Characters of a marker that stands for a copy; a longer name is cut, so that masking cannot make a text huge."""
MAX_VALUES: Final = 4096
"""Values inside one sensitive value that are looked at for texts."""
_MARKER_PATTERN: Final = re.compile(r"\[REDACTED:([^\[\]]*)\]")
_HALF_CHARACTER: Final = re.compile("[\ud800-\udfff]")
_ESCAPE_PATTERN: Final = re.compile(r"\\u([0-9a-f]{4})")
_PIECE: Final = 16_384
"""Characters or bytes that are searched at a time, with what a text that begins there may reach into."""
_encode = msgspec.json.Encoder().encode


def redaction_marker(name: str) -> str:
    """hide-01 (OpenWOP observability): the marker that stands for a hidden value."""
    return f"{MARKER_PREFIX}{name}]"


class SecretMatcher:
    """Texts to be found, each with the marker that replaces it."""

    def __init__(self) -> None:
        self._learnt: set[str] = set()
        self._markers: dict[str, str] = {}
        self._secrets: dict[str, str] = {}
        self._full_texts: list[str] = []
        self._automata: tuple[AhoCorasick, BytesAhoCorasick] | None = None
        """Over the texts, and over the texts as JSON spells them. None after a new text, until the next search."""
        self._longest = 0

    def learn_value(self, marker: str, value: Any) -> None:
        """From now on the texts inside `value` are searched for, as far as the bounds allow."""
        open_values = [value]
        budget = MAX_VALUES
        while open_values and budget and len(self._learnt) < MAX_TEXTS:
            budget -= 1
            item = open_values.pop()
            if isinstance(item, str):
                if len(item) >= MIN_TEXT and item[:MAX_TEXT] not in self._learnt:
                    # Its forms do not count: what is written with escapes would take the place of other texts.
                    self._learnt.add(item[:MAX_TEXT])
                    for text in _spellings(item):
                        self._markers.setdefault(text[:MAX_TEXT], _shorten_marker(marker))
                        self._full_texts.append(text)
                    self._automata = None
            elif is_object(item):
                # By name, because that is the order in which a restarted host finds them in the log.
                open_values += [item[name] for name in sorted(item, reverse=True)]
            elif is_array(item):
                open_values += reversed(item)

    def learn_secret(self, secret_id: str, value: str) -> None:
        """From now on `value`, of any length, is replaced by `[REDACTED:<secret_id>]`; its first id stays."""
        if value and value not in self._secrets:
            for text in _spellings(value):
                self._secrets.setdefault(text, _shorten_marker(redaction_marker(secret_id)))
            self._automata = None

    def is_absent(self, value: Any) -> bool:
        """Whether no text inside the value holds a learnt one; member names are not looked at."""
        return not (self._markers or self._secrets) or self.is_absent_in_json(_encode(value)) or self._is_clean(value)

    def is_absent_in_json(self, encoded: bytes) -> bool:
        """Whether no learnt text stands anywhere in this JSON, names included. May say no where there is none, for
        it looks at the JSON as one text, but never yes where there is one."""
        return not self._is_found(1, encoded)

    def _is_clean(self, value: Any) -> bool:
        if isinstance(value, str):
            return not self._is_found(0, value)
        return all(map(self._is_clean, value.values() if is_object(value) else value if is_array(value) else ()))

    def _is_found(self, which: int, text: Any) -> bool:
        if self._automata is None:
            # A text with half a character stands in no JSON and cannot be encoded.
            texts = [text for text in (*self._markers, *self._secrets) if not _HALF_CHARACTER.search(text)]
            spelled = [_encode(text)[1:-1] for text in texts]
            self._automata = AhoCorasick(texts), BytesAhoCorasick(spelled)
            self._longest = max(map(len, spelled), default=0)
        find: Callable[[Any], list[Any]] = self._automata[which].find_matches_as_indexes
        # A search lists all matches, and a hostile text has very many: the first piece with one is enough.
        return any(find(text[at : at + _PIECE + self._longest]) for at in range(0, len(text), _PIECE))

    @property
    def learnt_texts(self) -> tuple[str, ...]:
        """All that is searched for, each from its beginning to its end."""
        return (*self._full_texts, *self._secrets)

    def mask(self, text: str) -> str:
        return self.mask_counted(text)[0]

    def mask_counted(self, text: str) -> tuple[str, int]:
        """The text with every learnt one in it replaced, and how many there were. A marker that stands in it already
        stays as it is, unless it is none of ours and has a learnt text inside."""
        learnt = {**self._markers, **self._secrets}
        nearest = [(start, -len(each), each) for each in learnt if (start := text.find(each)) >= 0]
        if not nearest:
            return text, 0
        heapify(nearest)
        kept = _KeptMarkers(text, learnt)
        shown: list[str] = []
        at = count = 0
        while nearest:
            start, _, found = heappop(nearest)
            end = start + len(found)
            again = max(start + 1, at)
            if start >= at and not kept.are_inside(start, end):
                shown += (text[at:start], learnt[found])
                count += 1
                at = again = len(text) if found not in self._secrets and len(found) == MAX_TEXT else end
            if (following := text.find(found, again)) >= 0:
                heappush(nearest, (following, -len(found), found))
        return "".join((*shown, text[at:])), count


class _KeptMarkers:
    def __init__(self, text: str, learnt: dict[str, str]) -> None:
        ours = frozenset(learnt.values())
        self._spans = [
            found.span()
            for found in _MARKER_PATTERN.finditer(text)
            if found[0] in ours or not any(each in found[1] for each in learnt)
        ]

    def are_inside(self, *places: int) -> bool:
        """Whether one of the places is inside of a marker."""
        before = [(bisect_left(self._spans, (place, 0)) - 1, place) for place in places]
        return any(index >= 0 and self._spans[index][1] > place for index, place in before)


def _shorten_marker(marker: str) -> str:
    return marker if len(marker) <= MAX_MARKER else f"{marker[: MAX_MARKER - 1]}]"


def _spellings(text: str) -> list[str]:
    """The text, and how it stands inside JSON: models quote JSON in their texts."""
    plain, spelled = json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]
    capital = _ESCAPE_PATTERN.sub(lambda found: f"\\u{found[1].upper()}", spelled)
    return list(dict.fromkeys((text, plain, spelled, capital, plain.replace("/", "\\/"))))


def redact_value(value: Any, secrets: SecretMatcher) -> tuple[Any, int]:
    """env-11: the value with every learnt text in its texts and member names replaced, and how many there were.

    Parts in which there is none are not copied. Two names that become the same stay two members.
    """
    if isinstance(value, str):
        return secrets.mask_counted(value)
    if is_array(value):
        found = [redact_value(each, secrets) for each in value]
        count = sum(each for _, each in found)
        return ([each for each, _ in found] if count else value), count
    return _redact_members(value, secrets) if is_object(value) else (value, 0)


def _redact_members(value: dict[str, Any], secrets: SecretMatcher) -> tuple[dict[str, Any], int]:
    shown: dict[str, Any] = {}
    total = 0
    for name, each in value.items():
        new_name, in_name = redact_value(name, secrets)
        new_value, count = redact_value(each, secrets)
        total += in_name + count
        free, number = new_name, 1
        while in_name and (free in shown or free in value):
            number += 1
            free = f"{new_name} ({number})"
        shown[free] = new_value
    return (shown if total else value), total


class HoldBack:
    """Cuts a stream anew. Without texts to look for it changes nothing and holds nothing."""

    __slots__ = ("_held", "_longest", "_longest_first", "_texts_by_first_character")

    def __init__(self, texts: Iterable[str]) -> None:
        self._held = ""
        self._set_texts(texts)

    def update_texts(self, texts: Collection[str]) -> None:
        """All that is looked for by now; it only grows."""
        if len(texts) != len(self._longest_first):
            self._set_texts(texts)

    def _set_texts(self, texts: Iterable[str]) -> None:
        self._texts_by_first_character: defaultdict[str, list[str]] = defaultdict(list)
        self._longest_first = sorted(texts, key=len, reverse=True)
        self._longest = len(self._longest_first[0]) if self._longest_first else 0
        for text in self._longest_first:
            self._texts_by_first_character[text[:1]].append(text)

    def release(self, piece: str, last: bool = False) -> str:
        """hide-06 (readings, Text streaming): what may be shown by now: the piece, with what was held before it and
        without what is held now. A secret is in it whole, for the redactor to find, or not yet."""
        if not self._texts_by_first_character:
            return piece
        whole = self._held + piece
        at = len(whole) if last else self._safe_length(whole)
        self._held = whole[at:]
        return whole[:at]

    def _safe_length(self, whole: str) -> int:
        """Up to where no secret has begun that may go on after the end."""
        at = self._skip_matches(whole, len(whole) - self._longest + 1)
        while at < len(whole):
            found = 1
            for text in self._texts_by_first_character.get(whole[at], ()):
                if len(whole) - at < len(text):
                    if text.startswith(whole[at:]):
                        return at
                elif found == 1 and whole.startswith(text, at):
                    found = len(text)
            at += found
        return at

    def _skip_matches(self, whole: str, edge: int) -> int:
        """The first place at or after `edge` that is in no secret from before it. Up to there none can go on after the
        end, so they are looked for as the redactor does it, from one to the next."""
        at = 0
        nearest = [(start, -len(each), each) for each in self._longest_first if (start := whole.find(each)) >= 0]
        heapify(nearest)
        while nearest and nearest[0][0] < edge:
            start, _, found = heappop(nearest)
            at = max(at, start + len(found)) if start >= at else at
            if (following := whole.find(found, max(start + 1, at))) >= 0:
                heappush(nearest, (following, -len(found), found))
        return max(at, edge, 0)
