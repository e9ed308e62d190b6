"""The limits of this host for surfaces, which the published schema does not express.

A surface that breaches a limit is refused with a diagnostic for each breach and is never truncated, because a form of
which a part is missing asks another question.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from weftwork.protocol.json.schema import Violation

MAX_COMPONENTS: Final = 200
MAX_OPTIONS: Final = 200
"""Options of one select field."""
MAX_ALL_OPTIONS: Final = 1_000
MAX_TITLE: Final = 300
MAX_LABEL: Final = 500
"""Characters of a label, a placeholder and the label of an option."""
MAX_TEXT: Final = 10_000
"""Characters of a heading or a text."""
MAX_ALL_TEXT: Final = 50_000
"""Characters of all texts of a surface together."""
MAX_OPTION_VALUE: Final = 1_000
MAX_COMPONENT_ID: Final = 128
MAX_VALUE: Final = 65_536
"""Characters of the value of a text field."""

RESERVED_FIELD_IDS: Final = frozenset({"action", "__proto__", "constructor", "prototype"})
"""Field ids that collide with the member that names the pressed button, or with members of JavaScript objects."""
RESERVED_PREFIX: Final = "openwop."
COMPONENT_ID_PATTERN: Final = r"^[A-Za-z0-9_.:-]{1,128}$"
_ID: Final = re.compile(COMPONENT_ID_PATTERN[1:-1])
PATH_STEPS: Final = frozenset({".", ".."})
"""Ids are segments of paths, and a client resolves these to another path."""
_UNUSABLE: Final = "|".join(map(re.escape, sorted(PATH_STEPS | RESERVED_FIELD_IDS)))
_FIELD_ID: Final = re.compile(rf"(?!(?:{_UNUSABLE})\Z)(?!{re.escape(RESERVED_PREFIX)}){COMPONENT_ID_PATTERN[1:-1]}")
_FIELD_PREFIX: Final = "field."
_LIMITED: Final = {"text": MAX_TEXT, "label": MAX_LABEL, "placeholder": MAX_LABEL}


def check_limits(payload: dict[str, Any], at: str = "") -> list[Violation]:
    """surf-03 (RFC 0102; limits of this host): the breaches of a payload that matches the schema of its kind."""
    surface = payload["surface"]
    # Nearly every surface is within the limits, and is checked whenever it is read.
    return [] if _is_within(surface) else list(_breaches(surface, f"{at}/surface"))


def is_component_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None and text not in PATH_STEPS


def is_field_id(text: str) -> bool:
    return _FIELD_ID.fullmatch(text) is not None


def _is_within(surface: dict[str, Any]) -> bool:
    """Whether a surface certainly breaches no limit. False proves nothing: `_breaches` decides."""
    components: list[dict[str, Any]] = surface["components"]
    total = len(surface.get("title", ""))
    if total > MAX_TITLE or len(components) > MAX_COMPONENTS:
        return False
    ids: list[str] = []
    options = 0
    for component in components:
        size = len(component.get("label", "")) + len(component.get("placeholder", "")) + len(component.get("text", ""))
        total += size
        if size > MAX_LABEL:
            return False
        if "id" in component:
            ids.append(component["id"])
        listed: list[dict[str, str]] = component.get("options", ())
        if listed:
            values = [each["value"] for each in listed]
            sizes = [len(each["label"]) for each in listed]
            options += len(values)
            total += sum(sizes) + sum(map(len, values))
            if len(values) > MAX_OPTIONS or max(sizes) > MAX_LABEL or max(map(len, values)) > MAX_OPTION_VALUE:
                return False
            if len(set(values)) < len(values):
                return False
    has_good_ids = len(set(ids)) == len(ids) and all(map(_FIELD_ID.fullmatch, ids))
    return has_good_ids and options <= MAX_ALL_OPTIONS and total <= MAX_ALL_TEXT


def _breaches(surface: dict[str, Any], at: str) -> Iterator[Violation]:
    components: list[dict[str, Any]] = surface["components"]
    if len(components) > MAX_COMPONENTS:
        yield Violation(f"{at}/components", "maxItems", f"must have {MAX_COMPONENTS} or fewer items")
        return
    total = len(surface.get("title", ""))
    if total > MAX_TITLE:
        yield Violation(f"{at}/title", "maxLength", f"must have {MAX_TITLE} or fewer characters")
    seen: set[str] = set()
    options = 0
    for index, component in enumerate(components):
        place = f"{at}/components/{index}"
        for name, limit in _LIMITED.items():
            size = len(component.get(name, ""))
            total += size
            if size > limit:
                yield Violation(f"{place}/{name}", "maxLength", f"must have {limit} or fewer characters")
        if (name := component.get("id")) is not None:
            yield from _id_breaches(name, component["component"].startswith(_FIELD_PREFIX), seen, f"{place}/id")
        listed: list[dict[str, str]] = component.get("options", [])
        options += len(listed)
        total += sum(len(each["value"]) + len(each["label"]) for each in listed)
        yield from _option_breaches(listed, f"{place}/options")
    if options > MAX_ALL_OPTIONS:
        yield Violation(f"{at}/components", "options", f"must have {MAX_ALL_OPTIONS} or fewer options in all fields")
    if total > MAX_ALL_TEXT:
        yield Violation(at, "size", f"must have {MAX_ALL_TEXT} or fewer characters in all texts together")


def _id_breaches(name: str, is_field: bool, seen: set[str], at: str) -> Iterator[Violation]:
    if not is_component_id(name):
        text = f"must have 1 to {MAX_COMPONENT_ID} letters, digits or characters of `_.:-`, and not be `.` or `..`"
        yield Violation(at, "pattern", text)
    elif name in seen:
        yield Violation(at, "unique", "must differ from the ids of the other components")
    elif is_field and not is_field_id(name):
        text = f"must not be one of {', '.join(sorted(RESERVED_FIELD_IDS))}, and must not begin with {RESERVED_PREFIX}"
        yield Violation(at, "not", text)
    seen.add(name)


def _option_breaches(options: list[dict[str, str]], at: str) -> Iterator[Violation]:
    if len(options) > MAX_OPTIONS:
        yield Violation(at, "maxItems", f"must have {MAX_OPTIONS} or fewer items")
        return
    values: set[str] = set()
    for index, option in enumerate(options):
        if len(option["value"]) > MAX_OPTION_VALUE:
            yield Violation(f"{at}/{index}/value", "maxLength", f"must have {MAX_OPTION_VALUE} or fewer characters")
        if len(option["label"]) > MAX_LABEL:
            yield Violation(f"{at}/{index}/label", "maxLength", f"must have {MAX_LABEL} or fewer characters")
        if option["value"] in values:
            yield Violation(f"{at}/{index}/value", "unique", "must differ from the values of the other options")
        values.add(option["value"])
