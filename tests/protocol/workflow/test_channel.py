"""Declared channels: what can be run, which writes are let in, and their page."""

import json
import re
from typing import Any

import msgspec
import pytest

from tests.docs.pages import ROOT, blocks
from tests.harness.cases import each_case, fails_without, present
from tests.harness.definitions import node, workflow
from weftwork.protocol.fold.channel_state import ChannelState, reduce_write
from weftwork.protocol.json import caller_schema, schema
from weftwork.protocol.json.decoder import MAX_INTEGER
from weftwork.protocol.json.schema import document
from weftwork.protocol.workflow import channels as channel
from weftwork.protocol.workflow.channels import (
    LIST_REDUCERS,
    MESSAGE_ROLES,
    REDUCERS,
    Channel,
    access_denied_details,
    check_write,
    has_schema_conflict,
    may_write,
    parse_channels,
)

MESSAGE = {"messageId": "m-1", "role": "user", "content": "hello"}
VOTE = {"userId": "ada", "vote": True}


def declared(**document: Any) -> Channel:
    channels, violations = parse_channels({"c": document})
    assert violations == []
    return channels["c"]


def refused(name: str = "c", **document: Any) -> list[tuple[str, str]]:
    _, violations = parse_channels({name: document})
    return [(each.pointer, each.message) for each in violations]


@pytest.mark.rule("chan-02")
def test_a_declaration_is_read_in_full() -> None:
    document = {
        "reducer": "votes",
        "schema": {"type": "object", "required": ["userId"]},
        "default": [],
        "maxSize": 5,
        "ttlMs": 1000,
        "options": {"any": 1},
        "access": {"writers": ["core.*", "n"]},
        "schemaVersion": 3,
        "compatibleWith": [1, 2],
        "sensitive": True,
    }
    assert schema.check("workflow-definition", workflow([node("a")], channels={"c": document})) == []
    assert declared(**document) == Channel(
        name="c",
        reducer="votes",
        schema=document["schema"],
        has_default=True,
        default=[],
        max_size=5,
        ttl_ms=1000,
        access={"writers": ("core.*", "n")},
        schema_version=3,
        compatible_with=(1, 2),
        sensitive=True,
    )
    assert declared(reducer="replace") == Channel("c", "replace")
    assert declared(reducer="replace", access="private").access == "private"
    assert parse_channels({}) == ({}, [])


@pytest.mark.rule("chan-01")
def test_every_reducer_of_the_protocol_is_known_and_no_other() -> None:
    pattern = schema.document("workflow-definition")["$defs"]["ChannelDeclaration"]["properties"]["reducer"]["pattern"]
    assert pattern.startswith(f"^({'|'.join(REDUCERS)}|vendor")
    assert [declared(reducer=name).reducer for name in REDUCERS] == list(REDUCERS)
    ((pointer, message),) = refused(reducer="vendor.acme.sum", ttlMs=1)
    assert pointer == "/channels/c/reducer"
    assert message == f"is not a reducer of this host; use one of: {', '.join(REDUCERS)}"


@pytest.mark.rule("chan-02")
@each_case("reducer", *REDUCERS)
def test_a_bound_must_have_a_meaning(reducer: str) -> None:
    expires = reducer in ("append", "votes", "feedback")
    assert refused(reducer=reducer, ttlMs=1) == (
        [] if expires else [("/channels/c/ttlMs", f"is not supported by the reducer {reducer}; remove it")]
    )
    assert refused(reducer=reducer, maxSize=1) == (
        []
        if reducer in LIST_REDUCERS
        else [("/channels/c/maxSize", f"is not supported by the reducer {reducer}; remove it")]
    )


@pytest.mark.rule("chan-02")
@each_case(
    "document, pointer",
    ({"reducer": "replace", "schema": {"type": "text"}}, "/schema/type"),
    ({"reducer": "replace", "schema": {"$ref": "https://example.org/x"}}, "/schema/$ref"),
    ({"reducer": "replace", "schema": {"type": "string"}, "default": 1}, "/default"),
    (
        {"reducer": "replace", "schema": {"properties": {"a": {"type": "string"}}}, "default": {"a": 1}},
        "/default/a",
    ),
    ({"reducer": "merge", "default": []}, "/default"),
    ({"reducer": "counter", "default": "1"}, "/default"),
    ({"reducer": "counter", "default": True}, "/default"),
    ({"reducer": "counter", "default": 0, "schema": {"minimum": 1}}, "/default"),
    ({"reducer": "append", "default": {}}, "/default"),
    ({"reducer": "append", "default": [1, "x"], "schema": {"type": "integer"}}, "/default/1"),
    ({"reducer": "append", "default": [1, 2], "maxSize": 1}, "/default"),
    ({"reducer": "append", "default": [1], "ttlMs": 1}, "/default"),
    ({"reducer": "votes", "default": [VOTE, {}]}, "/default/1"),
    ({"reducer": "votes", "default": [VOTE, {"voter": "ada"}]}, "/default"),
    ({"reducer": "message", "default": [MESSAGE, MESSAGE]}, "/default"),
    ({"reducer": "message", "default": [{**MESSAGE, "role": "boss"}]}, "/default/0"),
    ({"reducer": "replace", "access": {"writers": ["a", "core.a*"]}}, "/access/writers/1"),
    ({"reducer": "replace", "access": {"readers": ["c*"]}}, "/access/readers/0"),
    ({"reducer": "append", "schema": {"type": "array", "minItems": 1}}, "/schema/minItems"),
)
def test_what_cannot_be_run_is_refused_where_it_stands(document: dict[str, Any], pointer: str) -> None:
    assert schema.check("workflow-definition", workflow([node("a")], channels={"c": document})) == []
    assert [where for where, _ in refused(**document)] == [f"/channels/c{pointer}"]


