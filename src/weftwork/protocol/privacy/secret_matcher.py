"""SecretMatcher: learns the texts of sensitive values and of secrets, and finds and masks them in other texts.

This is the second line of defence; the first one, data flow, does not depend on it. For sensitive values it covers only
texts, and only a limited number of them. A secret is a text that the host itself knows to be secret. Secrets of any
length are matched in full.

Theory of operation. Most values contain no learnt text. Two Aho-Corasick automata establish this in linear time for all
texts at once: one reads the JSON of a whole value, the other the single texts of a value whose JSON has a match. They
hold the first MAX_TEXT characters of each text, because building one can take quadratic time: 37 s for a credential of
32 KiB next to a short part of it. Where a longer text may begin, the full texts are searched. Exact
positions are found from left to right; of several matches at one position, the longest is used. The search for each
text continues behind its last match and never restarts, so a hostile text cannot make it slow.

A streamed text is searched chunk by chunk, and a secret that spans two chunks would be found in neither. HoldBack moves
the end of a chunk to the next chunk if it may be the beginning of a secret. The length of chunks changes, but not their
number. HoldBack scans the text in the same way as the matcher, so that both agree on the extent of each secret.

Sources: readings (What the log may hide), readings (Text streaming), RFC 0021 (redaction), OpenWOP security invariant
envelope-redaction-sr-1-carry-forward.
"""

import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any, ClassVar, Final

import msgspec
from ahocorasick_rs import AhoCorasick, BytesAhoCorasick, Implementation

from weftwork.protocol.json.values import is_array, is_object

MARKER_PREFIX: Final = "[REDACTED:"

MIN_TEXT: Final = 4
"""Shortest text that is learnt. Shorter texts occur in too many others."""
MAX_TEXT: Final = 64
"""Characters that are compared. If a longer text matches this far, the rest of the string is masked with it."""
MAX_TEXTS: Final = 64
"""Texts learnt per run. The first ones are learnt, with the members of objects ordered by name."""
MAX_MARKER: Final = 80
"""Characters of a marker. A longer one is cut, so that masking cannot make a text huge."""
MAX_VALUES: Final = 4096
"""Values inside one sensitive value that are searched for texts to learn."""
_MARKER_PATTERN: Final = re.compile(r"\[REDACTED:([^\[\]]*)\]")
_HALF_CHARACTER: Final = re.compile("[\ud800-\udfff]")
_ESCAPE_PATTERN: Final = re.compile(r"\\u([0-9a-f]{4})")
_LONG_HOLD: Final = 64
"""Characters of a stream that are held before they are searched less often."""
_PIECE: Final = 16_384
"""Characters or bytes per search. Each search also reads as far as a match that begins in its piece can extend."""
_encode = msgspec.json.Encoder().encode


def redaction_marker(name: str) -> str:
    """hide-01 (OpenWOP observability): the marker that replaces a hidden value."""
    return f"{MARKER_PREFIX}{name}]"


def literal_search(literals: list[bytes]) -> Callable[..., list[tuple[int, int, int]]]:
    """A function that searches for all literals at once, in linear time. It returns the index of each literal that it
    finds, and the start and end of the match."""
    return BytesAhoCorasick(literals).find_matches_as_indexes


def replace_literals(text: str, literals: Iterable[str], replacement: str) -> str:
    """Replace the literals, of which none contains another, in one pass over the text."""
    encodable = [each for each in literals if not _HALF_CHARACTER.search(each)]
    # A DFA, which is the default for few literals, takes about 1 KiB for each of their characters.
    automaton = AhoCorasick(encodable, implementation=Implementation.ContiguousNFA)
    find: Any = automaton.find_matches_as_indexes
    parts: list[str] = []
    at = 0
    for _, start, end in find(_HALF_CHARACTER.sub("?", text)):
        parts += (text[at:start], replacement)
        at = end
    return "".join((*parts, text[at:]))


