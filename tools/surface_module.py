"""Writes the constants of `weftwork-surface.js` from the tables of `protocol/surfaces`, so that the browser checks a
surface by the same rules as the host. With --check it writes nothing and exits with 1 if the module is stale.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weftwork.protocol.forms.visible_text import HIDDEN_CHARACTERS
from weftwork.protocol.json import schema
from weftwork.protocol.surfaces import limits
from weftwork.protocol.surfaces.actions import DATE
from weftwork.protocol.surfaces.surface import COMPONENTS

MODULE = Path("src", "weftwork", "adapters", "http", "static", "weftwork-surface.js")
KIND_SCHEMA = "envelopes/ui.a2ui-surface"
PART = re.compile(r"(// begin: constants[^\n]*\n).*?(// end: constants\n)", re.DOTALL)

LIMITS = {
    "components": limits.MAX_COMPONENTS,
    "options": limits.MAX_OPTIONS,
    "allOptions": limits.MAX_ALL_OPTIONS,
    "title": limits.MAX_TITLE,
    "label": limits.MAX_LABEL,
    "text": limits.MAX_TEXT,
    "allText": limits.MAX_ALL_TEXT,
    "optionValue": limits.MAX_OPTION_VALUE,
    "value": limits.MAX_VALUE,
}


def constants() -> str:
    """The statements between the two marks of the module."""
    document = schema.document(KIND_SCHEMA)
    by_type: dict[str, dict[str, Any]] = {}
    for name, definition in document["$defs"].items():
        if name not in ("surface", "component"):
            component = _plain(definition)
            # The type is the key of the table.
            (component_type,) = component["properties"].pop("component")["enum"]
            component["required"].remove("component")
            by_type[component_type] = component
    surface = _plain(document["$defs"]["surface"])
    # The components are checked one by one, because a component of an unknown type is shown as a notice.
    surface["properties"]["components"] = {"type": "array"}
    payload = _plain(document)
    payload["properties"]["surface"] = surface
    types = [str(each.__struct_config__.tag) for each in COMPONENTS]
    lines = {
        "COMPONENTS": _literal({name: by_type[name] for name in types}),
        "PAYLOAD": _literal({name: payload[name] for name in ("type", "required", "properties")}),
        "MAX": _literal(LIMITS),
        "RESERVED_FIELD_IDS": _literal(sorted(limits.RESERVED_FIELD_IDS)),
        "RESERVED_PREFIX": _literal(limits.RESERVED_PREFIX),
        "ID": f"/{limits.COMPONENT_ID_PATTERN}/",
        "PATH_STEPS": _literal(sorted(limits.PATH_STEPS)),
        "DATE": f"/{DATE}/",
        "HIDDEN": f"/{_character_class(HIDDEN_CHARACTERS.pattern)}/gu",
    }
    return "".join(f"const {name} = {text};\n" for name, text in lines.items())


def _plain(document: Any) -> dict[str, Any]:
    """The part of a schema that the module checks. Every object is closed there, so `additionalProperties` is left
    out."""
    return dict(_members(document))


def _members(document: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in document.items():
        if name == "properties":
            yield name, {member: _plain(each) for member, each in value.items()}
        elif name == "items":
            yield name, _plain(value)
        elif name == "additionalProperties":
            assert value is False, "the module checks closed objects only"
        elif name in ("required", "enum"):
            yield name, list(value)
        elif name in ("type", "minimum", "maximum", "minItems"):
            yield name, value
        elif name not in ("$schema", "$id", "$defs", "$ref", "title", "description"):
            raise NotImplementedError(f"{name} is a keyword that weftwork-surface.js does not check")


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _character_class(pattern: str) -> str:
    """A character class in the syntax of JavaScript, with escapes only."""
    inner = pattern.removeprefix("[").removesuffix("]")
    return "[" + "".join(sign if sign == "-" else f"\\u{{{ord(sign):x}}}" for sign in inner) + "]"


def filled(text: str) -> str:
    """The module with current constants."""
    return PART.sub(lambda part: part[1] + constants() + part[2], text)


def main(arguments: list[str], root: Path) -> int:
    """Exit status: 0 if the module is up to date or was written, 1 if --check finds it stale."""
    module = root / MODULE
    text = module.read_text("utf-8")
    if "--check" not in arguments:
        module.write_text(filled(text), "utf-8")
    elif filled(text) != text:
        sys.stderr.write(f"{MODULE} is stale: run `make docs`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).parents[1]))
