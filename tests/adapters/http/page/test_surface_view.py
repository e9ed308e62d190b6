"""Surfaces on the page: every component, what is inert, and the answer of each button."""

from typing import Any

import pytest

from tests.adapters.http.page.page_tree import Element, FilledForm, parse
from tests.adapters.http.page.sample_questions import PAYLOADS, POLYGLOTS, approval, clarification
from tests.adapters.http.page.sample_surfaces import (
    ASKED,
    CUSTOM,
    EXCHANGE,
    GATE,
    GATE_FORM,
    INERT,
    INVALID,
    PARTIAL,
    SURFACES,
    TRIP,
    UNTRUSTED,
    UNTRUSTED_GATE,
    bound,
    button,
    surface_payload,
)
from tests.adapters.http.page.test_page import check, stand_in
from tests.adapters.http.page.test_page_structure import faults
from tests.harness.cases import each_case, fails_without
from weftwork.adapters.http.page import surface_view
from weftwork.adapters.http.page.form_body import decode_form
from weftwork.adapters.http.page.outcome_view import Decision
from weftwork.adapters.http.page.pages import render_question, render_receipt
from weftwork.adapters.http.page.submission import submitted_answer
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.forms.plan import page_plan
from weftwork.protocol.people.answer_pages import InterruptOutcome
from weftwork.protocol.surfaces import stored
from weftwork.protocol.surfaces.question_form import QuestionSurface, question_surface
from weftwork.protocol.surfaces.surface import COMPONENTS, Button


def page(question: dict[str, Any]) -> Element:
    return parse(render_question(question, "token"))


def region(tree: Element) -> Element:
    (found,) = [each for each in tree.named("section") if each.get("class") == "workflow"]
    return found


def send(question: dict[str, Any], *fields: tuple[str, str]) -> Any:
    return submitted_answer(question, question_surface(question), list(fields))


def fill_in(question: dict[str, Any], pressed: str, **texts: str) -> Any:
    """The answer of a person who fills in the form and presses a button, as the browser sends both."""
    (tree, *_) = page(question).named("form")
    holder = Element("", {}, [tree])
    form = FilledForm(holder)
    for name, text in texts.items():
        assert name in form.sent
        form.sent[name] = [text]
    fields = decode_form(form.body(None))
    return send(question, *fields, ("press", pressed))


@pytest.mark.rule("surf-02")
def test_the_page_renders_every_component() -> None:
    assert set(surface_view.RENDERERS) == set(COMPONENTS)
    shown = region(page(TRIP))
    assert [each.text for each in shown.named("h2", "h3", "h4")] == ["A trip to Oslo", "Your journey", "Who"]
    assert "Please tell us the rest." in shown.text
    names = [(each.name, each.get("type"), each.get("name")) for each in shown.named("textarea", "input", "select")]
    assert names == [("textarea", "", "s3"), ("input", "date", "s4"), ("select", "", "s5"), ("input", "checkbox", "s6")]
    assert [each.get("value") for each in shown.named("button")] == ["book", "later"]
    assert "does not know" not in page(TRIP).text


@pytest.mark.rule("surf-65")
def test_the_data_of_a_surface_is_not_shown_beside_it() -> None:
    assert CUSTOM["data"]["payload"] == {"envelopeId": "env-1", "title": "A trip to Oslo"}
    for question in (TRIP, bound(CUSTOM, INVALID["surface"]["payload"])):
        shown = region(page(question))
        assert "env-1" not in shown.text
        assert [each.text for each in shown.named("h2")] == ["A trip to Oslo"]


