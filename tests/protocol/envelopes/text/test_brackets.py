"""Where documents could stand in a text, and that no text makes it costly to find out."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings

from tests.harness.definitions import example_count
from tests.protocol.envelopes.text.sample_texts import ANY_TEXT, HOSTILE, hostile_texts
from weftwork.protocol.envelopes.text import extraction
from weftwork.protocol.envelopes.text.extraction import (
    TextSection,
    balanced_spans,
    extract_envelopes,
    extract_value,
    find_closing_bracket,
    split_sections,
)

LONG = 65_536


class Work:
    """Counts the characters that are walked over, decoded and repaired."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.walked = self.decoded = self.repaired = 0
        decode, repair = extraction.decode, extraction.repair

        def followed(text: str, start: int, end: int) -> tuple[int, bool]:
            at, closed = find_closing_bracket(text, start, end)
            self.walked += at - start
            return at, closed

        def decoded(data: bytes) -> Any:
            self.decoded += len(data)
            return decode(data)

        def repaired(text: str, clean: bool) -> str | None:
            self.repaired += len(text)
            return repair(text, clean=clean)

        patch.setattr(extraction, "find_closing_bracket", followed)
        patch.setattr(extraction, "decode", decoded)
        patch.setattr(extraction, "repair", repaired)

    def of(self, text: str) -> int:
        self.walked = self.decoded = self.repaired = 0
        extract_value(text, clean=True)
        return self.walked + self.decoded + self.repaired


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_costs_no_more_than_its_length(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch)
    text = (kind * LONG)[:LONG]
    assert work.of(text) <= 5 * LONG
    assert work.of(f'{{"a": 1}} {text}') <= 5 * LONG + 100


def test_the_cost_of_going_back_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def again(text: str, part: TextSection) -> Iterator[tuple[int, int]]:
        at = part.start
        while start := extraction._START.search(text, at, part.end):
            end, closed = extraction.find_closing_bracket(text, start.start(), part.end)
            if closed:
                yield start.start(), end
            at = end if closed else start.end()

    work = Work(monkeypatch)
    monkeypatch.setattr(extraction, "balanced_spans", again)
    assert any(work.of(text) > 100 * 4_096 for text in hostile_texts(4_096))


def test_so_many_pieces_are_decoded_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    found = extract_envelopes("{} " * (extraction.MAX_CANDIDATES + 5))
    assert found is not None
    assert len(found.documents) == extraction.MAX_CANDIDATES
    monkeypatch.setattr(extraction, "MAX_CANDIDATES", 10**9)
    found = extract_envelopes("{} " * 2_000)
    assert found is not None
    assert len(found.documents) == 2_000


def test_so_many_parts_are_cut_and_no_more() -> None:
    cut = split_sections("```\nx\n```\n" * extraction.MAX_SECTIONS)
    assert len(cut) <= extraction.MAX_SECTIONS + 2
    assert cut[-1].end == 10 * extraction.MAX_SECTIONS
    assert not cut[-1].fenced


@settings(max_examples=example_count(100), deadline=None)
@given(ANY_TEXT)
def test_parts_cover_a_text_in_order_and_do_not_overlap(text: str) -> None:
    cut = split_sections(text)
    assert cut[-1].end == len(text)
    assert all(left.end <= right.start for left, right in pairwise(cut))
    for part in cut:
        places = [place for span in balanced_spans(text, part) for place in span]
        assert places == sorted(places)
        assert not places or (part.start <= places[0] and places[-1] <= part.end)