class SecretMatcher:
    """A set of texts to find, each with the marker that replaces it. Texts can be added but not removed."""

    max_texts: ClassVar[int] = MAX_TEXTS

    def __init__(self) -> None:
        self._learnt: set[str] = set()
        self._markers: dict[str, str] = {}
        self._secrets: dict[str, str] = {}
        self._full_texts: list[str] = []
        self._automata: tuple[AhoCorasick, BytesAhoCorasick] | None = None
        """Automata over the texts and over their JSON encodings. Reset to None by a new text, rebuilt at the next
        search."""
        self._longest = 0
        self._certain = 0
        """Texts that are in the automata with their full length. They come first."""
        self._full_spellings: tuple[list[str], list[bytes]] = [], []

    def learn_value(self, marker: str, value: Any) -> None:
        """Learn the texts inside a sensitive value, within MIN_TEXT, MAX_TEXTS and MAX_VALUES."""
        open_values = [value]
        budget = MAX_VALUES
        while open_values and budget and len(self._learnt) < self.max_texts:
            budget -= 1
            item = open_values.pop()
            if isinstance(item, str):
                if len(item) >= MIN_TEXT and item[:MAX_TEXT] not in self._learnt:
                    # Its escaped spellings do not count towards MAX_TEXTS; they would displace other texts.
                    self._learnt.add(item[:MAX_TEXT])
                    for text in _spellings(item):
                        self._markers.setdefault(text[:MAX_TEXT], _shorten_marker(marker))
                        self._full_texts.append(text)
                    self._automata = None
            elif is_object(item):
                # Sorted by name, because a restarted host reads them from the log in that order.
                open_values += [item[name] for name in sorted(item, reverse=True)]
            elif is_array(item):
                open_values += reversed(item)

    def learn_secret(self, secret_id: str, value: str) -> None:
        """Learn a secret of any length. It is replaced by `[REDACTED:<secret_id>]`. If it is learnt again under another
        id, the first id is kept."""
        if value and value not in self._secrets:
            for text in _spellings(value):
                self._secrets.setdefault(text, _shorten_marker(redaction_marker(secret_id)))
            self._automata = None

    def is_absent(self, value: Any) -> bool:
        """Whether no text inside the value contains a learnt text. Member names are not searched."""
        return not (self._markers or self._secrets) or self.is_absent_in_json(_encode(value)) or self._is_clean(value)

    def is_absent_in_json(self, encoded: bytes) -> bool:
        """Whether the JSON certainly contains no learnt text, member names included. Because the JSON is searched as
        one string, the result can be False although no single text contains one."""
        return not self._is_found(1, encoded)

    def is_absent_in_bytes(self, data: bytes) -> bool:
        """Whether no learnt text is in these bytes, as UTF-8 or as it is spelled in JSON."""
        return not (self._markers or self._secrets) or not self._is_found(1, data)

    def _is_clean(self, value: Any) -> bool:
        if isinstance(value, str):
            return not self._is_found(0, value)
        return all(map(self._is_clean, value.values() if is_object(value) else value if is_array(value) else ()))

    def _is_found(self, which: int, text: Any) -> bool:
        if self._automata is None:
            # A text with an unpaired surrogate cannot be encoded as UTF-8 and never occurs in JSON.
            texts = [text for text in (*self._markers, *self._secrets) if not _HALF_CHARACTER.search(text)]
            texts.sort(key=_is_long)
            self._full_spellings = texts, [_encode(text)[1:-1] for text in texts]
            self._certain = len(texts) - sum(map(_is_long, texts))
            starts = [text[:MAX_TEXT] for text in texts]
            spelled = [_encode(start)[1:-1] for start in starts]
            self._automata = AhoCorasick(starts), BytesAhoCorasick(spelled)
            self._longest = max(map(len, spelled), default=0)
        find: Callable[[Any], list[Any]] = self._automata[which].find_matches_as_indexes
        # A search returns all matches, and a hostile text can have very many. Searching in pieces stops early.
        for at in range(0, len(text), _PIECE):
            if found := find(text[at : at + _PIECE + self._longest]):
                is_certain = any(index < self._certain for index, _, _ in found)
                return is_certain or any(each in text for each in self._full_spellings[which])
        return False

    def whole_marker(self, value: Any) -> str | None:
        """The marker of a number, an object or an array that must be hidden as a whole; None if it need not be."""
        return None

    def names_marker(self, value: Any) -> str | None:
        """The marker of an object that must be hidden as a whole because of a member name; None if it need not be. A
        single name cannot be masked: the removed values are stored by pointer, and pointers contain names."""
        return None

    @property
    def has_texts(self) -> bool:
        return bool(self._markers or self._secrets)

    @property
    def learnt_texts(self) -> tuple[str, ...]:
        """All learnt texts in full length."""
        return (*self._full_texts, *self._secrets)

    def mask(self, text: str) -> str:
        return self.mask_counted(text)[0]

    def mask_counted(self, text: str) -> tuple[str, int]:
        """Replace every learnt text, and count the replacements. Markers in the text are kept, except markers that this
        matcher did not write and that contain a learnt text."""
        learnt = {**self._markers, **self._secrets}
        nearest = [(start, -len(each), each) for each in learnt if (start := text.find(each)) >= 0]
        if not nearest:
            return text, 0
        heapify(nearest)
        markers = _KeptMarkers(text, learnt)
        masked: list[str] = []
        at = count = 0
        while nearest:
            start, _, found = heappop(nearest)
            end = start + len(found)
            again = max(start + 1, at)
            if start >= at and not markers.are_inside(start, end):
                masked += (text[at:start], learnt[found])
                count += 1
                at = again = len(text) if found not in self._secrets and len(found) == MAX_TEXT else end
            if (following := text.find(found, again)) >= 0:
                heappush(nearest, (following, -len(found), found))
        return "".join((*masked, text[at:])), count


