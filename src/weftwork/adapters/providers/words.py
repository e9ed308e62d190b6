"""Text in pieces, and what it counts for."""

import re
from typing import Final

BYTES_PER_TOKEN: Final = 4
_WORD: Final = re.compile(r"\s*\S+(?:\s+\Z)?|\s+\Z")


def pieces(text: str) -> tuple[str, ...]:
    """The words of a text, each with the space before it; together they are the text."""
    return tuple(_WORD.findall(text))


def tokens(text: str) -> int:
    """An estimate: one token for each four bytes of UTF-8, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)
