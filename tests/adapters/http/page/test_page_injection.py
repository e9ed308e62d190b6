"""Whatever a question says stays text: no element, attribute or entity comes of it, in any place."""

import html
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.http.page.injection_payloads import CANARY, PAYLOADS, POLYGLOTS
from tests.adapters.http.page.page_tree import Element, parse, shape
from tests.adapters.http.page.sample_questions import KINDS
from tests.adapters.http.page.text_places import text_paths, with_text, with_text_everywhere
from tests.harness.definitions import example_count
from weftwork.adapters.http.page import markup, pages
from weftwork.adapters.http.page.markup import HIDDEN_CHARACTERS, mark_hidden
from weftwork.protocol.errors import ClientFault, invalid

ELEMENTS = set(
    "html head meta title style body header strong main h1 h2 p section div dl dt dd time bdi span ul li pre code form "
    "fieldset legend label input select option textarea button details summary a footer".split()
)
ATTRIBUTES = set(
    "lang dir charset name content class id for type value checked selected required autofocus rows step min max "
    "spellcheck autocapitalize autocomplete method action accept-charset datetime href open disabled role aria-label "
    "aria-describedby aria-invalid".split()
)
ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|#39|#96);)")


def check(document: bytes) -> Element:
    """The page holds nothing but what this host puts into pages."""
    tree = parse(document)
    source = document.decode()
    assert source.count("<style>") == source.count("</style>") == 1
    for element in tree.all():
        assert element.name in ELEMENTS | {""}, element.name
        assert set(element.attributes) <= ATTRIBUTES, element.attributes
        assert re.fullmatch(r"(#[a-z0-9.]+)?", element.get("href")), element.get("href")
        assert element.name != "form" or (element.get("action"), element.get("method")) == ("token", "post")
    before, _, after = source.partition("</style>")
    assert not ENTITY.search(before.partition("<style>")[0] + after)
    return tree


def stand_in(text: str) -> str:
    """A harmless text of the same length, lines and hidden characters."""
    return "".join(each if each.isspace() or HIDDEN_CHARACTERS.match(each) else "x" for each in text)


def render(question: dict[str, Any]) -> bytes:
    return pages.render_question(question, "token")


def test_the_corpus_is_large() -> None:
    assert len(PAYLOADS) == len(set(PAYLOADS)) >= 130
    assert sum(len(text_paths(question)) for question in KINDS.values()) >= 200


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("payload", [*POLYGLOTS, PAYLOADS[0]])
def test_each_place_takes_text_only(name: str, payload: str) -> None:
    for place in text_paths(KINDS[name]):
        tree = check(render(with_text(KINDS[name], place, payload)))
        assert shape(tree) == shape(check(render(with_text(KINDS[name], place, stand_in(payload))))), place


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_all_places_take_text_only(name: str) -> None:
    for payload in PAYLOADS:
        tree = check(render(with_text_everywhere(KINDS[name], payload)))
        assert shape(tree) == shape(check(render(with_text_everywhere(KINDS[name], stand_in(payload))))), payload


@pytest.mark.parametrize("payload", [*PAYLOADS, *POLYGLOTS])
def test_other_pages_take_text_only(payload: str) -> None:
    for document in (
        pages.render_done(payload, with_text_everywhere(KINDS["approval"], payload)),
        pages.render_refusal(ClientFault("forbidden", payload)),
        pages.render_refusal(invalid(payload)),
        pages.render_question(
            KINDS["clarification"], "token", [("f0", payload), ("action", payload)], invalid(payload)
        ),
        pages.render_question(KINDS["clarification"], "token", [("f8", payload), (payload, payload)], None),
        pages.render_question(KINDS["approval"], "token", [("comment", payload)], invalid("x", field=payload)),
    ):
        check(document)


@given(text=st.text())
@settings(max_examples=example_count(300), deadline=None)
def test_escaped_text_reads_as_the_text_with_its_hidden_characters_shown(text: str) -> None:
    escaped = markup.escape(text)
    assert not set(escaped) & set("<>\"'`")
    assert not ENTITY.search(escaped)
    assert not HIDDEN_CHARACTERS.search(escaped)
    assert html.unescape(escaped) == mark_hidden(text)
    escaped.encode()


def test_without_the_escaping_the_proof_is_red(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "escape", lambda text: text.encode("utf-8", "replace").decode())
    seen = 0
    for payload in PAYLOADS:
        try:
            same = shape(check(render(with_text_everywhere(KINDS["approval"], payload)))) == shape(
                check(render(with_text_everywhere(KINDS["approval"], stand_in(payload))))
            )
        except AssertionError:
            same = False
        seen += not same
    assert seen >= 90


@pytest.mark.parametrize("dropped", ["<", ">", '"', "&"])
def test_one_character_that_is_not_escaped_is_seen(monkeypatch: pytest.MonkeyPatch, dropped: str) -> None:
    table = {code: entity for code, entity in markup._ENTITIES.items() if code != ord(dropped)}
    monkeypatch.setattr(markup, "_ENTITIES", table)
    with pytest.raises(AssertionError):
        test_escaped_text_reads_as_the_text_with_its_hidden_characters_shown()


@pytest.mark.parametrize("payload", PAYLOADS)
def test_what_a_question_says_can_be_read(payload: str) -> None:
    for question, place in (
        (KINDS["approval"], ("data", "title")),
        (KINDS["one question"], ("data", "questions", 0, "question")),
    ):
        assert mark_hidden(payload) in check(render(with_text(question, place, payload))).text


def test_an_address_is_shown_and_leads_nowhere() -> None:
    tree = check(render(with_text_everywhere(KINDS["approval"], CANARY)))
    assert CANARY in tree.text
    assert tree.named("a") == []