def _longest_matches(text: str, literals: Iterable[str]) -> Iterator[tuple[int, int]]:
    """The matches from left to right, none inside another; of several at one position, the longest.

    The search for each literal never goes back, so it reads the text once. An automaton for this kind of match goes
    back to the end of each match, which takes quadratic time for `a` and a long run of `a` in a longer run of `a`."""
    nearest = [(start, -len(each), each) for each in literals if each and (start := text.find(each)) >= 0]
    heapify(nearest)
    at = 0
    while nearest:
        start, _, found = heappop(nearest)
        if start >= at:
            at = start + len(found)
            yield start, at
        if (following := text.find(found, at)) >= 0:
            heappush(nearest, (following, -len(found), found))


class _KeptMarkers:
    """The spans of the markers in a text that must not be changed."""

    def __init__(self, text: str, learnt: dict[str, str]) -> None:
        own_markers = frozenset(learnt.values())
        self._spans = [
            match.span()
            for match in _MARKER_PATTERN.finditer(text)
            if match[0] in own_markers or not any(each in match[1] for each in learnt)
        ]

    def are_inside(self, *places: int) -> bool:
        """Whether one of the positions is inside a marker."""
        before = [(bisect_left(self._spans, (place, 0)) - 1, place) for place in places]
        return any(index >= 0 and self._spans[index][1] > place for index, place in before)


def _is_long(text: str) -> bool:
    return len(text) > MAX_TEXT


def _shorten_marker(marker: str) -> str:
    return marker if len(marker) <= MAX_MARKER else f"{marker[: MAX_MARKER - 1]}]"


def _spellings(text: str) -> list[str]:
    """The text and its possible spellings inside a JSON string, because models quote JSON in their texts."""
    plain, spelled = json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]
    upper_case = _ESCAPE_PATTERN.sub(lambda match: f"\\u{match[1].upper()}", spelled)
    return list(dict.fromkeys((text, plain, spelled, upper_case, plain.replace("/", "\\/"))))


