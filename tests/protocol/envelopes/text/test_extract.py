"""What is read out of a model's text: the right document by the right path, never a part of one, at a bounded cost."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without, present
from tests.harness.definitions import example_count, for_all
from tests.protocol.envelopes.text.sample_texts import ANY_TEXT, HOSTILE, OBJECTS, PROSE, VALUES, hostile_texts
from weftwork.protocol.envelopes.answer_documents import read_text
from weftwork.protocol.envelopes.text import extraction
from weftwork.protocol.envelopes.text.repair import repair


@pytest.mark.rule("rel-01")
@for_all(100, VALUES, st.booleans(), st.sampled_from([None, 2]), full=4_000)
def test_a_value_is_read_as_it_is(value: Any, plain: bool, indent: int | None) -> None:
    assert extraction.extract_value(json.dumps(value, ensure_ascii=plain, indent=indent)) == extraction.Extraction(
        (value,), "direct", None
    )


@pytest.mark.rule("rel-01")
@settings(max_examples=example_count(100, 4_000), deadline=None)
@given(VALUES, PROSE, PROSE, st.sampled_from(["json", "JSON", "", "text"]), st.sampled_from(["```", "~~~", "`````"]))
def test_a_value_is_found_in_a_fence(value: Any, before: str, after: str, info: str, fence: str) -> None:
    text = f"{before}.\n{fence}{info}\n{json.dumps(value, indent=1)}\n{fence}\n{after}"
    offset = len(f"{before}.\n{fence}{info}\n".encode())
    assert extraction.extract_value(text) == extraction.Extraction((value,), "markdown-fence", offset)


@pytest.mark.rule("rel-01")
@for_all(100, OBJECTS, PROSE, PROSE, full=4_000)
def test_an_object_is_found_in_prose(value: dict[str, Any], before: str, after: str) -> None:
    text = f"{before}. {json.dumps(value)} {after}."
    assert extraction.extract_value(text) == extraction.Extraction(
        (value,), "brace-walker", len(f"{before}. ".encode())
    )


@pytest.mark.rule("rel-01")
@each_case(
    "text, value, path",
    ('See [1] and [2]: {"a": 1}', {"a": 1}, "brace-walker"),
    ('The set {a, b} of {name} is {"a": 1}.', {"a": 1}, "brace-walker"),
    ('[see {"a": 1}]', {"a": 1}, "brace-walker"),
    ('Take ["x", "y"], then.', ["x", "y"], "brace-walker"),
    ('{"a": 1}\n{"a": 2}', {"a": 1}, "brace-walker"),
    ('{"no": 1}\n```json\n{"a": 1}\n```', {"a": 1}, "markdown-fence"),
    ('```json {"a": 1}\n```', {"a": 1}, "brace-walker"),
    ('```json\n{"a": 1}```', {"a": 1}, "brace-walker"),
    ('```json\n{"a": "```"}\n```', {"a": "```"}, "markdown-fence"),
    ('```json\n{"a": 1}\n', {"a": 1}, "markdown-fence"),
    ('````\n```json\n{"a": 1}\n```\n````', {"a": 1}, "brace-walker"),
    ('```\r\n{"a": 1}\r\n```\r\n', {"a": 1}, "markdown-fence"),
    ("As in [1]: {'a': 1}", [1], "brace-walker"),
    ("Here: {'a': [1,]}", {"a": [1]}, "jsonrepair"),
    ("```python\n{'a': None}\n```", {"a": None}, "jsonrepair"),
    ("\ufeff{}", {}, "brace-walker"),
)
def test_forms_in_which_models_answer(text: str, value: Any, path: str) -> None:
    found = present(extraction.extract_value(text))
    assert (found.documents, found.path) == ((value,), path)


@pytest.mark.rule("rel-01")
@each_case(
    "text",
    "",
    "x",
    "The answer is yes.",
    "{name}",
    "{ to be or not }",
    '{"a": 1, "a": 2}',
    '{"a": NaN}',
    '{"a": 9007199254740993}',
    '{"a": "\\ud800"}',
    '{"a": "\ud800"}',
    "[" * 65 + "]" * 65,
    '{"a": oops, "b": {"c": 1}}',
    '{"a": [1}, {"b": 2}]',
)
def test_what_no_document_can_be_read_from(text: str) -> None:
    assert extraction.extract_value(text) is None
    assert extraction.extract_envelopes(text) is None


@pytest.mark.rule("rel-02")
@for_all(100, OBJECTS, PROSE, st.sampled_from(["So {0}. {1}", "So {0}\n```json\n{1}"]))
@example({"a": {"b": [{"c": 1}]}, "d": True}, "", "{0}{1}")
def test_what_was_cut_off_is_never_made_whole(value: dict[str, Any], before: str, form: str) -> None:
    nothing_is_made_whole(value, before, form)


def nothing_is_made_whole(value: dict[str, Any], before: str, form: str) -> None:
    whole = json.dumps(value)
    for end in {*range(0, len(whole), len(whole) // 50 + 1), len(whole) - 1}:
        text = form.format(before, whole[:end])
        assert extraction.extract_value(text) is None
        assert extraction.extract_envelopes(text) is None
        assert not extraction.holds_document(text)


def anywhere(text: str, part: extraction.TextSection) -> Iterator[tuple[int, int]]:
    for start in range(part.start, part.end):
        if text[start] in "{[":
            end, closed = extraction.find_closing_bracket(text, start, part.end)
            if closed:
                yield start, end


@fails_without(extraction, "balanced_spans", anywhere)
@fails_without(extraction, "repair", lambda text, clean: repair(text, clean=True))
def test_the_proof_sees_parts_that_are_taken_for_the_whole_and_repairs() -> None:
    nothing_is_made_whole({"a": {"b": 1}}, "", "{0}{1}")


@pytest.mark.rule("rel-02")
def test_a_forgotten_bracket_is_added_only_to_an_answer_that_ended_by_itself() -> None:
    for text in ('{"a": [1, 2', 'So: {"a": {"b": 1}', "```json\n{'a': 1\n```\nThat is all."):
        assert extraction.extract_value(text) is None
        assert extraction.extract_value(text, clean=True) is not None
    for text in ('{"a": 1,', '{"a":', '{"a', '{"a": "b', "{'a': 1\n```json\n["):
        assert extraction.extract_value(text, clean=True) is None


@for_all(200, ANY_TEXT, st.booleans(), full=8_000)
def test_no_text_makes_reading_fail(text: str, clean: bool) -> None:
    value, envelopes = extraction.extract_value(text, clean=clean), extraction.extract_envelopes(text, clean=clean)
    for found in (value, envelopes, read_text(text)):
        if found is not None:
            assert found.documents
            assert (found.offset is None) == (found.path == "direct")
            assert found.offset is None or found.offset < len(text.encode("utf-8", "surrogatepass"))
    assert envelopes is None or all(isinstance(each, dict) for each in envelopes.documents)
    extraction.is_prose(text)
    if extraction.holds_document(text):
        assert value is not None


PLAN = {"type": "vendor.acme.plan", "payload": {"steps": []}}
ERROR = {"type": "error", "payload": {"code": "no"}, "meta": {"source": "ai-generation"}}


@pytest.mark.rule("rel-03")
@each_case(
    "text, path",
    (json.dumps([PLAN, ERROR]), "direct"),
    (f"{json.dumps(PLAN)}\n{json.dumps(ERROR)}", "brace-walker"),
    (f"First {json.dumps(PLAN)}, then [2] {json.dumps(ERROR)}.", "brace-walker"),
    (f"One:\n```json\n{json.dumps(PLAN)}\n```\nTwo:\n```json\n{json.dumps(ERROR)}\n```\n", "markdown-fence"),
    (f"One:\n```json\n{json.dumps(PLAN)}\n```\nTwo: {json.dumps(ERROR)}", "markdown-fence"),
    (f"{json.dumps(PLAN)}\n```\n{json.dumps(ERROR)}\n```", "brace-walker"),
    (f"```json\n{json.dumps([PLAN, ERROR], indent=2)}\n```", "markdown-fence"),
    (f'An open {{" here\n```json\n{json.dumps([PLAN, ERROR])}\n```', "markdown-fence"),
)
def test_envelopes_are_read_from_top_to_bottom(text: str, path: str) -> None:
    for read in (extraction.extract_envelopes, read_text):
        found = present(read(text))
        assert (found.documents, found.path) == ((PLAN, ERROR), path)


@pytest.mark.rule("rel-03")
def test_broken_envelopes_are_repaired_only_where_envelopes_are_expected() -> None:
    text = "{'type': 'error', \"type\"_: 1}"
    assert extraction.extract_envelopes(text) is None
    text = f"```json\n{PLAN}\n```\n```json\n{ERROR}\n```"
    found = present(extraction.extract_envelopes(text))
    assert (found.documents, found.path) == ((PLAN, ERROR), "jsonrepair")
    assert read_text(text.replace("'type'", '"type"').replace("'payload'", '"payload"')) is None


@pytest.mark.rule("rel-03")
@each_case(
    "text, kinds",
    (f"{ERROR}", ["error"]),
    (f" [{PLAN}, {ERROR}]\n", ["error"]),
    (f"```\n{ERROR}\n```", ["error"]),
    (f"{PLAN}", None),
    (f"This is one: {ERROR}", None),
    (f"```python\nerror = {ERROR}\n```", None),
    (f"```\n{ERROR}\n```\nThat was one.", None),
)
def test_a_text_that_starts_as_a_broken_envelope_is_repaired(text: str, kinds: list[str] | None) -> None:
    found = read_text(text)
    assert (found and [each["type"] for each in found.documents]) == kinds
    assert found is None or found.path == "jsonrepair"


@pytest.mark.rule("rel-03")
@for_all(100, st.lists(OBJECTS, min_size=1, max_size=5), st.data())
def test_objects_come_out_in_their_order(objects: list[dict[str, Any]], data: st.DataObject) -> None:
    text = "".join(f"{data.draw(PROSE)}. {json.dumps(each)}\n" for each in objects) + "."
    assert present(extraction.extract_envelopes(text)).documents == tuple(objects)


def test_only_what_looks_like_an_envelope_is_taken_from_plain_text() -> None:
    assert read_text('A "type" and a "payload" in words.') is None
    assert read_text('{"type": 1, "payload": 2} and {"payload": {"type": "x"}}') is None
    assert read_text('{"type": "x"}') is None
    assert present(read_text(f'{{"a": 1}} {json.dumps(PLAN)}')).documents == (PLAN,)
    assert not extraction.looks_like_envelope([PLAN])


def test_ordinary_prose_is_not_even_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(data: bytes) -> Any:
        raise AssertionError

    monkeypatch.setattr(extraction, "decode", never)
    assert read_text('Once upon a time {"there": "was"} a "type" of day.') is None


@pytest.mark.rule("rel-04")
def test_prose_does_not_begin_like_json() -> None:
    assert [
        each for each in ("words", " {", "[", "\n```json", "~~~", "", " \n", "`x`", "42") if extraction.is_prose(each)
    ] == [
        "words",
        "`x`",
        "42",
    ]


LONG = 65_536


class Work:
    """Counts the characters that are walked over, decoded and repaired."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.walked = self.decoded = self.repaired = 0
        decode, repair, find = extraction.decode, extraction.repair, extraction.find_closing_bracket

        def followed(text: str, start: int, end: int) -> tuple[int, bool]:
            at, closed = find(text, start, end)
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
        extraction.extract_value(text, clean=True)
        return self.walked + self.decoded + self.repaired


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_costs_no_more_than_its_length(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch)
    text = (kind * LONG)[:LONG]
    assert work.of(text) <= 5 * LONG
    assert work.of(f'{{"a": 1}} {text}') <= 5 * LONG + 100


