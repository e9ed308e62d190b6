"""Declarations by decorator, and the errors of those that cannot be nodes."""

import dataclasses
import inspect
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Protocol, TypedDict

import msgspec
import pytest

import weftwork
from tests.adapters.python.declaration import deferred_annotations
from tests.adapters.python.fake_node_host import FakeNodeHost
from tests.harness.cases import each_case, present
from weftwork.adapters.python.declaration.decorator import NodeFunction, node_of
from weftwork.ports.node_outcome import Completed
from weftwork.protocol.models.capability_gate import ModelRef
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
    return present(node_of(weftwork.node("acme.test", **options)(function)))


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
    assert (found.version, found.effect, found.concurrency) == ("1.2.3-beta.1", "idempotent", 3)
    assert found.requires == ("acme.gpu",)
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


def test_the_model_that_a_node_type_needs() -> None:
    def see(ctx: Any) -> None: ...

    found = declared(see, required_model_capabilities=["vision-input"], fallback_model="router/acme/eyes")
    assert found.required_model_capabilities == ("vision-input",)
    assert found.fallback_model == ModelRef("router", "acme/eyes")


def test_a_function_is_one_node_with_its_name_or_a_title() -> None:
    def bare(ctx: Any) -> None: ...
    def titled(ctx: Any) -> None: ...

    assert (declared(bare).title, made(lambda ctx: None).declaration.notes) == ("acme.test", "")
    assert declared(titled, title="Given").title == "Given"
    with pytest.raises(TypeError, match=r"it is already the node 'acme\.test'"):
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
    def grow(ctx: Any, inputs: Tree) -> Tree: ...

    assert list(declared(struct).inputs["properties"]) == ["longName"]
    assert declared(record).inputs["required"] == ["x"]
    assert "required" not in declared(typed).inputs
    assert declared(free).inputs == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert declared(bare).inputs == {"type": "object"}
    reference = {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "default": []}
    found = declared(grow).inputs
    assert found["properties"] == found["$defs"]["Tree"]["properties"] == {"below": reference}


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


def test_annotations_that_are_read_late_or_name_what_is_around_the_function() -> None:
    class Local(msgspec.Struct):
        value: int

    async def use(ctx: Any, local: "Local") -> "Local":
        return local

    assert FakeNodeHost().run(weftwork.node("acme.local")(use), local={"value": 1}) == Completed({"value": 1})
    assert FakeNodeHost().run(deferred_annotations.shift, point={"x": 1}, by=2) == Completed({"x": 3, "y": 0})
    found = present(node_of(deferred_annotations.shift))
    assert found.declaration.inputs["required"] == ["point"]


class Lost(msgspec.Struct):
    found: "Nowhere"  # type: ignore[name-defined]  # noqa: F821


def _generator(ctx: Any) -> Any:
    yield 1


async def _async_generator(ctx: Any) -> Any:
    yield 1


def _nothing() -> None: ...
def _keywords_first(*, config: dict[str, Any]) -> None: ...
def _stars(ctx: Any, *ports: int) -> None: ...
def _double_stars(ctx: Any, **ports: int) -> None: ...
def _positional(ctx: Any, value: int, /) -> None: ...
def _keyword(ctx: Any, *, value: int) -> None: ...
def _config_before(ctx: Any, config: dict[str, Any]) -> None: ...
def _inputs_and_more(ctx: Any, inputs: Config, value: int) -> None: ...
def _inputs_list(ctx: Any, inputs: list[int]) -> None: ...
def _config_list(ctx: Any, *, config: list[int]) -> None: ...
def _complex(ctx: Any, value: complex) -> None: ...
def _returns_object(ctx: Any) -> object: ...
def _config_complex(ctx: Any, *, config: dict[str, complex]) -> None: ...
def _lost(ctx: Any, value: Lost) -> None: ...


