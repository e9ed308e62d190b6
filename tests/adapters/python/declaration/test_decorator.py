"""The decorator: what a function declares by its signature."""

import dataclasses
import inspect
from typing import Any, TypedDict

import msgspec
import pytest

import weftwork
from tests.adapters.python.declaration import deferred_annotations
from tests.adapters.python.fake_node_host import FakeNodeHost
from weftwork.adapters.python.declaration.decorator import NodeFunction, node_of
from weftwork.ports.node_outcome import Completed
from weftwork.protocol.workflow.node_types import NodeDeclaration


class Config(msgspec.Struct, rename="camel"):
    """How it is scored."""

    long_name: int = 1


class Out(msgspec.Struct):
    score: int
    label: str = ""


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Named(TypedDict, total=False):
    name: str


class Tree(msgspec.Struct):
    below: "list[Tree]" = []


def made(function: Any, **options: Any) -> NodeFunction:
    found = node_of(weftwork.node("acme.test", **options)(function))
    assert found is not None
    return found


def declared(function: Any, **options: Any) -> NodeDeclaration:
    return made(function, **options).declaration


def test_a_function_stays_what_it_was() -> None:
    async def score(ctx: Any, value: int = 3) -> int:
        return value

    same = weftwork.node("acme.score")(score)
    assert same is score
    assert inspect.iscoroutinefunction(same)
    with pytest.raises(StopIteration) as ended:
        score(None).send(None)
    assert ended.value.value == 3


def test_what_is_declared() -> None:
    async def score(ctx: weftwork.Context, value: int = 0, *, config: Config) -> Out:
        """Scores a value.

        The higher the better.
        """
        return Out(value)

    found = declared(score, version="1.2.3-beta.1", effect="idempotent", concurrency=3, requires=["acme.gpu"])
    assert found.title == "Scores a value."
    assert found.notes == "Scores a value.\n\nThe higher the better."
    assert (found.version, found.effect, found.concurrency, found.requires) == (
        "1.2.3-beta.1",
        "idempotent",
        3,
        ("acme.gpu",),
    )
    assert not found.instant
    assert not found.resumes_after_crash
    assert found.source == "tests.adapters.python.declaration.test_decorator:test_what_is_declared.<locals>.score"
    assert found.inputs == {"type": "object", "properties": {"value": {"type": "integer", "default": 0}}}
    assert found.config == {
        "description": "How it is scored.",
        "type": "object",
        "properties": {"longName": {"type": "integer", "default": 1}},
        "additionalProperties": False,
    }
    assert found.outputs == {
        "type": "object",
        "properties": {"score": {"type": "integer"}, "label": {"type": "string", "default": ""}},
        "required": ["score"],
        "additionalProperties": False,
    }


def test_titles() -> None:
    def bare(ctx: Any) -> None: ...
    def titled(ctx: Any) -> None: ...

    assert (declared(bare).title, made(lambda ctx: None).declaration.notes) == ("acme.test", "")
    assert declared(titled, title="Given").title == "Given"


def test_a_function_is_one_node() -> None:
    def bare(ctx: Any) -> None: ...

    made(bare)
    with pytest.raises(TypeError, match=r"it is the node 'acme\.test' already"):
        weftwork.node("acme.other")(bare)


def test_ports_have_the_types_of_their_annotations() -> None:
    def many(ctx: Any, plain, named: str, maybe: int | None = None, points: list[Point] = [], odd: Any = object()):  # type: ignore[no-untyped-def]  # noqa: B006, B008, ANN
        ...

    assert declared(many).inputs == {
        "type": "object",
        "properties": {
            "plain": {},
            "named": {"type": "string"},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "points": {"type": "array", "items": {"$ref": "#/$defs/Point"}, "default": []},
            "odd": {},
        },
        "required": ["plain", "named"],
        "$defs": {
            "Point": {
                "title": "Point",
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
                "required": ["x"],
            }
        },
    }


def test_a_whole_of_inputs() -> None:
    def struct(ctx: Any, inputs: Config) -> None: ...
    def record(ctx: Any, inputs: Point) -> None: ...
    def typed(ctx: Any, inputs: Named) -> None: ...
    def free(ctx: Any, inputs: dict[str, int]) -> None: ...
    def bare(ctx: Any, inputs) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN

    assert list(declared(struct).inputs["properties"]) == ["longName"]
    assert declared(record).inputs["required"] == ["x"]
    assert "required" not in declared(typed).inputs
    assert declared(free).inputs == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert declared(bare).inputs == {"type": "object"}


def test_what_is_returned_gives_the_outputs() -> None:
    def struct(ctx: Any) -> Out: ...
    def typed(ctx: Any) -> Named: ...
    def free(ctx: Any) -> dict[str, int]: ...
    def number(ctx: Any) -> int: ...
    def maybe(ctx: Any) -> Out | None: ...
    def nothing(ctx: Any) -> None: ...
    def unsaid(ctx: Any): ...  # type: ignore[no-untyped-def]  # noqa: ANN

    assert list(declared(struct).outputs["properties"]) == ["score", "label"]
    assert declared(typed).outputs["additionalProperties"] is False
    assert declared(free).outputs == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert declared(number).outputs == {
        "type": "object",
        "properties": {"output": {"type": "integer"}},
        "required": ["output"],
        "additionalProperties": False,
    }
    assert list(declared(maybe).outputs["properties"]) == ["output"]
    assert declared(nothing).outputs == {"type": "object", "properties": {}, "additionalProperties": False}
    assert declared(unsaid).outputs == {"type": "object"}


def test_a_type_that_holds_itself() -> None:
    def grow(ctx: Any, inputs: Tree) -> Tree: ...

    reference = {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "default": []}
    found = declared(grow)
    assert found.inputs["properties"] == {"below": reference}
    assert found.inputs["$defs"]["Tree"]["properties"] == {"below": reference}


def test_annotations_that_are_read_late() -> None:
    assert FakeNodeHost().run(deferred_annotations.shift, point={"x": 1}, by=2) == Completed({"x": 3, "y": 0})
    found = node_of(deferred_annotations.shift)
    assert found is not None
    assert found.declaration.inputs["required"] == ["point"]


def test_annotations_of_names_around_the_function() -> None:
    class Local(msgspec.Struct):
        value: int

    async def use(ctx: Any, local: "Local") -> "Local":
        return local

    assert FakeNodeHost().run(weftwork.node("acme.local")(use), local={"value": 1}) == Completed({"value": 1})
