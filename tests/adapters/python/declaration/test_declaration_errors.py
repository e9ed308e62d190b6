"""What the decorator refuses, with file and line."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Protocol

import msgspec
import pytest

import weftwork
from weftwork.adapters.python.declaration.decorator import node_of


class Config(msgspec.Struct, rename="camel"):
    """How it is scored."""

    long_name: int = 1


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


REFUSED = [
    (_generator, "it yields"),
    (_async_generator, "it yields"),
    (_nothing, "the first parameter has to be the context"),
    (_keywords_first, "the first parameter has to be the context"),
    (_stars, r"\*ports: int takes ports without names; take them all as inputs: dict"),
    (_double_stars, r"\*\*ports: int takes ports without names"),
    (_positional, "value has no name for its callers"),
    (_keyword, "value stands behind the star, where only config may"),
    (_config_before, "config has to stand behind a star"),
    (_inputs_and_more, "inputs stands for all ports"),
    (_inputs_list, "inputs stands for all ports and has to be a struct"),
    (_config_list, "config has to be a struct, a dataclass, a TypedDict or a dict"),
    (_complex, "value has an annotation that JSON has nothing for: type <class 'complex'>"),
    (_returns_object, "return has an annotation that JSON has nothing for"),
    (_config_complex, "config has an annotation that JSON has nothing for"),
    (_lost, "value has an annotation that JSON has nothing for: name 'Nowhere' is not defined"),
    (_unknown, "the annotation of value cannot be read: name 'Nowhere' is not defined"),
    (_no_context, "the first parameter has to be the context.*, and value is annotated as int"),
    (_no_context_struct, "the first parameter has to be the context.*, and value is annotated as Config"),
    (_plain_context, "an async function gets a Context, not a PlainContext"),
    (_default_text, "the default of value does not fit its annotation$"),
    (_default_none, r"the default of value does not fit its annotation; write value: \.\.\. \| None"),
    (_default_object, "the default of value does not fit its annotation"),
    (_default_negative, "the default of value does not fit its annotation"),
    (_default_unset, "the default of value does not fit its annotation"),
    (partial(_generator), "it is no function"),
    (Config, "it is no function"),
    (staticmethod(_nothing), "it is no function"),
]


@pytest.mark.parametrize(("function", "why"), REFUSED, ids=lambda each: getattr(each, "__name__", None))
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


CONTEXTS = [
    *(_mine, _either, _async_context, _unread_context, _object, _elsewhere, _infinite, _unset, _marked, _struct),
]


@pytest.mark.parametrize("function", CONTEXTS)
def test_contexts_and_defaults_that_will_do(function: Any) -> None:
    assert node_of(weftwork.node("acme.test")(function)) is not None


def test_a_refusal_names_file_line_and_function() -> None:
    line = _stars.__code__.co_firstlineno
    with pytest.raises(TypeError) as refused:
        weftwork.node("acme.test")(_stars)
    assert str(refused.value).startswith(f"{Path(__file__)}:{line}: _stars cannot be the node 'acme.test': ")


@pytest.mark.parametrize(
    ("type_id", "options", "why"),
    [
        ("Acme.score", {}, "is no type id"),
        ("", {}, "is no type id"),
        ("acme score", {}, "is no type id"),
        ("acme.score\n", {}, "is no type id"),
        ("a" * 129, {}, "is no type id"),
        ("core.score", {}, "are taken"),
        ("local.score", {}, "are taken"),
        ("score", {}, "'score' has no prefix of your own; write one such as acme.score"),
        ("acme.score", {"version": "1"}, "is no version"),
        ("acme.score", {"version": "01.0.0"}, "is no version"),
        ("acme.score", {"version": "1.0.0\n"}, "is no version"),
        ("acme.score", {"effect": "twice"}, "is no effect; there are pure, idempotent, once"),
        ("acme.score", {"version": 1}, "is no version"),
        ("acme.score", {"concurrency": -1}, "concurrency is 0 for no limit"),
        ("acme.score", {"concurrency": "2"}, "concurrency is 0 for no limit"),
        ("acme.score", {"requires": "acme.gpu"}, "requires takes a list of names"),
        ("acme.score", {"heartbeat_timeout": "1"}, "heartbeat_timeout takes seconds"),
        ("acme.score", {"heartbeat_timeout": 0}, "heartbeat_timeout takes seconds"),
    ],
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


def test_what_has_no_line_of_its_own_is_named_by_that_of_the_decorator() -> None:
    with pytest.raises(TypeError, match="it is no function") as refused:
        weftwork.node("acme.test")(Config)
    assert str(refused.value).startswith(f"{Path(__file__)}:")
