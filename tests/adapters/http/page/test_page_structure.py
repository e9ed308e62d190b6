"""The page can be read and filled in by everybody: labels, names, order, and what it says of itself."""

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.http.page.page_tree import Element, parse
from tests.adapters.http.page.sample_questions import (
    CLARIFICATION,
    KINDS,
    approval,
    clarification,
    interrupt_document,
    quorum,
)
from tests.harness.cases import each_case
from tests.harness.definitions import example_count
from weftwork.adapters.http.page import pages
from weftwork.adapters.http.page.form_body import decode_form
from weftwork.adapters.http.page.outcome_view import Decision
from weftwork.adapters.http.page.pages import ADVISED_CODES
from weftwork.adapters.http.page.value_view import MAX_CHARACTERS
from weftwork.protocol.errors import ERRORS, ClientFault
from weftwork.protocol.forms.answer import resume_value
from weftwork.protocol.forms.plan import MAX_EDITABLE
from weftwork.protocol.people.answer_pages import InterruptOutcome
from weftwork.protocol.run.interrupts import answer_refusal

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)


KEYWORDS = (
    "type enum const title description oneOf anyOf items prefixItems minItems maxLength minLength pattern format "
    "minimum maximum properties required $ref $defs"
).split()


def refused(question: dict[str, Any], sent: list[tuple[str, str]]) -> bytes:
    with pytest.raises(ClientFault) as found:
        resume_value(question, sent)
    return pages.render_question(question, "token", sent, found.value)


CLOSED: tuple[Literal["resolved", "cancelled", "closed"], ...] = ("resolved", "cancelled", "closed")


def done(status: str, question: dict[str, Any]) -> bytes:
    """The page after an answer, with this status of the run."""
    outcome = InterruptOutcome("resolved", status)
    return pages.render_receipt(outcome, question, Decision({"action": "accept"}))


PAGES = {
    **{name: pages.render_question(question, "token") for name, question in KINDS.items()},
    "inspect": pages.render_question({**CLARIFICATION, "intent": "inspect"}, "token"),
    "wrong": refused(CLARIFICATION, [("f0", "Work"), ("f3", "9"), ("f4", "99")]),
    "wrong approval": refused(approval(), [("action", "refine")]),
    "done": done("completed", approval()),
    **{f"closed, {status}": pages.render_outcome(InterruptOutcome(status, "failed")) for status in CLOSED},
    "refusal": pages.render_refusal(ClientFault("forbidden", "no")),
}


def fault_of(question: dict[str, Any], sent: list[tuple[str, str]]) -> ClientFault | None:
    try:
        resume_value(question, sent)
    except ClientFault as fault:
        return fault
    return None


def faults(tree: Element) -> list[str]:
    """What would keep somebody from using the page."""
    found: list[str] = []
    ids = [each.get("id") for each in tree.all() if each.get("id")]
    found += [f"two ids {each}" for each in set(ids) if ids.count(each) > 1]
    labels = [each.get("for") for each in tree.named("label")]
    for control in tree.named("input", "select", "textarea"):
        if control.get("type") == "submit":
            continue
        if labels.count(control.get("id")) != 1:
            found.append(f"{control.get('name')} has no label of its own")
        if control.get("aria-describedby") and not set(control.get("aria-describedby").split()) <= set(ids):
            found.append(f"{control.get('name')} is described by what is not there")
    for label in tree.named("label", "legend", "button", "summary", "a", "h1", "h2", "title"):
        if not label.text.strip():
            found.append(f"{label.name} without words")
    for group in tree.named("fieldset"):
        first = group.children[0]
        if "disabled" not in group.attributes and not (isinstance(first, Element) and first.name == "legend"):
            found.append("a group without a legend")
        if not set(group.get("aria-describedby").split()) <= set(ids):
            found.append("a group is described by what is not there")
    for link in tree.named("a"):
        if link.get("href").removeprefix("#") not in ids:
            found.append("a link leads nowhere")
    if len([each for each in tree.all() if "autofocus" in each.attributes]) > 1:
        found.append("the focus is wanted in two places")
    levels = [each.name for each in tree.named("h1", "h2", "h3")]
    if levels[:1] != ["h1"] or levels.count("h1") != 1:
        found.append("headings do not start with one h1")
    return found


@each_case("name", *PAGES)
def test_the_page_can_be_used_by_everybody(name: str) -> None:
    tree = parse(PAGES[name])
    assert faults(tree) == []
    (root,) = tree.named("html")
    assert root.get("lang") == "en"
    assert [each.get("content") for each in tree.named("meta") if each.get("name") == "viewport"] == [
        "width=device-width, initial-scale=1"
    ]
    assert len(tree.named("main")) == len(tree.named("title")) == 1