def test_every_wrong_channel_is_listed_and_right_ones_are_kept() -> None:
    documents = {
        "a/b": {"reducer": "merge", "maxSize": 1, "ttlMs": 1},
        "ok": {"reducer": "append"},
        "": {"reducer": "append"},
    }
    channels, violations = parse_channels({**documents, "x" * 257: {"reducer": "append"}})
    assert list(channels) == ["ok"]
    assert [each.pointer[:25] for each in violations] == [
        "/channels/a~1b/ttlMs",
        "/channels/a~1b/maxSize",
        "/channels/",
        "/channels/" + "x" * 15,
    ]


@pytest.mark.rule("chan-04")
@each_case(
    "reducer, value, fits",
    *((reducer, value, True) for reducer in ("replace", "append", "feedback") for value in (None, 1, [], {}, "x")),
    ("merge", {}, True),
    ("merge", [], False),
    ("merge", None, False),
    ("counter", -1, True),
    ("counter", 0.5, True),
    ("counter", MAX_INTEGER, True),
    ("counter", MAX_INTEGER + 1, False),
    ("counter", 1e300, False),
    ("counter", float("nan"), False),
    ("counter", float("inf"), False),
    ("counter", True, False),
    ("counter", "1", False),
    ("votes", VOTE, True),
    ("votes", {"voter": "ada"}, True),
    ("votes", {"userId": ""}, False),
    ("votes", {"userId": 7, "voter": "ada"}, False),
    ("votes", {}, False),
    ("votes", "ada", False),
    *(("message", {**MESSAGE, "role": role}, True) for role in MESSAGE_ROLES),
    ("message", {**MESSAGE, "content": None, "timestamp": "x", "toolName": "t", "extra": 1}, True),
    ("message", {**MESSAGE, "messageId": ""}, False),
    ("message", {**MESSAGE, "messageId": "x" * 257}, False),
    ("message", {**MESSAGE, "messageId": 1}, False),
    ("message", {**MESSAGE, "role": "boss"}, False),
    ("message", {**MESSAGE, "role": ["user"]}, False),
    ("message", {"messageId": "m", "role": "user"}, False),
    ("message", {"role": "user", "content": ""}, False),
    ("message", [], False),
    ("vendor.acme.sum", 1, False),
    ("sum", 1, False),
)
def test_a_reducer_takes_values_of_its_shape(reducer: str, value: Any, fits: bool) -> None:
    fault = check_write(None, reducer, value)
    assert (fault is None) == fits
    if fault is not None:
        assert fault[0] == "channel_write_invalid"
        assert fault[1].endswith(".")
        assert "boss" not in fault[1]


@pytest.mark.rule("chan-05")
@fails_without(channel, "check_value", lambda *_: [])
def test_a_write_fits_the_channel_it_goes_to() -> None:
    notes = declared(reducer="append", schema={"type": "object", "properties": {"a": {"type": "string"}}})
    assert check_write(notes, "append", {"a": "x"}) is None
    assert check_write(notes, "append", {"a": 1}) == (
        "channel_write_invalid",
        "The value at '/a' must be of type string.",
    )
    assert check_write(notes, "append", "secret") == ("channel_write_invalid", "The value must be of type object.")
    assert check_write(notes, "feedback", {"a": "x"}) == (
        "channel_write_invalid",
        "The channel is declared with the reducer append; write with the same reducer.",
    )
    assert check_write(declared(reducer="counter", schema={"minimum": 0}), "counter", -1) is not None