def test_the_cost_of_going_back_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def again(text: str, part: extraction.TextSection) -> Iterator[tuple[int, int]]:
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
    found = present(extraction.extract_envelopes("{} " * (extraction.MAX_CANDIDATES + 5)))
    assert len(found.documents) == extraction.MAX_CANDIDATES
    monkeypatch.setattr(extraction, "MAX_CANDIDATES", 10**9)
    found = present(extraction.extract_envelopes("{} " * 2_000))
    assert len(found.documents) == 2_000


def test_so_many_parts_are_cut_and_no_more() -> None:
    cut = extraction.split_sections("```\nx\n```\n" * extraction.MAX_SECTIONS)
    assert len(cut) <= extraction.MAX_SECTIONS + 2
    assert cut[-1].end == 10 * extraction.MAX_SECTIONS
    assert not cut[-1].fenced


@for_all(100, ANY_TEXT)
def test_parts_cover_a_text_in_order_and_do_not_overlap(text: str) -> None:
    cut = extraction.split_sections(text)
    assert cut[-1].end == len(text)
    assert all(left.end <= right.start for left, right in pairwise(cut))
    for part in cut:
        places = [place for span in extraction.balanced_spans(text, part) for place in span]
        assert places == sorted(places)
        assert not places or (part.start <= places[0] and places[-1] <= part.end)