@each_case(
    "before, after",
    (b' for="comment"', b""),
    (b'id="refine"', b'id="comment"'),
    (b"<h1>", b"<h2>"),
    (b'<span>Comment</span> <span class="must">(optional)</span>', b""),
)
def test_a_page_that_cannot_be_used_is_seen(before: bytes, after: bytes) -> None:
    document = PAGES["approval"]
    assert before in document
    document = document.replace(before, after)
    assert faults(parse(document.replace(b"</h1>", b"</h2>") if before == b"<h1>" else document))


@given(kind=st.sampled_from([*KINDS]), path=st.sampled_from(["data", "resumeSchema", "kind", "votes"]), value=ANYTHING)
@settings(max_examples=example_count(150, full=6_000), deadline=None)
def test_a_question_of_any_shape_has_a_page(kind: str, path: str, value: Any) -> None:
    question = {**KINDS[kind], path: value}
    assert faults(parse(pages.render_question(question, "token"))) == []
    with_members = {**KINDS[kind], "data": {**_object(KINDS[kind]["data"]), "artifactData": value, "extra": value}}
    assert faults(parse(pages.render_question(with_members, "token"))) == []


@given(schema=st.dictionaries(st.sampled_from(KEYWORDS), ANYTHING, max_size=6), sent=st.text(max_size=5))
@settings(max_examples=example_count(100, full=4_000), deadline=None)
def test_any_schema_can_be_shown_and_answered(schema: dict[str, Any], sent: str) -> None:
    """Those of the rows in the store were checked; the page does not rely on it."""
    for question in (
        clarification(("q", "?", schema)),
        interrupt_document("custom", {"customKind": "c"}, resumeSchema={"type": "object", "properties": {"p": schema}}),
        interrupt_document("custom", {"customKind": "c"}, resumeSchema=schema),
        interrupt_document("conversation.exchange", {"conversationId": "c", "prompt": "?", "outcomeSchema": schema}),
    ):
        parse(pages.render_question(question, "token"))
        for name in ("f0", "answer"):
            fault_of(question, [(name, sent)])


@given(question=st.dictionaries(st.sampled_from(["kind", "data", "intent", "dueAt", "expiresAt", "votes"]), ANYTHING))
@settings(max_examples=example_count(100, full=4_000), deadline=None)
def test_anything_has_a_page(question: dict[str, Any]) -> None:
    assert faults(parse(pages.render_question(question, "token"))) == []
    done("running", question)


@given(kind=st.sampled_from([*KINDS]), sent=st.lists(st.tuples(st.text(max_size=6), st.text(max_size=6)), max_size=5))
@settings(max_examples=example_count(100, full=4_000), deadline=None)
def test_a_form_of_any_content_is_an_answer_or_refused(kind: str, sent: list[tuple[str, str]]) -> None:
    question = KINDS[kind]
    names = [field.get("name") for field in parse(PAGES[kind]).named("input", "textarea", "select", "button")]
    for fields in (sent, [(names[place % len(names)], text) for place, (_, text) in enumerate(sent)]):
        fault = fault_of(question, fields)
        assert fault is None or fault.code == "validation_error"
        assert faults(parse(pages.render_question(question, "token", fields, fault))) == []


def test_deep_and_long_data_has_a_page() -> None:
    deep: Any = "x"
    for _ in range(3_000):
        deep = [deep]
    for value in (deep, ["x"] * 50_000, {f"m{place}": place for place in range(50_000)}, "y" * 1_000_000):
        document = pages.render_question(approval(artifactData=value), "token")
        assert len(document) < 4 * MAX_CHARACTERS + 100_000
        assert document.count(b"Cut here") == 1 or value is deep


def test_what_is_cut_is_said_where_it_is_cut_and_where_it_is_decided() -> None:
    tree = parse(pages.render_question(approval(["accept"], artifactData="word " * 20_000), "token"))
    (region,) = [each for each in tree.named("section") if each.get("class") == "workflow"]
    assert "Cut here" in region.text
    assert "Decide only if you know the rest" in tree.text.replace(region.text, "")
    assert "Cut here" not in parse(PAGES["approval"]).text


def test_what_is_too_long_to_edit_is_not_offered_for_it() -> None:
    question = approval(artifactData="word " * MAX_EDITABLE)
    values = [each.get("value") for each in parse(pages.render_question(question, "token")).named("button")]
    assert values == ["accept", "reject", "refine", "ask"]