@pytest.mark.rule("surf-02")
@each_case("missing", *COMPONENTS)
def test_a_missing_renderer_is_seen(missing: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(surface_view.RENDERERS, missing)
        with pytest.raises((AssertionError, KeyError)):
            test_the_page_renders_every_component()


@each_case("name", *SURFACES)
def test_a_page_with_a_surface_can_be_used_by_everybody(name: str) -> None:
    tree = check(render_question(SURFACES[name], "token"))
    assert faults(tree) == []
    assert all("disabled" in each.attributes for each in tree.named("button") if not _is_in_form(tree, each))


def _is_in_form(tree: Element, element: Element) -> bool:
    return any(element is each for form in tree.named("form") for each in form.all())


@pytest.mark.rule("surf-67")
@each_case(
    "question, pressed, texts, value",
    (
        TRIP,
        "book",
        {"s3": "Ada", "s4": "2026-04-01", "s5": "0"},
        {"who": "Ada", "day": "2026-04-01", "class": "first\nclass", "meal": True, "action": "book"},
    ),
    (
        TRIP,
        "later",
        {"s3": "Ada", "s4": "2026-04-01"},
        {"who": "Ada", "day": "2026-04-01", "meal": True, "action": "later"},
    ),
    (EXCHANGE, "yes", {"s0": "No"}, {"more": "No", "action": "yes"}),
    (ASKED, "send", {"s0": "Ada", "s1": " 3 "}, {"answers": {"who": "Ada", "seats": 3}}),
    (GATE, "accept", {"s1": "Cheap"}, {"comment": "Cheap", "action": "accept"}),
)
def test_a_button_sends_the_values_of_the_fields(
    question: dict[str, Any], pressed: str, texts: dict[str, str], value: Any
) -> None:
    assert fill_in(question, pressed, **texts) == value


def test_a_box_that_is_not_ticked_is_false() -> None:
    answer = send(TRIP, ("s3", "Ada"), ("s4", "2026-04-01"), ("press", "book"))
    assert answer == {"who": "Ada", "day": "2026-04-01", "meal": False, "action": "book"}


@pytest.mark.rule("surf-67")
def test_what_the_form_does_not_have_is_dropped() -> None:
    more = [("action", "reject"), ("who", "Eve"), ("s99", "x"), ("s0", "heading"), ("__proto__", "x")]
    answer = send(TRIP, *more, ("s3", "Ada"), ("s4", "2026-04-01"), ("press", "book"))
    assert answer == {"who": "Ada", "day": "2026-04-01", "meal": False, "action": "book"}


@pytest.mark.rule("surf-67")
@each_case(
    "fields",
    [("press", "other")],
    [("press", "book"), ("press", "later")],
    [("action", "send"), ("answer", "x")],
    [],
)
def test_anything_but_one_button_of_the_form_is_no_answer(fields: list[tuple[str, str]]) -> None:
    with pytest.raises(ClientFault) as refused:
        send(TRIP, ("s3", "Ada"), ("s4", "2026-04-01"), *fields)
    assert refused.value.code == "validation_error"


@pytest.mark.rule("surf-67")
@fails_without("weftwork.adapters.http.page.submission.host_plan", lambda question, surface: page_plan(question))
def test_the_form_of_the_host_does_not_answer_beside_a_surface() -> None:
    with pytest.raises(ClientFault, match="Press one of the buttons"):
        send(TRIP, ("action", "send"), ("answer", "x"))


@pytest.mark.rule("surf-67")
@fails_without(surface_view, "resolve_action", lambda bound, action, values, drop_unknown: {**values, "action": action})
@each_case(
    "pressed, more", ("other", []), ("book", [("s5", "9")]), ("book", [("s4", "tomorrow")]), ("book", [("s3", " ")])
)
def test_the_stored_surface_decides_what_is_an_answer(pressed: str, more: list[tuple[str, str]]) -> None:
    fields = {"s3": "Ada", "s4": "2026-04-01", **dict(more)}
    with pytest.raises(ClientFault):
        send(TRIP, *fields.items(), ("press", pressed))


def test_what_is_wrong_is_shown_at_its_field() -> None:
    fields = [("s3", ""), ("s4", "2026-02-30"), ("s5", "7"), ("press", "book")]
    with pytest.raises(ClientFault) as refused:
        send(TRIP, *fields)
    tree = parse(render_question(TRIP, "token", fields, refused.value))
    assert faults(tree) == []
    wrong = [each.get("name") for each in tree.named("input", "textarea", "select") if each.get("aria-invalid")]
    assert wrong == ["s3", "s4", "s5"]
    (alert,) = [each for each in tree.all() if each.get("role") == "alert"]
    assert [each.get("href") for each in alert.named("a")] == ["#s3", "#s4", "#s5"]
    assert "Field 2 of the form is empty or not valid." in alert.text
    # What was entered is still there, and a box that was not ticked is not ticked again.
    assert [each.get("value") for each in tree.named("input") if each.get("name") == "s4"] == ["2026-02-30"]
    assert not [each for each in tree.named("input") if each.get("name") == "s6" and "checked" in each.attributes]


@pytest.mark.rule("surf-05", "surf-66")
@fails_without("weftwork.protocol.surfaces.actions.BoundSurface.blocked_reason", property(lambda self: None))
def test_an_untrusted_surface_cannot_answer_an_approval() -> None:
    tree = page(UNTRUSTED_GATE)
    assert "content from an untrusted source, so it cannot answer an approval" in region(tree).text
    (dead,) = [each for each in region(tree).named("fieldset") if "disabled" in each.attributes]
    assert [each.get("value") for each in dead.named("button")] == ["accept"]
    (form,) = tree.named("form")
    own = [each for each in form.named("button") if each.get("name") == "action"]
    assert [each.get("value") for each in own] == ["accept", "reject"]
    assert "You can decide with the buttons of this host:" in tree.text
    with pytest.raises(ClientFault) as refused:
        send(UNTRUSTED_GATE, ("press", "accept"))
    assert refused.value.code == "untrusted_content_blocks_approval"
    assert send(UNTRUSTED_GATE, ("action", "accept")) == {"action": "accept"}


def test_an_untrusted_surface_says_so_elsewhere() -> None:
    assert "This form contains content from an untrusted source." in region(page(UNTRUSTED)).text
    assert "untrusted" not in page(TRIP).text
    assert send(UNTRUSTED, ("s3", "Ada"), ("s4", "2026-04-01"), ("press", "later"))["action"] == "later"
    unknown = {**TRIP, "surface": {**TRIP["surface"]}}
    del unknown["surface"]["contentTrust"]
    assert "untrusted source" in page(unknown).text


@pytest.mark.rule("surf-66")
@fails_without("weftwork.protocol.surfaces.question_form._is_partial", lambda payload: False)
@each_case("partial", True, {"isPartial": True, "index": 0, "total": 2})
def test_a_partial_surface_has_no_actions(partial: Any) -> None:
    question = {**TRIP, "surface": {**TRIP["surface"], "partial": partial}}
    dead = [each for each in region(page(question)).named("fieldset") if "disabled" in each.attributes]
    assert [len(each.named("button")) for each in dead] == [2]
    with pytest.raises(ClientFault, match="not complete yet"):
        send(question, ("s3", "Ada"), ("s4", "2026-04-01"), ("press", "book"))


@each_case("partial", False, {"isPartial": False, "index": 1, "total": 2})
def test_the_last_piece_of_a_surface_is_complete(partial: Any) -> None:
    question = {**TRIP, "surface": {**TRIP["surface"], "partial": partial}}
    assert send(question, ("s3", "Ada"), ("s4", "2026-04-01"), ("press", "book"))["action"] == "book"


@pytest.mark.rule("surf-04")
def test_a_button_with_another_target_is_disabled_and_says_why() -> None:
    buttons = {each.get("value"): each for each in region(page(INERT)).named("button")}
    assert "disabled" not in buttons["go"].attributes
    assert "disabled" in buttons["talk"].attributes
    assert "This button belongs to a conversation" in region(page(INERT)).text
    with pytest.raises(ClientFault, match="belongs to a conversation"):
        send(INERT, ("press", "talk"))


@pytest.mark.rule("surf-65")
@each_case(
    "payload",
    INVALID["surface"]["payload"],
    {**TRIP["surface"]["payload"], "catalogVersion": "1.0"},
    surface_payload(button("go"), button("go")),
    surface_payload({"component": "field.text", "id": "action", "label": "?"}, button("go")),
    None,
    {"surface": [1]},
)
def test_a_surface_that_is_not_valid_is_not_rendered(payload: Any) -> None:
    question = bound({**INVALID}, payload)
    tree = page(question)
    assert "It is stored, not rendered." in tree.text
    assert [each.get("name") for each in tree.named("button")] == ["action"]
    with pytest.raises(ClientFault):
        send(question, ("press", "go"))


@pytest.mark.rule("surf-65", "surf-03")
@fails_without(stored, "check_limits", lambda payload: [])
def test_a_surface_beyond_the_limits_of_this_host_is_not_rendered() -> None:
    assert "It is stored, not rendered." in page(bound(CUSTOM, surface_payload(button("go"), button("go")))).text


def test_an_approval_keeps_the_actions_that_its_surface_leaves_out() -> None:
    tree = page(GATE)
    assert "Offer for the Harbour Café" in region(tree).text
    first, others = tree.named("form")
    assert [(each.get("name"), each.get("value")) for each in first.named("button")] == [("press", "accept")]
    assert [(each.get("name"), each.get("value")) for each in others.named("button")] == [
        ("action", "reject"),
        ("action", "ask"),
    ]
    assert send(GATE, ("action", "reject"), ("comment", "no")) == {"action": "reject", "comment": "no"}


@pytest.mark.rule("surf-04")
def test_a_button_without_the_field_for_its_text_leaves_that_action_to_the_host() -> None:
    form = surface_payload(button("accept", "Buy it"), button("refine", "Change it"), button("ask", "Ask"))
    gate = bound(approval(["accept", "refine", "ask"]), form)
    first, others = page(gate).named("form")
    assert [each.get("value") for each in first.named("button") if "disabled" not in each.attributes] == ["accept"]
    assert [each.get("value") for each in others.named("button")] == ["refine", "ask"]


@pytest.mark.rule("surf-07")
def test_a_question_must_be_answered_whatever_its_field_says() -> None:
    fields = [{"component": "field.text", "id": name, "label": name} for name in ("who", "seats")]
    questions = ("who", "Who?", None), ("seats", "How many?", {"type": ["integer", "null"]})
    asked = bound(clarification(*questions), surface_payload(*fields, button("send", "Send")))
    boxes = region(page(asked)).named("textarea")
    assert ["required" in each.attributes for each in boxes] == [True, False]
    assert fill_in(asked, "send", s0="Ada") == {"answers": {"who": "Ada", "seats": None}}
    with pytest.raises(ClientFault) as refused:
        fill_in(asked, "send")
    assert [each["field"] for each in (refused.value.details or {})["violations"]] == ["s0"]


@each_case("label", " ", "\u00a0", "\u200d", "\u200c \u200d", "\u2800")
@fails_without(surface_view, "is_blank", lambda label: not label)
def test_a_label_of_which_nothing_is_seen_is_replaced(label: str) -> None:
    (pressed,) = page(bound(CUSTOM, surface_payload(button("go", label)))).named("button")
    assert pressed.text == "go"


REVERSED = surface_payload(button("accept", "Reject it"), button("reject", "Approve it"))


@pytest.mark.rule("surf-70")
@each_case(
    "data, accept, reject",
    ({}, "with what is shown", "does not continue"),
    ({"requiredApprovals": 2}, "counts as an approval", "counts as a rejection"),
)
@fails_without(surface_view, "_effect", lambda form, button: None)
def test_the_host_says_what_a_button_of_an_approval_decides(data: dict[str, Any], accept: str, reject: str) -> None:
    asked = approval(["accept", "reject"])
    tree = page(bound({**asked, "data": {**asked["data"], **data}}, REVERSED))
    (form,) = tree.named("form")
    said = {each.get("id"): each.text for each in form.named("p") if each.get("class") == "does"}
    first, second = (said.get(each.get("aria-describedby"), "") for each in form.named("button"))
    assert first.startswith("Approve: ")
    assert accept in first
    assert second.startswith("Reject: ")
    assert reject in second


@pytest.mark.rule("surf-70")
def test_the_receipt_names_the_decision_and_not_only_the_label() -> None:
    outcome = InterruptOutcome("resolved", "running", kind="approval", outcome="accepted")
    shown = parse(render_receipt(outcome, approval(["accept"]), Decision({"action": "accept"}, "Reject it"))).text
    assert "Approved, with the button “Reject it”" in shown


def test_a_surface_on_a_link_that_only_shows_is_disabled() -> None:
    tree = page({**TRIP, "intent": "inspect"})
    assert tree.named("form") == []
    assert [each for each in tree.named("fieldset") if "disabled" in each.attributes and each.named("button")]
    with pytest.raises(ClientFault) as refused:
        send({**TRIP, "intent": "inspect"}, ("press", "book"))
    assert refused.value.code == "forbidden"


def hostile(text: str) -> dict[str, Any]:
    """A surface with this text wherever a surface can have text."""
    return bound(
        CUSTOM,
        surface_payload(
            {"component": "heading", "text": text, "level": 3},
            {"component": "text", "text": text},
            {"component": "field.text", "id": "a", "label": text, "placeholder": text},
            {"component": "field.date", "id": "b", "label": text},
            {"component": "field.select", "id": "c", "label": text, "options": [{"value": text, "label": text}]},
            {"component": "field.checkbox", "id": "d", "label": text},
            button("e", text),
            title=text,
        ),
    )


def outline(document: bytes) -> list[tuple[str, tuple[str, ...]]]:
    return [(each.name, tuple(each.attributes)) for each in check(document).all()]


@each_case("payload", *PAYLOADS, *POLYGLOTS)
def test_a_surface_takes_text_only(payload: str) -> None:
    assert outline(render_question(hostile(payload), "token")) == outline(
        render_question(hostile(stand_in(payload)), "token")
    )
    fields = [(f"s{index}", payload) for index in range(7)] + [("press", "e")]
    with pytest.raises(ClientFault) as refused:
        send(hostile(payload), *fields)
    check(render_question(hostile(payload), "token", fields, refused.value))


def test_the_words_of_a_surface_stay_in_its_region() -> None:
    document = render_question(hostile("MARK"), "token").decode()
    before, _, rest = document.partition('<section class="workflow"')
    _, _, after = rest.partition("</section>")
    assert "MARK" not in before + after


def test_a_button_of_the_surface_is_not_one_of_the_host() -> None:
    """A surface may name its button like an action of the gate, and a form can name both."""
    assert send(GATE, ("press", "accept"), ("action", "reject")) == {"action": "accept"}
    question = bound(approval(["reject"]), GATE_FORM)
    with pytest.raises(ClientFault, match="does not offer"):
        send(question, ("press", "accept"))


def test_the_reason_of_a_dead_surface_is_that_of_its_buttons() -> None:
    surface = question_surface(PARTIAL)
    assert surface is not None
    assert surface.bound is not None
    reasons = {surface.button_reason(each) for each in surface.bound.surface.components if isinstance(each, Button)}
    assert reasons == {surface.dead_reason}
    assert QuestionSurface(None).dead_reason
