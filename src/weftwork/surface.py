"""Surfaces for authors in Python: builds the forms that the nodes of an author show to people.

A surface is a flat list of texts, fields and buttons. `form` checks it by the rules of the host, which are the same for
surfaces of models. A mistake raises SurfaceError, with a message that says which component to change and how.

    from weftwork import surface

    TRIP = surface.form(
        surface.text("Two facts are missing."),
        surface.text_field("who", "Who comes?", required=True),
        surface.date_field("start", "First day"),
        surface.button("book", "Book"),
        title="Your trip",
    )
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from weftwork.protocol.json.pointers import split_pointer
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_object
from weftwork.protocol.surfaces.stored import check_stored
from weftwork.protocol.surfaces.surface import (
    COMPONENTS,
    Action,
    AnyComponent,
    Button,
    CheckboxField,
    DateField,
    Heading,
    Option,
    SelectField,
    Surface,
    Target,
    Text,
    TextField,
    as_payload,
    surface_payload,
)

__all__ = [
    "Surface",
    "SurfaceError",
    "button",
    "checkbox",
    "date_field",
    "form",
    "from_json",
    "heading",
    "select",
    "text",
    "text_field",
    "to_json",
]

TARGETS: Final[tuple[Target, ...]] = ("resume", "exchange")
_MAX_HEADING: Final = 6
_MAX_TOLD: Final = 3
"""Mistakes that one error names."""


class SurfaceError(ValueError):
    """A surface, or a component of one, that the host would refuse. The message says what to write instead."""


def heading(text: str, level: int = 2) -> Heading:
    """A heading. `level` is 1 to 6, from large to small."""
    if not isinstance(level, int) or isinstance(level, bool) or not 1 <= level <= _MAX_HEADING:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SurfaceError(f"heading: level must be a number from 1 to {_MAX_HEADING}, not {level!r}.")
    return Heading(text=_text("heading", "text", text), level=level)


def text(text: str) -> Text:
    """A paragraph. It is shown as it is: markup and links have no effect."""
    return Text(text=_text("text", "text", text))


def text_field(id: str, label: str, *, placeholder: str | None = None, required: bool = False) -> TextField:  # noqa: A002
    """A field for a text. A required field must contain more than spaces."""
    made = TextField(id=_id("text_field", id), label=_text("text_field", "label", label), required=bool(required))
    if placeholder is None:
        return made
    shown = _text("text_field", "placeholder", placeholder)
    return TextField(id=made.id, label=made.label, placeholder=shown, required=made.required)


def date_field(id: str, label: str, *, required: bool = False) -> DateField:  # noqa: A002
    """A field for a date. Its value is a text such as `2026-01-31`."""
    return DateField(id=_id("date_field", id), label=_text("date_field", "label", label), required=bool(required))


def select(
    id: str,  # noqa: A002
    label: str,
    options: Mapping[str, str] | Iterable[str],
    *,
    required: bool = False,
) -> SelectField:
    """A choice of one option. `options` are labels by value, or a list of texts that are both value and label."""
    where = f"select {_id('select', id)!r}"
    if isinstance(options, str):
        raise SurfaceError(f"{where}: options must be labels by value, or a list of texts, not one text.")
    labels = cast("Mapping[str, str]", options) if isinstance(options, Mapping) else None
    pairs = [(each, each) for each in options] if labels is None else [*labels.items()]
    listed = tuple(Option(_text(where, "value", value), _text(where, "label", name)) for value, name in pairs)
    if not listed:
        raise SurfaceError(f"{where}: give at least one option, such as {{'yes': 'Yes'}}.")
    return SelectField(id=id, label=_text(where, "label", label), options=listed, required=bool(required))


def checkbox(id: str, label: str, *, default: bool = False) -> CheckboxField:  # noqa: A002
    """A check box. Its value is a truth value; without an answer it is `default`."""
    return CheckboxField(id=_id("checkbox", id), label=_text("checkbox", "label", label), default=bool(default))


def button(id: str, label: str, *, target: Target = "resume") -> Button:  # noqa: A002
    """A button. Its id is the `action` of the answer. Use the target `exchange` only for the form of a conversation."""
    if target not in TARGETS:
        raise SurfaceError(f"button {id!r}: target must be one of {', '.join(TARGETS)}, not {target!r}.")
    return Button(id=_id("button", id), label=_text("button", "label", label), action=Action(target))


def form(*components: AnyComponent, title: str | None = None) -> Surface:
    """surf-30 (host): the surface with these components, in this order. Raises SurfaceError for a surface that the
    gate of the host would refuse."""
    for number, each in enumerate(components, start=1):
        if not isinstance(each, COMPONENTS):
            raise SurfaceError(
                f"form: component {number} is of type {type(each).__name__}; make it with heading, text, text_field, "
                "date_field, select, checkbox or button. Pass the components one by one, not as a list."
            )
    named = {} if title is None else {"title": _text("form", "title", title)}
    made = Surface(components=components, **named)
    return _checked(surface_payload(made))


def from_json(document: Any) -> Surface:
    """The surface in a JSON document: the payload of a surface envelope, or the surface itself. Raises SurfaceError."""
    if not is_object(document):
        raise SurfaceError(f"A surface must be an object with components, not {type(document).__name__}.")
    return _checked(as_payload(document))


def to_json(made: Surface) -> dict[str, Any]:
    """The surface as the payload of an envelope of the kind `ui.a2ui-surface`."""
    return surface_payload(made)


def _checked(payload: dict[str, Any]) -> Surface:
    checked = check_stored(payload)
    if checked.surface is None:
        violations = checked.diagnostics[:_MAX_TOLD]
        raise SurfaceError("; ".join(f"{_place(payload, each)} {each.message}" for each in violations) + ".")
    return checked.surface


def _place(payload: dict[str, Any], violation: Violation) -> str:
    """The component that a violation is about, by its number and its id, and the member."""
    match split_pointer(violation.pointer):
        case ["surface", "components", index, *path] if index.isdigit():
            component: Any = payload["surface"]["components"][int(index)]
            name: Any = component.get("id") if is_object(component) else None
            named = f" ({name!r})" if isinstance(name, str) else ""
            return f"component {int(index) + 1}{named}: {'.'.join(path)}".rstrip()
        case ["surface", *path] if path:
            return ".".join(path)
        case _:
            return violation.pointer or "the surface"


def _text(component: str, member: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SurfaceError(f"{component}: {member} must be a text, not {type(value).__name__}.")
    return value


def _id(component: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise SurfaceError(
            f"{component}: give it an id of letters, digits and the characters _ . : -, not {value!r}. The answer has "
            "the value of the field under this id."
        )
    return value