def redact_value(value: Any, secrets: SecretMatcher) -> tuple[Any, int]:
    """env-11: replace every learnt text in the texts and member names of the value, and count the replacements.

    Parts without a learnt text are not copied. If two member names become equal, one of them gets a number, so no
    member is lost.
    """
    if isinstance(value, str):
        return secrets.mask_counted(value)
    if is_array(value):
        items = [redact_value(each, secrets) for each in value]
        count = sum(each for _, each in items)
        return ([each for each, _ in items] if count else value), count
    return _redact_members(value, secrets) if is_object(value) else (value, 0)


def _redact_members(value: dict[str, Any], secrets: SecretMatcher) -> tuple[dict[str, Any], int]:
    redacted: dict[str, Any] = {}
    numbers: dict[str, int] = {}
    total = 0
    for name, each in value.items():
        new_name, in_name = redact_value(name, secrets)
        new_value, count = redact_value(each, secrets)
        total += in_name + count
        free_name = new_name
        while in_name and (free_name in redacted or free_name in value):
            numbers[new_name] = number = numbers.get(new_name, 1) + 1
            free_name = f"{new_name} ({number})"
        redacted[free_name] = new_value
    return (redacted if total else value), total


class HoldBack:
    """Moves the chunk boundaries of a stream so that no secret is split. Without texts to find, chunks pass
    unchanged.

    Only the first MAX_TEXT characters of a text are compared with the end of a chunk. More may be held than necessary,
    but never less, and no chunk takes longer for a secret that repeats itself. A text that is held for long is not
    searched again for each chunk, but whenever it has grown by an eighth.
    """

    __slots__ = ("_held", "_longest", "_next_search", "_size", "_texts", "_texts_by_first_character")

    def __init__(self, texts: Iterable[str]) -> None:
        self._held: list[str] = []
        self._size = 0
        """Characters of the held chunks."""
        self._next_search = 0
        """Below this size, the chunks are held without a search."""
        self._set_texts(texts)

    def update_texts(self, texts: Collection[str]) -> None:
        """Set the texts to find. The new set must contain the old one."""
        if len(texts) != len(self._texts):
            self._set_texts(texts)

    def _set_texts(self, texts: Iterable[str]) -> None:
        self._texts = tuple(texts)
        self._texts_by_first_character: defaultdict[str, list[str]] = defaultdict(list)
        self._longest = max(map(len, self._texts), default=0)
        for text in self._texts:
            self._texts_by_first_character[text[:1]].append(text)

    def release(self, piece: str, last: bool = False) -> str:
        """hide-06 (readings, Text streaming): the text that may be passed on: the held text and the chunk, without the
        end that is now held. The result contains each secret whole or not at all, so that the redactor can find it. The
        `last` chunk releases everything."""
        if not self._texts:
            return piece
        self._held.append(piece)
        self._size += len(piece)
        if self._size < self._next_search and not last:
            return ""
        whole = "".join(self._held)
        at = len(whole) if last else self._safe_length(whole)
        self._held = [whole[at:]]
        self._size = kept = len(whole) - at
        self._next_search = kept + kept // 8 if kept > _LONG_HOLD else 0
        return whole[:at]

    def _safe_length(self, whole: str) -> int:
        """The length of the prefix in which no secret begins that may continue behind the end. No secret that begins
        inside a complete match counts, because SecretMatcher continues behind the match, too."""
        # No secret that begins before this position can continue behind the end.
        at = max(len(whole) - self._longest + 1, 0)
        for start, end in (*_longest_matches(whole, self._texts), (len(whole) - 1, len(whole))):
            for place in range(at, start + 1):
                if self._may_begin(whole, place):
                    return place
            at = max(at, end)
        return len(whole)

    def _may_begin(self, whole: str, at: int) -> bool:
        """Whether a text that is longer than the rest of the whole may begin there."""
        texts = self._texts_by_first_character.get(whole[at], ())
        rest = len(whole) - at
        return any(rest < len(text) and text.startswith(whole[at : at + MAX_TEXT]) for text in texts)