async def _no_context(value: int) -> int: ...
async def _no_context_struct(value: Config) -> int: ...
async def _plain_context(ctx: weftwork.PlainContext) -> None: ...
def _default_text(ctx: Any, value: int = "a") -> None: ...  # type: ignore[assignment]
def _default_none(ctx: Any, value: int = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013
def _default_object(ctx: Any, value: int = object()) -> None: ...  # type: ignore[assignment]
def _default_negative(ctx: Any, value: Annotated[int, msgspec.Meta(ge=0)] = -1) -> None: ...
def _default_unset(ctx: Any, value: int = msgspec.UNSET) -> None: ...  # type: ignore[assignment]


def _unknown(ctx: Any, value: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821


@each_case(
    "function, why",
    (_generator, "it is a generator"),
    (_async_generator, "it is a generator"),
    (_nothing, "the first parameter must be the context"),
    (_keywords_first, "the first parameter must be the context"),
    (_stars, r"\*ports: int is not supported; use the parameter inputs: dict"),
    (_double_stars, r"\*\*ports: int is not supported"),
    (_positional, "value is positional-only"),
    (_keyword, "value is keyword-only, but only config can be"),
    (_config_before, "config must be keyword-only"),
    (_inputs_and_more, "inputs contains all ports"),
    (_inputs_list, "inputs contains all ports, so its annotation must be a struct"),
    (_config_list, "the annotation of config must be a struct, a dataclass, a TypedDict or a dict"),
    (_complex, "value has an annotation that cannot be expressed as JSON Schema: type <class 'complex'>"),
    (_returns_object, "return has an annotation that cannot be expressed as JSON Schema"),
    (_config_complex, "config has an annotation that cannot be expressed as JSON Schema"),
    (_lost, "value has an annotation that cannot be expressed as JSON Schema: name 'Nowhere' is not defined"),
    (_unknown, "the annotation of value cannot be resolved: name 'Nowhere' is not defined"),
    (_no_context, "the first parameter must be the context.*, but value is annotated as int"),
    (_no_context_struct, "the first parameter must be the context.*, but value is annotated as Config"),
    (_plain_context, "an async function gets a Context, not a PlainContext"),
    (_default_text, "the default of value does not match its annotation$"),
    (_default_none, r"the default of value does not match its annotation; write value: \.\.\. \| None"),
    (_default_object, "the default of value does not match its annotation"),
    (_default_negative, "the default of value does not match its annotation"),
    (_default_unset, "the default of value does not match its annotation"),
    (partial(_generator), "it is not a function"),
    (Config, "it is not a function"),
    (staticmethod(_nothing), "it is not a function"),
)
def test_a_function_that_cannot_be_a_node_is_refused(function: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        weftwork.node("acme.test")(function)
    assert node_of(function) is None


class Mine(Protocol):
    def now(self) -> Any: ...


def _mine(ctx: Mine) -> None: ...
def _either(ctx: weftwork.Context | weftwork.PlainContext) -> None: ...
def _async_context(ctx: weftwork.Context) -> None: ...
def _unread_context(ctx: "elsewhere.Context") -> None: ...  # type: ignore[name-defined]  # noqa: F821
def _object(ctx: object) -> None: ...
def _elsewhere(ctx: "elsewhere.PlainContext") -> None: ...  # type: ignore[name-defined]  # noqa: F821
def _infinite(ctx: Any, value: float = float("inf")) -> None: ...
def _unset(ctx: Any, value: int | msgspec.UnsetType = msgspec.UNSET) -> None: ...
def _marked(ctx: Any, value: Any = object()) -> None: ...  # noqa: B008
def _struct(ctx: Any, value: Config = Config()) -> None: ...  # noqa: B008


@each_case(
    "function",
    *(_mine, _either, _async_context, _unread_context, _object, _elsewhere, _infinite, _unset, _marked, _struct),
)
def test_contexts_and_defaults_that_will_do(function: Any) -> None:
    assert node_of(weftwork.node("acme.test")(function)) is not None


def test_a_refusal_names_file_line_and_function() -> None:
    line = _stars.__code__.co_firstlineno
    with pytest.raises(TypeError) as refused:
        weftwork.node("acme.test")(_stars)
    assert str(refused.value).startswith(f"{Path(__file__)}:{line}: _stars cannot be the node 'acme.test': ")
    # A class has no line of its own: the decorator's is named.
    with pytest.raises(TypeError, match="it is not a function") as refused:
        weftwork.node("acme.test")(Config)
    assert str(refused.value).startswith(f"{Path(__file__)}:")


@each_case(
    "type_id, options, why",
    ("Acme.score", {}, "is not a valid type id"),
    ("", {}, "is not a valid type id"),
    ("acme score", {}, "is not a valid type id"),
    ("acme.score\n", {}, "is not a valid type id"),
    ("a" * 129, {}, "is not a valid type id"),
    ("core.score", {}, "are reserved"),
    ("local.score", {}, "are reserved"),
    ("score", {}, "'score' has no prefix; add your own, such as acme.score"),
    ("acme.score", {"version": "1"}, "is not a valid version"),
    ("acme.score", {"version": "01.0.0"}, "is not a valid version"),
    ("acme.score", {"version": "1.0.0\n"}, "is not a valid version"),
    ("acme.score", {"effect": "twice"}, "is not a valid effect; use one of pure, idempotent, once"),
    ("acme.score", {"version": 1}, "is not a valid version"),
    ("acme.score", {"concurrency": -1}, "concurrency must be an integer of 0 or more"),
    ("acme.score", {"concurrency": "2"}, "concurrency must be an integer of 0 or more"),
    ("acme.score", {"requires": "acme.gpu"}, "requires must be a list of capability names"),
    ("acme.score", {"required_model_capabilities": "vision-input"}, "must be a list of capability names"),
    ("acme.score", {"required_model_capabilities": ["Vision"]}, "'Vision' is not a model capability: use lowercase"),
    ("acme.score", {"required_model_capabilities": [1]}, "1 is not a model capability"),
    ("acme.score", {"required_model_capabilities": ["reasoning"] * 2}, "a model capability is listed twice"),
    ("acme.score", {"fallback_model": "local/tiny"}, "has no effect without required model capabilities"),
    ("acme.score", {"required_model_capabilities": ["reasoning"], "fallback_model": "tiny"}, "must be a provider"),
    (
        "acme.score",
        {"required_model_capabilities": ["reasoning"], "fallback_model": ("a", "b")},
        'such as "local/tiny"',
    ),
    ("acme.score", {"heartbeat_timeout": "1"}, "heartbeat_timeout must be a number of seconds"),
    ("acme.score", {"heartbeat_timeout": 0}, "heartbeat_timeout must be a number of seconds"),
)
def test_what_the_decorator_cannot_take_is_refused(type_id: str, options: dict[str, Any], why: str) -> None:
    def score(ctx: Any) -> None: ...

    with pytest.raises(ValueError, match=why) as refused:
        weftwork.node(type_id, **options)(score)
    assert f"{Path(__file__)}:" in str(refused.value)


def test_a_decorator_without_its_call() -> None:
    def score(ctx: Any) -> None: ...

    bare: Any = weftwork.node
    for call in (lambda: bare(score), lambda: bare()):
        with pytest.raises(TypeError, match=r'@weftwork\.node\("acme\.score"\)'):
            call()
