"""The page about channels: its examples give what it shows, and its names and numbers are those of the code."""

import json
import re
from typing import Any

import pytest

from tests.docs.pages import ROOT, blocks
from weftwork.protocol.fold.channel_state import ChannelState, reduce_write
from weftwork.protocol.json import caller_schema
from weftwork.protocol.json.decoder import MAX_INTEGER
from weftwork.protocol.json.schema import document
from weftwork.protocol.workflow import channels as reducer
from weftwork.protocol.workflow.channels import may_write, parse_channels

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


REDUCERS = {codes(name)[0]: (codes(writes), codes(shown)[0]) for name, _, writes, shown in rows(section("Reducers"))}


def test_every_reducer_has_its_example() -> None:
    assert tuple(REDUCERS) == reducer.REDUCERS


@pytest.mark.rule("chan-09")
@pytest.mark.parametrize("name", REDUCERS)
def test_the_example_of_a_reducer_gives_what_is_shown(name: str) -> None:
    writes, shown = REDUCERS[name]
    state: ChannelState | None = None
    for text in writes:
        value = json.loads(text)
        state = reduce_write(state, reducer=name, value=value, at=0, stamp=(0, 0, "n"), ttl_ms=None, max_size=None)
    assert len(writes) > 1
    assert state is not None
    assert state.value == json.loads(shown)


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
@pytest.mark.parametrize(("cell", "who"), rows(section("Access")))
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


def test_the_keywords_are_those_of_the_dialect() -> None:
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


def test_the_numbers_are_those_of_the_code() -> None:
    bounds = rows(section("Schemas"))[8:]
    assert [list(map(int, re.findall(r"\d+", bound))) for _, bound in bounds] == [
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
    assert f"-{MAX_INTEGER} and\n{MAX_INTEGER}" in section("Reducers")
    assert all(f"`{role}`" in section("Reducers") for role in reducer.MESSAGE_ROLES)