@pytest.mark.rule("chan-03")
@each_case("reducer", *sorted(LIST_REDUCERS))
def test_a_schema_of_the_list_is_read_as_one_of_its_items(reducer: str) -> None:
    value = {**MESSAGE, **VOTE}
    assert check_write(declared(reducer=reducer, schema={"type": "array"}), reducer, value) is None
    with_items = declared(
        reducer=reducer,
        schema={"type": "array", "items": {"$ref": "#/$defs/i"}, "$defs": {"i": {"required": ["x"]}}, "title": "t"},
    )
    assert check_write(with_items, reducer, {**value, "x": 1}) is None
    assert check_write(with_items, reducer, value) == ("channel_write_invalid", 'The value must have the member "x".')
    assert check_write(declared(reducer=reducer, schema={"type": "array", "items": False}), reducer, value) is not None
    assert check_write(declared(reducer=reducer, schema={"type": "array", "items": True}), reducer, value) is None
    wide = declared(reducer=reducer, schema={"type": ["array", "object"]})
    assert check_write(wide, reducer, value) is None
    assert declared(reducer=reducer, schema={"type": "array"}, default=[value]).default == [value]


@pytest.mark.rule("chan-03")
def test_what_is_no_list_keeps_its_schema() -> None:
    whole = declared(reducer="replace", schema={"type": "array", "maxItems": 1})
    assert check_write(whole, "replace", [1]) is None
    assert check_write(whole, "replace", 1) is not None
    assert check_write(whole, "replace", [1, 2]) is not None


@pytest.mark.rule("chan-06")
@each_case(
    "written, value, conflict",
    (1, msgspec.UNSET, True),
    (2, msgspec.UNSET, False),
    (3, msgspec.UNSET, False),
    (4, msgspec.UNSET, False),
    (1, "x", True),
    (2, "x", False),
    (2, 1, True),
    (3, 1, False),
    (4, 1, False),
)
def test_an_old_write_is_read_if_its_version_and_value_allow_it(written: int, value: Any, conflict: bool) -> None:
    now = declared(reducer="append", schema={"type": "string"}, schemaVersion=3, compatibleWith=[2])
    assert has_schema_conflict(now, written, value) is conflict


def test_the_derived_schema_passes_the_check_that_its_source_passed() -> None:
    items = {"anyOf": [{"$ref": "#/$defs/a"}, {"pattern": "^x"}]}
    source = {
        "type": "array",
        "items": items,
        "$defs": {"a": {"type": "integer"}},
        "$schema": schema.document("poll")["$schema"],
    }
    found = declared(reducer="append", schema=source)
    assert caller_schema.check_caller_schema(present(found.schema), "") == []


@pytest.mark.rule("chan-08")
@fails_without(
    channel,
    "_entry_matches",
    lambda entry, node_id, type_id: type_id.startswith(entry.removesuffix("*").removesuffix(".")),
    match="type_id='corex.noop', allowed=False",
)
@each_case(
    "access, node_id, type_id, allowed",
    ("public", "n", "core.noop", True),
    ("private", "n", "core.noop", False),
    ({}, "n", "core.noop", True),
    ({"readers": []}, "n", "core.noop", True),
    ({"writers": []}, "n", "core.noop", False),
    ({"writers": ["n"]}, "n", "core.noop", True),
    ({"writers": ["n"]}, "nn", "core.noop", False),
    ({"writers": ["m", "n"]}, "n", "core.noop", True),
    ({"writers": ["*"]}, "n", "core.noop", True),
    ({"writers": ["core.*"]}, "n", "core.noop", True),
    ({"writers": ["core.*"]}, "n", "core", False),
    ({"writers": ["core.*"]}, "n", "corex.noop", False),
    ({"writers": ["core.*"]}, "core.x", "other.noop", False),
    ({"writers": ["core.ai.*"]}, "n", "core.ai.call.fast", True),
    ({"writers": ["core.ai.*"]}, "n", "core.noop", False),
    ({"writers": ["core.noop"]}, "n", "core.noop", False),
    ({"writers": ["core.noop"]}, "core.noop", "other.x", True),
)
def test_the_list_decides_and_without_a_declaration_all_may_write(
    access: Any, node_id: str, type_id: str, allowed: bool
) -> None:
    assert may_write(None, node_id, type_id)
    assert may_write(declared(reducer="append", access=access), node_id, type_id) is allowed


@pytest.mark.rule("chan-08")
@each_case("access, allowed", ("private", []), ({"writers": []}, []), ({"writers": ["a", "core.*"]}, ["a", "core.*"]))
def test_a_denial_says_who_asked_and_who_is_let_in(access: Any, allowed: list[str]) -> None:
    assert access_denied_details(declared(reducer="append", access=access), "writers", "n", "x.y") == {
        "channel": "c",
        "requestedBy": {"nodeId": "n", "typeId": "x.y"},
        "allowed": allowed,
    }


