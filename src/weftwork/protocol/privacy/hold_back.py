"""HoldBack: moves chunk boundaries of a streamed text so that no secret is split between two chunks.

Theory of operation. Each chunk is searched for secrets by itself, so a secret that spans two chunks would be found in
neither. The end of a chunk that may be the beginning of a secret is therefore moved to the next chunk. Chunks change
their length, never their number. The text is scanned as the redactor scans it, from the left and the longest match
first, so that both agree on what is one secret. Source: readings (Text streaming).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from heapq import heapify, heappop, heappush


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
