"""The structured-output subset of JSON Schema: what is outside, and what discovery says about the served kinds."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without, present
from tests.live import open_in_process, start_host
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, DISPLAY_KINDS, UNIVERSAL_KINDS
from weftwork.protocol.envelopes.schema_subset import (
    BOUNDS,
    LOAD_BEARING_KEYWORDS,
    MAX_DEPTH,
    MAX_PROPERTIES,
    check_subset,
    subset_compliance,
)
from weftwork.protocol.json import schema

TEXT = {"type": "string"}


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def nested(levels: int) -> dict[str, Any]:
    return closed(a=nested(levels - 1)) if levels > 1 else closed()


PLAIN = closed(
    a=TEXT,
    b={"type": "array", "items": closed(c={"type": ["integer", "null"], "enum": [1, None]})},
    d={"anyOf": [{"$ref": "#/$defs/d"}, TEXT], "description": "Either."},
) | {"$defs": {"d": closed(e={"type": "boolean", "const": True})}}


@pytest.mark.rule("disc-10")
def test_closed_objects_of_required_members_are_inside() -> None:
    many = closed(**{f"p{number}": TEXT for number in range(MAX_PROPERTIES)})
    for each in (PLAIN, closed(), nested(MAX_DEPTH), many):
        assert check_subset(each) == []
    assert subset_compliance({"a": [], "b": []}) == "strict"
    assert subset_compliance({}) == "off"


@pytest.mark.rule("disc-10")
@each_case(
    "document, pointer, rule",
    ({"type": "string"}, "", "type"),
    ({"type": "object"}, "", "additionalProperties"),
    ({**closed(a=TEXT), "required": []}, "/properties/a", "required"),
    (closed(a={**closed(), "additionalProperties": True}), "/properties/a", "additionalProperties"),
    (closed(a={"type": "array", "items": {"properties": {"b": TEXT}}}), "/properties/a/items", "additionalProperties"),
    (closed(a={"anyOf": [TEXT, {"type": "object"}]}), "/properties/a/anyOf/1", "additionalProperties"),
    ({**closed(a={"$ref": "#/$defs/a"}), "$defs": {"a": {"type": "object"}}}, "/properties/a", "additionalProperties"),
    ({**closed(a={"$ref": "#/$defs/a"}), "$defs": {"a": {"$ref": "#/$defs/a"}}}, "/properties/a/$ref", "$ref"),
    (closed(a={"$ref": "https://example.com/a"}), "/properties/a/$ref", "$ref"),
    (closed(a={"$ref": "#"}), "/properties/a/$ref", "$ref"),
    (nested(MAX_DEPTH + 1), "/properties/a" * MAX_DEPTH, "size"),
    (closed(**{f"p{number}": TEXT for number in range(MAX_PROPERTIES + 1)}), "", "size"),
    *((closed(a={keyword: 1}), f"/properties/a/{keyword}", keyword) for keyword in (*LOAD_BEARING_KEYWORDS, *BOUNDS)),
)
def test_everything_else_is_outside(document: dict[str, Any], pointer: str, rule: str) -> None:
    assert [(each.pointer, each.rule) for each in check_subset(document)] == [(pointer, rule)]


def test_the_size_of_a_recursive_schema_is_bounded() -> None:
    """Each level refers to the next one twice, which would be 2^40 parts."""
    levels = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2, "properties": {"x": TEXT}} for n in range(40)}
    found = check_subset({**closed(a={"$ref": "#/$defs/d0"}), "$defs": levels})
    assert found[-1].rule == "size"


@pytest.mark.rule("disc-10")
def test_the_kinds_of_the_protocol_are_outside_without_keywords_that_change_their_meaning() -> None:
    for name in (*UNIVERSAL_KINDS, *DISPLAY_KINDS):
        found = check_subset(present(BUILTIN_KINDS.find(name)).schema)
        assert found
        if name in UNIVERSAL_KINDS:
            assert {each.rule for each in found} <= {*BOUNDS, "required", "additionalProperties"}


@pytest.mark.rule("disc-10")
@fails_without("weftwork.wiring.envelope_kinds.check_subset", lambda document: [])
async def test_discovery_says_what_the_served_schemas_are() -> None:
    async with open_in_process() as host:
        document = (await host.call("GET", "/.well-known/openwop")).document
    assert schema.check("capabilities", document) == []
    assert document["envelopes"]["tierOneSubsetCompliance"] == "warn"
    assert document["capabilities"]["envelopes"] == document["envelopes"]


def test_a_host_logs_which_custom_kinds_are_outside(tmp_path: Path) -> None:
    folder = tmp_path / "kinds"
    folder.mkdir()
    for name, properties in (("local.inside", {"a": TEXT}), ("local.outside", {"a": {**TEXT, "maxLength": 5}})):
        (folder / f"{name}.schema.json").write_text(json.dumps(closed(**properties)), "utf-8")
    with start_host(tmp_path, "--envelope-kinds", folder, store="memory") as host:
        document = host.call("GET", "/.well-known/openwop").document
        assert {"local.inside", "local.outside"} <= set(document["supportedEnvelopes"])
        assert document["envelopes"]["tierOneSubsetCompliance"] == "warn"
        told = [json.loads(line) for line in host.errors.splitlines() if "structured-output subset" in line]
    assert [(each["kind"], each["pointer"]) for each in told] == [("local.outside", "/properties/a/maxLength")]