PAGE = (ROOT / "docs" / "reference" / "channels.md").read_text("utf-8")


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """The cells of the tables in a text, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    heads = {at for mark, line in enumerate(lines) if line.startswith("|---") for at in (mark - 1, mark)}
    return [[cell.strip() for cell in line[1:-1].split("|")] for at, line in enumerate(lines) if at not in heads]


def codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]*)`", cell)


PAGE_REDUCERS = {
    codes(name)[0]: (codes(writes), codes(shown)[0]) for name, _, writes, shown in rows(section("Reducers"))
}


def test_every_reducer_has_its_example() -> None:
    assert tuple(PAGE_REDUCERS) == REDUCERS


@pytest.mark.rule("chan-09")
@each_case("name", *PAGE_REDUCERS)
def test_the_example_of_a_reducer_gives_what_is_shown(name: str) -> None:
    writes, shown = PAGE_REDUCERS[name]
    state: ChannelState | None = None
    for text in writes:
        value = json.loads(text)
        state = reduce_write(state, reducer=name, value=value, at=0, stamp=(0, 0, "n"), ttl_ms=None, max_size=None)
    assert len(writes) > 1
    assert present(state).value == json.loads(shown)


@pytest.mark.rule("chan-09")
def test_entries_expire_as_shown() -> None:
    state: ChannelState | None = None
    steps = rows(section("Entries that expire"))
    assert len(steps) == 4
    for value, at, shown in steps:
        write = json.loads(codes(value)[0])
        state = reduce_write(
            state, reducer="append", value=write, at=int(at), stamp=(0, 0, "n"), ttl_ms=200, max_size=None
        )
        assert state.value == json.loads(codes(shown)[0])


def test_the_declarations_shown_can_be_run() -> None:
    (shown,) = [json.loads(block.code) for block in blocks(PAGE) if block.language == "json"]
    channels, violations = parse_channels(shown["channels"])
    assert (list(channels), violations) == (["notes", "ballots", "totals"], [])


@pytest.mark.rule("chan-08")
@each_case("cell, who", *rows(section("Access")))
def test_access_is_as_shown(cell: str, who: str) -> None:
    declaration: dict[str, Any] = {"reducer": "append"}
    if codes(cell):
        declaration["access"] = json.loads(codes(cell)[0])
    channels, violations = parse_channels({"c": declaration})
    assert violations == []
    asking = {"review": "x.y", "other": "core.ai.call", "third": "core.noop"}
    allowed = [node_id for node_id, type_id in asking.items() if may_write(channels["c"], node_id, type_id)]
    expected = {"every": list(asking), "no": [], "the": ["review", "other"]}
    assert allowed == expected[who.split()[0]]


def test_every_member_of_a_declaration_is_described() -> None:
    described = [name for cell, _ in rows(PAGE.split("\n## ")[0]) for name in codes(cell)]
    declared = document("workflow-definition")["$defs"]["ChannelDeclaration"]["properties"]
    assert sorted(described) == sorted(declared)


def test_the_keywords_and_the_numbers_are_those_of_the_code() -> None:
    table = dict(row for row in rows(section("Schemas")) if row[0] != "a schema" and "keywords" not in row[0])
    listed = [name for kind in list(table)[:8] for name in codes(table[kind]) if name not in ("#/$defs/", "x-")]
    known = (
        caller_schema.SUBSCHEMA_KEYWORDS
        | caller_schema.SUBSCHEMA_LIST_KEYWORDS
        | caller_schema.SUBSCHEMA_MAP_KEYWORDS
        | caller_schema.VALUE_KEYWORDS
        | caller_schema.ANNOTATION_KEYWORDS
        | {"$ref", "$schema", "$defs"}
    )
    assert sorted(listed) == sorted(known)
    bounds = rows(section("Schemas"))[8:]
    assert [list(map(int, re.findall(r"\d+", bound.replace(",", "")))) for _, bound in bounds] == [
        [caller_schema.MAX_BYTES, caller_schema.MAX_DEPTH, caller_schema.MAX_SUBSCHEMAS],
        [caller_schema.MAX_STEPS_PER_VALUE, caller_schema.MAX_DEPTH],
        [caller_schema.MAX_OPTIONS, caller_schema.MAX_OPTION_BYTES],
        [
            caller_schema.MAX_PATTERNS,
            caller_schema.MAX_PATTERN,
            caller_schema.MAX_PATTERN_KIB,
            caller_schema.MAX_COMPILED_PATTERN // 1024,
        ],
        [caller_schema.MAX_STEPS, caller_schema.MAX_PATTERN_WORK],
    ]
    assert f"-{MAX_INTEGER} and {MAX_INTEGER}" in " ".join(section("Reducers").split())
    assert all(f"`{role}`" in section("Reducers") for role in MESSAGE_ROLES)
