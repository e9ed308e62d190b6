"""Derives a surface from the form plan of a question, so that every open interrupt has a form.

The catalogue has fewer controls than the form plan. A choice becomes a select field, a date a date field, and every
other control a text field. When the action arrives, the texts go through the conversion of the submitted form
(`forms.answer`), so both forms of a question send the same answer.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.forms.answer import UnreadableField, build_answer, read_field, schema_violations
from weftwork.protocol.forms.fields import FormField, hint_of
from weftwork.protocol.forms.plan import FormPlan, plan_for
from weftwork.protocol.forms.visible_text import json_text, shorten
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.values import is_array, is_object, json_equal
from weftwork.protocol.surfaces import limits
from weftwork.protocol.surfaces.actions import find_button, refuse_unknown_fields, target_of
from weftwork.protocol.surfaces.stored import check_stored
from weftwork.protocol.surfaces.surface import (
    Action,
    AnyComponent,
    Button,
    DateField,
    Heading,
    Option,
    SelectField,
    Surface,
    Text,
    TextField,
    surface_payload,
)

_TITLES: Final = {
    "approval": "Your approval is needed",
    "clarification": "Your answer is needed",
    "external-event": "A workflow waits for an event",
    "custom": "Your answer is needed",
    "conversation.exchange": "Your reply is needed",
    "low-confidence": "A decision needs your confirmation",
}
_APPROVAL_IDS: Final = {"refine": "feedback", "ask": "question", "edit": "editedArtifactData"}
"""The ids of the fields of an approval, by their names in the form plan."""
_TOO_LONG: Final = "This is too long to be shown in this form. The page behind a link to the interrupt shows it."
_LABEL: Final = limits.MAX_LABEL - 10
_MAX_LISTED: Final = 1_000
"""Characters of the options in the hint of a text field."""


class DerivedSurface(msgspec.Struct, frozen=True):
    """A surface that the host derived, and what it needs to read the values of its fields."""

    surface: Surface
    plan: FormPlan
    ids: dict[str, str]
    """Name of a field of the plan -> id of its component."""


class Underivable(msgspec.Struct, frozen=True):
    """There is no surface for a question. The reason is a sentence for the reader."""

    reason: str


def derive_surface(question: dict[str, Any]) -> DerivedSurface | Underivable:
    """surf-21 (RFC 0102; host): the form of a question as a surface.

    `question` has the form that inspectInterruptByToken returns. The surface is always valid on this host. If the
    question does not fit into one, such as a question with too long a text, the result says why. Never raises for JSON.
    """
    plan = plan_for(question)
    if not plan.buttons:
        return Underivable(plan.closed_reason or "This interrupt offers no answer.")
    ids = _component_ids(question, plan)
    components = [*_question_text(question, plan), *_fields(plan, ids), *_buttons(question, plan)]
    title = _TITLES.get(question["kind"], "") if isinstance(question.get("kind"), str) else ""
    surface = Surface(title=title or "Your answer is needed", components=tuple(components))
    diagnostics = check_stored(surface_payload(surface)).diagnostics
    if diagnostics:
        first = diagnostics[0]
        return Underivable(f"The question does not fit into a surface: {first.pointer or 'it'} {first.message}.")
    return DerivedSurface(surface, plan, ids)


def derived_answer(
    derived: DerivedSurface, action_id: str, values: Mapping[str, Any], drop_unknown: bool = False
) -> Any:
    """surf-22 (RFC 0102; host): the answer that a button of a derived surface sends. Raises ClientFault.

    Only the fields of the pressed button are read, each by the conversion of the submitted form.
    """
    find_button(derived.surface, action_id)
    refuse_unknown_fields(derived.surface, values, drop_unknown)
    button = next(each for each in derived.plan.buttons if each.action == action_id)

    def read(field: FormField) -> Any:
        return read_field(field, _submitted(field, values.get(derived.ids[field.name])))

    def pointer(field: FormField) -> str:
        return f"/values/{printable_token(derived.ids[field.name])}"

    answer = build_answer(button, read, pointer)
    if derived.plan.schema is not None and (wrong := schema_violations(derived.plan.schema, answer, "/values")):
        raise invalid(f"The answer does not match its schema: {wrong[0].message}.", wrong[0].pointer)
    return answer


def _component_ids(question: dict[str, Any], plan: FormPlan) -> dict[str, str]:
    """The ids of the fields: the name of the member of the answer if it can be an id, else the name in the plan."""
    taken = {each.action for each in plan.buttons}
    ids: dict[str, str] = {}
    for field in _distinct_fields(plan):
        preferred = _APPROVAL_IDS.get(field.name) if question.get("kind") == "approval" else None
        names = [preferred or (str(field.path[-1]) if field.path else field.name), field.name]
        names += [f"{field.name}.{number}" for number in range(len(taken) + 1)]
        ids[field.name] = next(each for each in names if limits.is_field_id(each) and each not in taken)
        taken.add(ids[field.name])
    return ids


def _distinct_fields(plan: FormPlan) -> list[FormField]:
    """The fields of all buttons. Two buttons may share a field."""
    return list({field.name: field for button in plan.buttons for field in button.fields}.values())


def _buttons(question: dict[str, Any], plan: FormPlan) -> Iterator[Button]:
    target = target_of(str(question.get("kind"))) or "resume"
    for each in plan.buttons:
        yield Button(id=each.action, label=each.label, action=Action(target))


def _question_text(question: dict[str, Any], plan: FormPlan) -> Iterator[AnyComponent]:
    """What the person is asked, as text."""
    data: Any = question.get("data")
    if plan.is_malformed:
        yield _long_text(json_text(data))
        return
    match question["kind"]:
        case "approval":
            yield Heading(text=shorten(data["title"], limits.MAX_TITLE))
            yield from _optional(data, "description", "artifactData")
        case "external-event":
            yield _long_text(f"Event: {data['eventType']}")
        case "custom" if data["customKind"] == SURFACE_KIND and is_object(data.get("payload")):
            # The data of a surface has its id, which is no text for people.
            yield from _optional(data["payload"], "title")
        case "custom":
            yield from _optional(data, "payload")
        case "conversation.exchange":
            yield _long_text(data["prompt"])
        case "low-confidence":
            yield _long_text(
                f"Agent {data['agentId']} is {data['observed']:g} confident; {data['threshold']:g} is required."
            )
            yield from _optional(data, "decision")
        case _:
            yield from _optional(data, "contextType")


def _optional(data: dict[str, Any], *names: str) -> Iterator[Text]:
    for each in (data[name] for name in names if data.get(name) not in (None, "")):
        yield _long_text(each if isinstance(each, str) else json_text(each))


def _long_text(text: str) -> Text:
    # Never a part of it: a person who reads half of a contract must not approve all of it.
    return Text(text=text if len(text) <= limits.MAX_TEXT else _TOO_LONG)


def _fields(plan: FormPlan, ids: dict[str, str]) -> Iterator[AnyComponent]:
    seen: set[str] = set()
    options = limits.MAX_ALL_OPTIONS
    for button in plan.buttons:
        fields = [each for each in button.fields if each.name not in seen]
        seen.update(each.name for each in fields)
        if button.aside and fields:
            yield Text(text=button.aside)
        for field in fields:
            is_select = field.control == "choice" and len(field.options) <= min(limits.MAX_OPTIONS, options)
            options -= len(field.options) if is_select else 0
            required = field.empty == "refuse" and len(plan.buttons) == 1
            yield from _component(field, ids[field.name], required, is_select)


def _component(field: FormField, name: str, required: bool, is_select: bool) -> Iterator[AnyComponent]:
    label = f"{field.number}. {field.label}" if field.number else field.label
    if len(label) > _LABEL:
        yield _long_text(label)
    label = shorten(label, _LABEL)
    if hint := _hint(field, is_select):
        yield _long_text(hint)
    if is_select:
        texts = _option_texts(field)
        listed = tuple(Option(text, each.label) for text, each in zip(texts, field.options, strict=True))
        yield SelectField(id=name, label=label, options=listed, required=required)
    elif field.control == "date":
        yield DateField(id=name, label=label, required=required)
    else:
        yield TextField(id=name, label=label, required=required)


def _hint(field: FormField, is_select: bool) -> str:
    if field.control == "date" and field.schema is not None:
        # The field takes nothing but a date, so the pattern of the schema would only puzzle its reader.
        return hint_of({name: each for name, each in field.schema.items() if name != "pattern"}, field.control)
    if is_select or field.control not in ("choice", "several"):
        return field.hint
    listed = shorten(", ".join(_option_texts(field)), _MAX_LISTED)
    lead = "One of" if field.control == "choice" else "Any of these, separated by commas"
    return f"{field.hint} {lead}: {listed}".strip()


def _option_texts(field: FormField) -> list[str]:
    """The values of the options as texts, which are the values of a select field: strings as they are, other values as
    JSON. The index in the list, if that would not tell them apart."""
    texts = [each.value if isinstance(each.value, str) else json_text(each.value, None) for each in field.options]
    is_usable = len(set(texts)) == len(texts) and all(
        text.strip() and len(text) <= limits.MAX_OPTION_VALUE for text in texts
    )
    return texts if is_usable else [str(index) for index in range(len(texts))]


def _submitted(field: FormField, value: Any) -> list[str]:
    """The value of a component as the texts that the submitted form of the page has. Raises UnreadableField."""
    if value is None:
        return []
    if not isinstance(value, str):
        raise UnreadableField("must be a text")
    if len(value) > limits.MAX_VALUE:
        raise UnreadableField(f"must have {limits.MAX_VALUE} or fewer characters")
    if not value.strip() or field.control not in ("choice", "several"):
        return [value] if value.strip() else []
    texts = _option_texts(field)
    if field.control == "choice":
        return [_index(texts, value)]
    return [_index(texts, each) for each in _listed(field, texts, value)]


def _index(texts: list[str], text: str) -> str:
    if text not in texts:
        raise UnreadableField("must be one of the options")
    return str(texts.index(text))


def _listed(field: FormField, texts: list[str], value: str) -> list[str]:
    """The options that a text names: a JSON array of values, or texts that are separated by commas."""
    is_array_text = value.strip().startswith("[")
    try:
        listed: Any = decode(value.encode()) if is_array_text else value.split(",")
    except ClientFault:
        listed = None
    # No more than there are options, because each is looked up among them.
    if not is_array(listed) or len(listed) > len(texts):
        raise UnreadableField("must be different options, separated by commas")
    if not is_array_text:
        return [each.strip() for each in listed]
    values = [each.value for each in field.options]
    return [
        next((text for text, known in zip(texts, values, strict=True) if json_equal(known, each)), "")
        for each in listed
    ]
