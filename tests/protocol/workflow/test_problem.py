"""Problems of a definition's text are those that a host would name, each at its place."""

import asyncio
import json
from typing import Any

import pytest

from tests.harness.definitions import TYPES, edge, node, variable, workflow
from weftwork.adapters.memory.store import MemoryStore
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.workflow import registration as module
from weftwork.protocol.workflow.registration import MAX_DEFINITION_BYTES, Problem, check_shape, find_problems

GOOD = workflow([node("a"), node("b")], [edge("a", "b")], [variable("x", required=True)])


def registered(document: Any) -> list[tuple[str, str]]:
    """What a host says about it."""

    async def ask() -> list[tuple[str, str]]:
        store = MemoryStore()
        await store.open()
        return [
            (each.pointer, each.message) for each in await WorkflowCatalog(store.definitions, TYPES).register(document)
        ]

    return asyncio.run(ask())


def with_node(**members: Any) -> dict[str, Any]:
    return workflow([node("a"), {**node("b"), **members}], [edge("a", "b")])


BAD: list[tuple[Any, str, str]] = [
    ([], "", "[]"),
    ({**GOOD, "colour": "red"}, "/colour", '"colour": "red"'),
    ({name: value for name, value in GOOD.items() if name != "edges"}, "", '{"id": "sample"'),
    (with_node(typeId="core.nothing"), "/nodes/1/typeId", '"core.nothing"'),
    (with_node(config=5), "/nodes/1/config", "5, "),
    (with_node(typeId="core.fail", config={"code": "Bad Code"}), "/nodes/1/config/code", '"Bad Code"'),
    (with_node(typeId="core.identity", config={"o/d~d é": 1}), "/nodes/1/config/o~1d~0d \\xe9", '"o/d~d é": 1'),
    (with_node(id="a"), "/nodes/1/id", '"a"'),
    (with_node(inputs={"x": {"type": "variable"}}), "/nodes/1/inputs/x", '{"type": "variable"}'),
    (workflow([node("a")], [edge("a", "gone")]), "/edges/0/targetNodeId", '"gone"'),
    (workflow([node("a")], [], [variable("x", defaultValue=1)]), "/variables/0/defaultValue", "1}"),
]


@pytest.mark.parametrize(("document", "pointer", "there"), BAD)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_problem_is_the_one_a_host_names_and_is_told_where_it_stands(
    document: Any, pointer: str, there: str, indent: int | None
) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    found, problems = find_problems(text.encode(), TYPES)
    assert found is None
    assert [(each.pointer, each.message) for each in problems] == registered(document)
    place = next(each for each in problems if each.pointer == pointer)
    rest = "\n".join(text.split("\n")[place.line - 1 :])[place.column - 1 :]
    assert "".join(rest.split()).startswith("".join(there.split()))


def test_a_good_definition_has_no_problem() -> None:
    text = json.dumps(GOOD).encode()
    assert find_problems(text, TYPES) == (GOOD, [])
    assert registered(GOOD) == []
    assert check_shape(text) == (GOOD, [])


def test_a_shape_can_be_right_where_this_host_cannot_run_it() -> None:
    document = with_node(typeId="core.nothing")
    text = json.dumps(document).encode()
    assert check_shape(text) == (document, [])
    assert find_problems(text, TYPES)[0] is None


def test_problems_come_in_the_order_of_the_text() -> None:
    document = {"zebra": 1, **with_node(config=5), "ant": 2}
    _, problems = find_problems(json.dumps(document, indent=1).encode(), TYPES)
    assert [each.pointer for each in problems] == ["/zebra", "/nodes/1/config", "/ant"]
    assert sorted(problems, key=lambda each: each.line) == problems


UNREADABLE = [
    (b'{\n  "id": "x",\n}', Problem(3, 1, "", "The document is not valid JSON at line 3 column 1.")),
    (b'{"a": 1,\n "b": 2,\n "a": 3}', Problem(3, 2, "/a", "An object repeats a member name.")),
    (b'{"nodes": [{"id": 1,\n  "id": 2}]}', Problem(2, 3, "/nodes/0/id", "An object repeats a member name.")),
    (b'{"id":\n "\xff"}', Problem(2, 3, "", "The document is not valid UTF-8 at byte 9.")),
    (b'{"id":\n 9007199254740993}', None),
    (b'{"id":\n "\\u0000"}', None),
    (b'{"id":\n NaN}', None),
    (b"\xef\xbb\xbf{}", Problem(1, 1, "", "The document starts with a byte-order mark; send plain UTF-8.")),
    (b'{"a":\n' + b"[" * 100 + b"]" * 100 + b"}", None),
]


@pytest.mark.parametrize(("data", "wanted"), UNREADABLE)
def test_what_the_decoder_refuses_has_a_place_too(data: bytes, wanted: Problem | None) -> None:
    _, problems = find_problems(data, TYPES)
    assert len(problems) == 1
    if wanted is not None:
        assert problems == [wanted]
    else:
        assert problems[0].line in (1, 2)
        assert problems[0].pointer.startswith(("/id", "/a/0"))
        assert problems[0].message


def test_a_text_beyond_the_limit_is_not_even_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(GOOD).encode()
    longest = text + b" " * (MAX_DEFINITION_BYTES - len(text))
    assert check_shape(longest) == (GOOD, [])
    read: list[int] = []
    monkeypatch.setattr(module, "decode", lambda data: (read.append(len(data)), decode(data))[1])
    assert check_shape(longest + b" ") == (None, [Problem(1, 1, "", "is larger than 16777216 bytes")])
    assert read == []
    monkeypatch.setattr(module, "MAX_DEFINITION_BYTES", 2**30)
    assert check_shape(longest + b" ") == (GOOD, [])
