"""Envelopes in pieces: whole only when every piece is there, in whatever order they come."""

import itertools
import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import example_count
from tests.protocol.envelopes.sample_envelopes import PAYLOADS, Json, envelope, rules
from weftwork.protocol.envelopes import reassembly
from weftwork.protocol.envelopes.gate import accept
from weftwork.protocol.envelopes.outcome import Accepted, Invalid
from weftwork.protocol.envelopes.reassembly import MAX_BYTES, MAX_INCOMPLETE, MAX_PIECES, PartialEnvelopes

SURFACE = "ui.a2ui-surface"


def piece(index: int, payload: Any, last: bool = False, total: int = -1, **more: Any) -> Json:
    place = {"isPartial": not last, "index": index, "total": total}
    return {**envelope(SURFACE), "payload": payload, "partial": place, **more}


def cut(count: int, text: str | None = None, total: int = -1) -> list[Json]:
    """A surface in so many pieces of text."""
    whole = json.dumps(PAYLOADS[SURFACE]) if text is None else text
    step = -(-len(whole) // count)
    parts = [whole[at * step : (at + 1) * step] for at in range(count)]
    return [piece(at, part, at == count - 1, total) for at, part in enumerate(parts)]


def taken(documents: list[Json]) -> list[Any]:
    pieces = PartialEnvelopes()
    return [pieces.add(each) for each in documents]


@pytest.mark.rule("env-16")
@each_case("total", -1, 3)
@each_case("order", *list(itertools.permutations(range(3))))
def test_pieces_make_the_whole_in_any_order(order: tuple[int, ...], total: int) -> None:
    pieces = PartialEnvelopes()
    found = [pieces.add(cut(3, total=total)[at]) for at in order]
    assert found[:2] == [None, None]
    assert found[2] == envelope(SURFACE)
    assert isinstance(accept(found[2], rules()).outcome, Accepted)
    assert pieces.close() == {}


@pytest.mark.rule("env-16")
def test_other_payloads_are_all_there_is_so_far_and_the_last_one_counts() -> None:
    grown = [{"catalogVersion": "0.9.1"}, {"catalogVersion": "0.9.1", "surface": {}}, PAYLOADS[SURFACE]]
    documents = [piece(at, each, at == 2) for at, each in enumerate(grown)]
    assert taken(documents) == [None, None, envelope(SURFACE)]
    assert taken([documents[2], documents[0], documents[1]]) == [None, None, envelope(SURFACE)]
    assert taken([piece(0, "text"), piece(1, PAYLOADS[SURFACE], True)]) == [None, envelope(SURFACE)]


@pytest.mark.rule("env-16")
@pytest.mark.parametrize("payload", ["just a text", {"a": 1}, None])
def test_a_single_piece_is_the_whole(payload: Any) -> None:
    assert taken([piece(0, payload, True, 1)]) == [{**envelope(SURFACE), "payload": payload}]


@each_case("document", envelope(), {}, None, [], "text", {"partial": "\ud800"})
def test_what_is_no_piece_comes_back_as_it_is(document: Any) -> None:
    assert PartialEnvelopes().add(document) is document


@pytest.mark.rule("env-16")
@each_case(
    "documents, keyword",
    ([piece(0, "a"), piece(0, "b")], "unique"),
    ([piece(0, "a"), piece(0, "b", True)], "unique"),
    ([piece(1, "b", True), piece(2, "c", True)], "unique"),
    ([piece(1, "b", True), piece(2, "c")], "maximum"),
    ([piece(2, "c"), piece(1, "b", True)], "maximum"),
    ([piece(0, "a", total=3), piece(1, "b", total=4)], "const"),
    ([piece(0, "a", total=3), piece(1, "b", True)], "const"),
    ([piece(1, "b", True, 3)], "const"),
    ([piece(3, "d", total=3)], "maximum"),
    ([piece(0, "a", total=0)], "maximum"),
    ([piece(0, "a", total=MAX_PIECES + 1)], "maxItems"),
    ([piece(MAX_PIECES, "a", True)], "maxItems"),
    ([piece(0, "a" * (MAX_BYTES + 1))], "maxLength"),
    ([piece(0, "a" * MAX_BYTES), piece(1, "b")], "maxLength"),
)
def test_pieces_that_contradict_each_other(documents: list[Json], keyword: str) -> None:
    pieces = PartialEnvelopes()
    *before, last = [pieces.add(each) for each in documents]
    assert all(each is None for each in before)
    assert isinstance(last, Invalid)
    assert last.code == "invalid_envelope_shape"
    assert [(each.instance_path, each.keyword) for each in last.details] == [("/partial", keyword)]
    assert pieces.add(piece(7, "more")) == last
    assert pieces.close() == {documents[0]["correlationId"]: last}
    assert pieces.add(piece(0, {}, True)) == {**envelope(SURFACE), "payload": {}}


@pytest.mark.rule("env-16")
@fails_without(reassembly.hashlib, "sha256", lambda text: SimpleNamespace(digest=object))
def test_a_piece_that_comes_again_changes_nothing() -> None:
    first, second, third = cut(3)
    pieces = PartialEnvelopes()
    assert [pieces.add(each) for each in (first, first, third, third, first)] == [None] * 5
    whole = pieces.add(second)
    assert whole == envelope(SURFACE)
    assert [pieces.add(each) for each in (first, second)] == [None, None]
    assert pieces.add(dict(reversed(third.items()))) is whole
    assert pieces.close() == {}
    found = taken([first, {**first, "payload": "other"}])
    assert isinstance(found[1], Invalid)
    assert found[1].details[0].keyword == "unique"


@pytest.mark.rule("env-16")
@each_case(
    "partial, place",
    (False, ("/partial", "type")),
    (None, ("/partial", "type")),
    ({"isPartial": "no", "index": 0, "total": 1}, ("/partial/isPartial", "type")),
    ({"isPartial": False, "index": "0", "total": 1}, ("/partial/index", "type")),
    ({"isPartial": False, "index": -1, "total": 1}, ("/partial/index", "minimum")),
    ({"isPartial": False, "index": 0, "total": 1.5}, ("/partial/total", "type")),
    ({"isPartial": False, "index": 0}, ("/partial", "required")),
)
def test_a_malformed_piece_is_refused_at_its_place(partial: Any, place: tuple[str, str]) -> None:
    found = PartialEnvelopes().add({**envelope(SURFACE), "partial": partial})
    assert isinstance(found, Invalid)
    assert [(each.instance_path, each.keyword) for each in found.details] == [place]
    assert found == accept({**envelope(SURFACE), "partial": partial}, rules()).outcome


@pytest.mark.rule("env-16")
def test_pieces_that_never_came_and_another_kind_under_the_same_id_are_refused() -> None:
    pieces = PartialEnvelopes()
    assert pieces.add(cut(3)[2]) is None
    assert pieces.add(cut(3)[0]) is None
    (missing,) = pieces.close().values()
    assert missing.code == "invalid_envelope_shape"
    first, second, _ = cut(3)
    found = taken([first, {**second, "type": "error"}])
    assert found[0] is None
    assert isinstance(found[1], Invalid)
    assert found[1].code == "envelope_correlation_conflict"


def test_envelopes_are_kept_apart_by_their_ids() -> None:
    one, two = cut(2), [{**each, "correlationId": "other"} for each in cut(2)]
    found = taken([one[0], two[0], two[1], one[1]])
    assert found == [None, None, {**envelope(SURFACE), "correlationId": "other"}, envelope(SURFACE)]


def test_pieces_that_are_no_envelopes_or_make_no_json_are_refused() -> None:
    found = PartialEnvelopes().add({**piece(0, "a"), "partial": {"isPartial": True, "index": 0}})
    assert isinstance(found, Invalid)
    assert found.code == "invalid_envelope_shape"
    for text in ('{"a": 1', '{"a": 1, "a": 2}', "NaN     "):
        found = taken(cut(2, text))[-1]
        assert isinstance(found, Invalid)
        assert (found.code, found.details[0].instance_path) == ("envelope_invalid", "/payload")
        assert text not in str(found)


@pytest.mark.rule("env-16")
@each_case("index", *range(3))
@each_case("last", "trusted", None)
def test_one_untrusted_piece_makes_the_whole_untrusted(index: int, last: str | None) -> None:
    documents = cut(3)
    for at, each in enumerate(documents):
        tag = "untrusted" if at == index else last
        each["meta"] = each["meta"] | ({} if tag is None else {"contentTrust": tag})
    assert taken(documents)[-1]["meta"]["contentTrust"] == "untrusted"


def test_so_many_envelopes_in_pieces_at_a_time() -> None:
    pieces = PartialEnvelopes()
    for number in range(MAX_INCOMPLETE):
        assert pieces.add(piece(0, "a", correlationId=f"id-{number}")) is None
    assert isinstance(pieces.add(piece(0, "a", correlationId="one-more")), Invalid)
    assert pieces.add(piece(1, "b", correlationId="id-0")) is None
    assert len(pieces.close()) == MAX_INCOMPLETE


@pytest.mark.parametrize("bound", [MAX_PIECES, 5])
def test_the_bounds_are_the_last_that_is_taken(bound: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reassembly, "MAX_PIECES", bound)
    assert PartialEnvelopes().add(piece(0, "a", total=bound)) is None
    assert isinstance(PartialEnvelopes().add(piece(0, "a", total=bound + 1)), Invalid)
    found = taken([piece(at, "a") for at in range(6)])
    assert [isinstance(each, Invalid) for each in found] == [False] * 5 + [bound == 5]


def test_an_envelope_of_many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    assert taken(cut(300))[-1] == envelope(SURFACE)
    monkeypatch.setattr(reassembly, "MAX_PIECES", 299)
    assert isinstance(taken(cut(300))[-1], Invalid)


def test_nothing_is_judged_before_the_last_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard is that None stands for an envelope that is not whole; without it pieces would be judged alone."""
    first = cut(2)[0]
    assert PartialEnvelopes().add(first) is None
    assert isinstance(accept(first, rules()).outcome, Invalid)
    monkeypatch.setattr(PartialEnvelopes, "add", lambda self, document: document)
    assert taken(cut(2))[0] is not None


@settings(max_examples=example_count(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.booleans(), st.integers(-1, 5), st.sampled_from(["", "{}", "1", None, [0]])),
        max_size=8,
    )
)
def test_whatever_comes_there_is_an_answer(given: list[tuple[int, bool, int, Any]]) -> None:
    pieces = PartialEnvelopes()
    for index, last, total, payload in given:
        found = pieces.add(piece(index, payload, last, total))
        assert found is None or isinstance(found, Invalid) or "partial" not in found
    assert len(pieces.close()) <= 1
