"""Redaction of questions: what a person reads of an interrupt whose node can have read sensitive values.

A question that is hidden whole cannot be answered. The values that the workflow declares as sensitive are therefore cut
out of it, and the rest stays readable. This includes texts that other nodes made of sensitive values: a question is
often written by one node and asked by another.

In other events, values of such a node are hidden whole, so the search there covers only longer texts. In a question it
is the only protection, so QuestionMatcher finds more: numbers, short values as whole words, and objects and arrays that
equal a sensitive one. Booleans and null are not found.

If nothing readable is left of a question, the node must fail, because its run would wait for an answer that no person
can give.

Source: readings (Questions of a node that read a secret).
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.media.asset_references import rewrite_around_tokens
from weftwork.protocol.privacy.credential_redaction import CredentialMatcher
from weftwork.protocol.privacy.secret_matcher import MARKER_PREFIX, MAX_VALUES, MIN_TEXT
from weftwork.protocol.privacy.value_paths import PROTOCOL_WORDS
from weftwork.protocol.run.interrupts import STATUS_BY_KIND

MACHINE_KINDS: Final = frozenset({"external-event"})
"""Interrupt kinds that no person reads. Their data is hidden like the outputs of the node."""
MAX_QUESTION_VALUES: Final = 4096
"""Sensitive values that are cut out of the questions of a run. Beyond this number, questions are hidden whole."""
MAX_WORDS: Final = 256
"""Sensitive values with fewer than MIN_TEXT characters that are cut out."""

_IDENTIFIERS: Final = PROTOCOL_WORDS["interrupt.requested"] | {"artifactId", "artifactType", "agentId"}
"""Members of an interrupt's data that are no text for a person."""
_SENSITIVE_MARKER: Final = re.compile(r"\[REDACTED:(?!credential\])[^\[\]]*\]")
_ANY_MARKER: Final = re.compile(r"(\[REDACTED:[^\[\]]*\])")
_READABLE: Final = re.compile(r"[^\W_]")


class QuestionMatcher(CredentialMatcher):
    """Finds the values in questions that are declared as sensitive, and credentials."""

    max_texts = MAX_QUESTION_VALUES

    def __init__(self) -> None:
        super().__init__()
        self._words: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        self._whole: dict[bytes, str] = {}
        """Numbers, objects and arrays by their JSON, with their markers."""
        self._whole_lengths: set[int] = set()
        self.is_full = False
        """Not all sensitive values could be learnt, so questions must be hidden whole."""

    def learn_value(self, marker: str, value: Any) -> None:
        """Learn all values inside a sensitive value."""
        super().learn_value(marker, value)
        open_values, budget = [value], MAX_VALUES
        while open_values and budget:
            budget -= 1
            item = open_values.pop()
            if isinstance(item, str):
                self._learn_word(marker, item)
            elif is_object(item) or is_array(item):
                if item:
                    self._whole.setdefault(encode_stored(item), marker)
                    self._whole_lengths.add(len(item))
                open_values += item.values() if is_object(item) else item
            elif isinstance(item, int | float) and not isinstance(item, bool):
                encoded = encode_stored(item)
                self._whole.setdefault(encoded, marker)
                self._learn_word(marker, encoded.decode())
                super().learn_value(marker, encoded.decode())
        is_over = max(len(self._learnt), len(self._whole)) >= MAX_QUESTION_VALUES or len(self._words) > MAX_WORDS
        self.is_full = self.is_full or is_over or bool(open_values)

    def _learn_word(self, marker: str, text: str) -> None:
        if text.strip() and len(text) < MIN_TEXT and text not in self._words:
            self._words[text] = marker
            self._pattern = None

    def _word_pattern(self) -> re.Pattern[str]:
        if self._pattern is None:
            longest_first = "|".join(map(re.escape, sorted(self._words, key=len, reverse=True)))
            # Without words, a pattern that matches nothing.
            self._pattern = re.compile(rf"(?<!\w)(?:{longest_first})(?!\w)" if self._words else r"(?!)")
        return self._pattern

    def is_absent(self, value: Any) -> bool:
        if isinstance(value, str):
            return self._is_absent_in_text(value)
        if self.whole_marker(value) is not None or self.names_marker(value) is not None:
            return False
        return all(map(self.is_absent, value.values() if is_object(value) else value if is_array(value) else ()))

    def _is_absent_in_text(self, text: str) -> bool:
        return super().is_absent(text) and self._word_pattern().search(text) is None

    def whole_marker(self, value: Any) -> str | None:
        is_container = is_object(value) or is_array(value)
        if isinstance(value, bool | str | None) or (is_container and len(value) not in self._whole_lengths):
            return None
        return self._whole.get(encode_stored(value))

    def mask_counted(self, text: str) -> tuple[str, int]:
        count = 0

        def mask(part: str) -> str:
            nonlocal count
            pieces = _ANY_MARKER.split(part)
            for at in range(0, len(pieces), 2):
                pieces[at], words = self._word_pattern().subn(lambda match: self._words[match[0]], pieces[at])
                count += words
            return "".join(pieces)

        masked, found = super().mask_counted(text)
        masked = rewrite_around_tokens(masked, mask)
        return masked, found + count


def is_question(kind: str) -> bool:
    """Whether a person reads interrupts of this kind."""
    return kind not in MACHINE_KINDS


def is_answerable(kind: str, data: dict[str, Any]) -> bool:
    """hide-07 (readings, Questions of a node that read a secret): whether something readable is left of the data of an
    interrupt after redaction.

    Every question of a clarification must be readable, and so must one of its choices if its schema lists them, because
    an answer with a marker is refused. Of other interrupts, at least one text must be readable. A credential that was
    cut out counts as readable, because a text that only looks like a credential must not fail a node.
    """
    if kind not in STATUS_BY_KIND or kind in MACHINE_KINDS:
        return True
    if kind == "clarification":
        return all(_is_readable(each["question"]) and _has_choice(each.get("schema")) for each in data["questions"])
    found = list(_texts({name: value for name, value in data.items() if name not in _IDENTIFIERS}))
    return any(map(_is_readable, found)) or not any(MARKER_PREFIX in text for text in found)


def _has_choice(schema: Any) -> bool:
    """Whether at least one of the values that a question allows has no sensitive value in it; True if it allows all."""
    if not is_object(schema):
        return True
    choices = schema["enum"] if is_array(schema.get("enum")) else [schema["const"]] if "const" in schema else None
    if choices is None:
        return True
    return any(not any(map(_SENSITIVE_MARKER.search, _texts(each))) for each in choices)


def _is_readable(text: str) -> bool:
    """Whether a text has a letter or digit outside markers of sensitive values, or no marker at all."""
    return MARKER_PREFIX not in text or _READABLE.search(_SENSITIVE_MARKER.sub("", text)) is not None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if is_object(value) else value if is_array(value) else ():
        yield from _texts(each)
