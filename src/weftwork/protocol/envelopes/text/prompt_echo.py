"""Echoes: what a refusal repeats of the prompt is taken out of it before anybody else reads it.

Theory. A refusal often quotes what it objects to, and would carry a prompt, with whatever was put into it, to every
reader of the log. Letters are compared without regard to case, and any stretch of spaces counts as one, because a
quotation changes both. A refusal is short, so its own stretches are what is looked up while the prompts go by once.
"""

from collections.abc import Iterable, Sequence
from typing import Final

ECHO_MARKER: Final = "[REDACTED:prompt]"
MIN_QUOTATION: Final = 24
"""Characters in a row that count as a quotation. Shorter ones are words that both would use anyway."""
MIN_PROMPT: Final = 8
"""Characters of a prompt that is too short for that; it counts when all of it is repeated."""
MAX_REFUSAL: Final = 2_000
"""Characters of a refusal that are kept."""
MAX_PROMPT_CHARACTERS: Final = 131_072
"""Characters of prompts that a refusal is compared with. Of a longer one nothing is shown."""


def remove_prompt_echo(text: str | None, prompts: Sequence[str]) -> str | None:
    """rel-14 (RFC 0032 B.3): a refusal without what it repeats of the prompts; None if that cannot be told.

    Every stretch of 24 characters or more that stands in a prompt is replaced, and a whole prompt of 8 or more.
    """
    if text is None or sum(map(len, prompts)) > MAX_PROMPT_CHARACTERS:
        return None
    text = text[:MAX_REFUSAL]
    folded, origin = _fold(text)
    hidden = [False] * len(text)
    for start, end in _find_quotations(folded, {" ".join(each.casefold().split()) for each in prompts}):
        for index in range(origin[start], origin[end - 1] + 1):
            hidden[index] = True
    return "".join(_masked_parts(text, hidden))


def _fold(text: str) -> tuple[str, list[int]]:
    """The text as it is compared, and for each character of that the one it comes from."""
    letters: list[str] = []
    origin: list[int] = []
    for index, letter in enumerate(text):
        folded = " " if letter.isspace() else letter.casefold()
        if folded == " " and letters[-1:] == [" "]:
            continue
        letters.extend(folded)
        origin.extend([index] * len(folded))
    return "".join(letters), origin


def _find_quotations(folded: str, prompts: Iterable[str]) -> Iterable[tuple[int, int]]:
    starts: dict[str, list[int]] = {}
    for index in range(len(folded) - MIN_QUOTATION + 1):
        starts.setdefault(folded[index : index + MIN_QUOTATION], []).append(index)
    for prompt in prompts:
        if MIN_PROMPT <= len(prompt) < MIN_QUOTATION:
            at = folded.find(prompt)
            while at >= 0:
                yield at, at + len(prompt)
                at = folded.find(prompt, at + len(prompt))
        # A stretch is looked up once, however often the prompts repeat it.
        for index in range(len(prompt) - MIN_QUOTATION + 1):
            for start in starts.pop(prompt[index : index + MIN_QUOTATION], ()):
                yield start, start + MIN_QUOTATION


def _masked_parts(text: str, hidden: list[bool]) -> Iterable[str]:
    for index, letter in enumerate(text):
        if not hidden[index]:
            yield letter
        elif index == 0 or not hidden[index - 1]:
            yield ECHO_MARKER
