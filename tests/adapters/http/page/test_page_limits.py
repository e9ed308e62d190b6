"""What a view of the page costs the host, which a link is enough to ask for: it has a bound, whatever is asked."""

from typing import Any

import pytest

from tests.adapters.http.page.page_tree import parse
from tests.adapters.http.page.sample_questions import clarification, interrupt_document
from weftwork.adapters.http.page import form_fields, pages
from weftwork.adapters.http.page.form_answer import resume_value
from weftwork.adapters.http.page.form_fields import MAX_FORM_OPTIONS
from weftwork.adapters.http.page.form_plan import plan_for
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import caller_schema

LONG = 90
WORDS = [[f"{which}-{place}" for place in range(LONG)] for which in range(20)]
NUMBERS = [list(range(which, which + LONG)) for which in range(20)]


def listed(question: dict[str, Any]) -> int:
    """The options of all fields of the page."""
    tree = parse(pages.render_question(question, "token"))
    choices = [each for each in tree.named("option") if each.get("value")]
    return len(choices) + len([each for each in tree.named("input") if each.get("type") == "checkbox"])


def questions(*schemas: dict[str, Any]) -> dict[str, Any]:
    return clarification(*((f"q{place}", "Which?", schema) for place, schema in enumerate(schemas)))


def members(*schemas: dict[str, Any]) -> dict[str, Any]:
    properties = {f"p{place}": schema for place, schema in enumerate(schemas)}
    return interrupt_document("custom", {"customKind": "c"}, resumeSchema={"type": "object", "properties": properties})


@pytest.mark.parametrize("made", [questions, members])
@pytest.mark.parametrize("listing", [WORDS, NUMBERS])
def test_a_form_lists_so_many_options_and_the_rest_is_written(made: Any, listing: list[list[Any]]) -> None:
    question = made(*({"enum": each} for each in listing))
    assert MAX_FORM_OPTIONS - LONG < listed(question) <= MAX_FORM_OPTIONS
    first, *_, last = plan_for(question).buttons[0].fields
    assert (first.control, len(first.options)) == ("choice", LONG)
    assert (last.control, last.options) == ("line" if listing is WORDS else "json", ())


def test_several_of_a_list_count_as_well() -> None:
    question = questions(*({"type": "array", "items": {"enum": each}} for each in WORDS))
    assert MAX_FORM_OPTIONS - LONG < listed(question) <= MAX_FORM_OPTIONS
    assert plan_for(question).buttons[0].fields[-1].control == "json"


def test_without_the_bound_there_would_be_more(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = form_fields.OptionBudget.options

    def endless(room: form_fields.OptionBudget, schema: Any) -> list[form_fields.Option]:
        return whole(form_fields.OptionBudget(), schema)

    monkeypatch.setattr(form_fields.OptionBudget, "options", endless)
    assert listed(questions(*({"enum": each} for each in WORDS))) == len(WORDS) * LONG
    with pytest.raises(AssertionError):
        test_several_of_a_list_count_as_well()


@pytest.mark.parametrize(("listing", "text"), [(WORDS, "19-4"), (NUMBERS, "23")])
def test_what_is_written_is_still_held_to_the_list(listing: list[list[Any]], text: str) -> None:
    question = questions(*({"enum": each} for each in listing))
    fields = plan_for(question).buttons[0].fields
    sent = [(field.name, "0" if field.options else str(field.schema["enum"][4])) for field in fields if field.schema]
    assert dict(sent)["f19"] == text
    assert resume_value(question, sent)["answers"]["q19"] == listing[19][4]
    with pytest.raises(ClientFault, match="question 20 must be one of"):
        resume_value(question, [*sent[:-1], ("f19", "100000")])


def test_yes_and_no_are_few() -> None:
    question = questions(*({"type": "boolean"} for _ in range(50)))
    assert {each.control for each in plan_for(question).buttons[0].fields} == {"choice"}


def test_a_view_checks_no_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were checked when it was asked."""
    for name in ("analyze_schema", "_compile_caller_schema"):
        monkeypatch.setattr(caller_schema, name, forbidden)
    looked_at(questions({"type": "string", "maxLength": 17}, {"enum": [1, 2]}))
    looked_at(members({"type": "integer"}))
    looked_at(
        interrupt_document(
            "conversation.exchange", {"conversationId": "c", "prompt": "?", "outcomeSchema": {"type": "null"}}
        )
    )


def test_a_look_that_checks_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.adapters.http.page.form_plan._without_schemas", lambda data: data)
    with pytest.raises(AssertionError):
        test_a_view_checks_no_schema(monkeypatch)


def looked_at(question: dict[str, Any]) -> None:
    assert not plan_for(question).is_malformed
    pages.render_question(question, "token")


def forbidden(*_: Any) -> Any:
    raise AssertionError("a schema was checked")