def test_what_the_workflow_says_stays_in_its_region() -> None:
    question = approval(
        title="T-mark", description="D-mark", approversList=["P-mark"], artifactData={"K-mark": "V-mark"}
    )
    for shown in (
        question,
        clarification(("q", "Q-mark", {"type": "string", "title": "S-mark", "description": "H-mark"})),
    ):
        document = pages.render_question({**shown, "nodeId": "N-mark", "workflowId": "W-mark"}, "token")
        regions = [each for each in parse(document).named("section") if each.get("class") == "workflow"]
        assert len(regions) == 1
        source = document.decode().partition("</style>")[2]
        before, _, rest = source.partition('<section class="workflow"')
        inside, _, after = rest.partition("</section>")
        assert "-mark" in inside
        assert "-mark" not in before
        assert "-mark" not in after.replace("V-mark", "").replace("K-mark", "")
        assert "Message from the workflow" in inside
        assert "End of the message from the workflow" in inside


def test_the_state_of_a_quorum_is_shown() -> None:
    text = parse(pages.render_question(quorum(), "token")).text
    assert "1 of 3 approvals" in text
    assert "ann approved." in text
    assert "ben rejected." in text
    assert "It takes 2 rejections to reject it." in text
    assert "ann, ben, cleo and dan" in text
    assert "5 March 2026, 18:00 UTC" in text
    assert "Your approval is needed" in text
    assert "You have" not in text


def test_a_form_that_was_refused_keeps_what_was_filled_in() -> None:
    tree = parse(PAGES["wrong"])
    (why,) = [each for each in tree.named("textarea") if each.get("id") == "f0"]
    assert why.text == "\nWork"
    wrong = {each.get("name") for each in tree.named("input", "textarea", "select") if each.get("aria-invalid")}
    assert {"f3", "f4"} <= wrong
    assert "f0" not in wrong
    (alert,) = [each for each in tree.all() if each.get("role") == "alert"]
    assert "#f4" in [each.get("href") for each in alert.named("a")]
    assert "must be 9 or less" in tree.text


def test_a_refused_aside_is_open() -> None:
    tree = parse(PAGES["wrong approval"])
    opened = [each for each in tree.named("details") if "open" in each.attributes]
    assert [each.named("textarea")[0].get("id") for each in opened] == ["refine"]


def test_enter_in_a_field_never_decides() -> None:
    """A browser presses the first button of a form when somebody strikes Enter in a line, and this one sends no action
    (tests/browser has the proof)."""
    for question in (approval(), quorum(), KINDS["low confidence"]):
        (form,) = parse(pages.render_question(question, "token")).named("form")
        first = next(each for each in form.all() if each.name == "button" or each.get("type") == "submit")
        assert "hidden" in first.attributes
        assert first.get("name") == ""
        with pytest.raises(ClientFault, match="Press one of the buttons"):
            resume_value(question, [])


@each_case(
    "code, words",
    ("validation_error", "the link is still valid"),
    ("interrupt_already_resolved", "already answered"),
    ("interrupt_not_found", "ask for a new one"),
    ("forbidden", "created for you"),
    ("internal_error", "may or may not"),
    ("conflict", "This did not work"),
)
def test_a_refusal_says_what_to_do_next(code: str, words: str) -> None:
    assert words in parse(pages.render_refusal(ClientFault(code, "Because."))).text


@each_case("status", "cancelling", "cancelled")
def test_a_question_of_a_cancelled_run_was_withdrawn(status: str) -> None:
    page = parse(pages.render_refusal(answer_refusal("cancelled", status)))
    assert "This question was withdrawn" in page.text
    assert "The run that asked it was cancelled." in page.text


def test_the_words_for_refusals_are_for_codes_that_there_are() -> None:
    assert set(ADVISED_CODES) <= set(ERRORS)


@each_case("status", "running", "completed", "waiting-approval")
def test_an_answer_is_confirmed(status: str) -> None:
    text = parse(done(status, {})).text
    assert "Your answer was recorded" in text
    assert "The run" in text


def test_numbers_are_asked_for_as_numbers() -> None:
    tree = parse(PAGES["clarification"])
    inputs = {each.get("name"): each for each in tree.named("input")}
    seats, weight = inputs["f4"], inputs["f9"]
    assert [seats.get(name) for name in ("type", "step", "min", "max")] == ["number", "1", "1", "9"]
    assert [weight.get(name) for name in ("type", "step", "min", "max")] == ["number", "any", "0.5", ""]
    assert inputs["f1"].get("type") == "date"
    assert inputs["f2"].get("type") == "email"


def test_no_pattern_reaches_the_browser() -> None:
    tree = parse(PAGES["clarification"])
    assert not [each for each in tree.all() if "pattern" in each.attributes]
    assert "^[A-Z]{2}-[0-9]{3}$" in tree.text


def test_a_form_can_be_sent_without_a_question() -> None:
    assert resume_value({}, decode_form(b"answer=42&answer.json=1")) == 42
    assert resume_value(interrupt_document("riddle", None), [("answer", "42")]) == "42"


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
