"""What a repair mends, what it leaves alone, and that it adds nothing."""

import json
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import for_all
from tests.protocol.envelopes.text.sample_texts import ANY_TEXT, OBJECTS, VALUES, hostile_texts, sloppy_json
from weftwork.protocol.envelopes.text import repair as module
from weftwork.protocol.envelopes.text.repair import MAX_REPAIRED, repair
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.decoder import decode


def mended(text: str, clean: bool = False) -> Any:
    written = repair(text, clean=clean)
    return None if written is None else decode(written.encode("utf-8", "surrogatepass"))


@pytest.mark.rule("rel-02")
@each_case(
    "text, value",
    ('{"a": 1,}', {"a": 1}),
    ("[1, 2, ]", [1, 2]),
    ("{'a': 'b'}", {"a": "b"}),
    ("{'a': 'say \"b\"'}", {"a": 'say "b"'}),
    (r"{'a': 'it\'s'}", {"a": "it's"}),
    ('{"a": "it\'s"}', {"a": "it's"}),
    (
        "{a: 1, b_2: 2, $c: 3, content-type: 4, größe: 5}",
        {"a": 1, "b_2": 2, "$c": 3, "content-type": 4, "größe": 5},
    ),
    ("[True, False, None, undefined]", [True, False, None, None]),
    ('{// one\n"a": /* two, "b": 3 */ 1}', {"a": 1}),
    ('{"a": "http://x/*y*/"}', {"a": "http://x/*y*/"}),
    ("{\u201ca\u201d: \u2018b\u2019, \u201ec\u201c: \u201ed\u201d}", {"a": "b", "c": "d"}),
    ('{"a": "b\nc\td"}', {"a": "b\nc\td"}),
    ('{"a": "\u201cb\u201d"}', {"a": "\u201cb\u201d"}),
    ("{'a': 1} and so on {", {"a": 1}),
    ("{}", {}),
    ("[]", []),
    (r'{"a": "\u00e9\n\\"}', {"a": "é\n\\"}),
)
def test_slips_with_one_reading_are_mended(text: str, value: Any) -> None:
    assert mended(text) == value


@pytest.mark.rule("rel-02")
@each_case(
    "text",
    "",
    "a",
    '"a"',
    " {}",
    '{"a" 1}',
    '{"a": 1 "b": 2}',
    "[1 2]",
    "[1,, 2]",
    "[,]",
    "{,}",
    "[, 1]",
    '{"a":, "b": 1}',
    '{"a":}',
    '{"a"}',
    "{a}",
    '{"a": b}',
    "{'a': 'it's'}",
    "[NaN]",
    "[Infinity]",
    "[TRUE]",
    "[+1]",
    "[.5]",
    "[1.]",
    "[0x10]",
    "[01]",
    "[1, 2, ...]",
    '{"a": 1]',
    "[1}",
    '["a" + "b"]',
    '{"a": "b\\\nc"}',
    "{1: 2}",
    "[/* open ]",
    "[1 /]",
    "[" * 65 + "]" * 65,
)
@each_case("clean", False, True)
def test_nothing_is_guessed(text: str, clean: bool) -> None:
    assert repair(text, clean=clean) is None


@pytest.mark.rule("rel-02")
@each_case("text", r'{"a": "\d"}', '{"a": 1, a: 2}', "['\\u0000']", "['\\ud800']", '["\x00"]')
def test_what_the_decoder_refuses_stays_refused(text: str) -> None:
    with pytest.raises(ClientFault):
        mended(text)


@pytest.mark.rule("rel-02")
@for_all(50, OBJECTS | st.lists(VALUES, max_size=4), st.booleans(), st.booleans(), full=4_000)
def test_json_stays_the_same_value(value: Any, plain: bool, clean: bool) -> None:
    assert mended(json.dumps(value, ensure_ascii=plain), clean) == value


@pytest.mark.rule("rel-02")
@for_all(50, OBJECTS | st.lists(VALUES, max_size=4), st.data(), full=4_000)
def test_a_careless_author_is_understood(value: Any, data: st.DataObject) -> None:
    assert mended(sloppy_json(value, data.draw).lstrip(" \n/*so")) == value


@for_all(150, ANY_TEXT, st.booleans(), full=6_000)
def test_no_text_makes_a_repair_fail_or_adds_a_name(text: str, clean: bool) -> None:
    for start in ("", "{", "[", "{'a':", '{"a":['):
        try:
            value = mended(start + text, clean)
        except ClientFault:
            continue
        for name in value if isinstance(value, dict) and "\\" not in text else ():
            assert name in start + text


@pytest.mark.rule("rel-02")
def test_closing_brackets_are_added_after_a_whole_value_only() -> None:
    whole = '{"a": [1, {"b": "c"'
    assert mended(whole, clean=True) == {"a": [1, {"b": "c"}]}
    for cut in (whole, whole[:-1], whole[:-2], whole[:-5], whole[:-6], '{"a": [1,', '{"a": [', "{", '{"a"', '{"a":'):
        assert repair(cut) is None
        if cut != whole:
            assert repair(cut, clean=True) is None


def test_every_step_goes_on_in_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[int] = []
    step = module._RepairPass._step

    def counted(self: Any, mark: str) -> bool:
        places.append(self._at)
        return step(self, mark)

    monkeypatch.setattr(module._RepairPass, "_step", counted)
    for text in [*hostile_texts(20_000), f"[{'[],' * 5_000}]", "{" + "a:'b'," * 3_000 + "}"]:
        places.clear()
        repair(text, clean=True)
        assert places == sorted(set(places))


def test_a_long_text_is_not_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"[{' ' * MAX_REPAIRED}1,]"
    assert repair(text) is None
    monkeypatch.setattr(module, "MAX_REPAIRED", 10 * MAX_REPAIRED)
    assert mended(text) == [1]
