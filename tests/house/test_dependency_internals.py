"""Canaries: the internals of uvicorn and cel-expr-python that the host builds on are still what they were.

Both packages are before 1.0, and the host uses more of them than they document. A failure here names the package and
what to compare before the range in pyproject.toml or the pin in constraints.txt is changed.
"""

import ast
import asyncio
import hashlib
import inspect
import textwrap
import tomllib
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import pytest
import uvicorn
from cel_expr_python import cel
from packaging.requirements import Requirement
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from tests.harness.cases import each_case
from weftwork.adapters.http.server.connection import Connection, RequestCycle
from weftwork.adapters.http.server.http_server import _UvicornServer  # pyright: ignore[reportPrivateUsage]
from weftwork.protocol.expressions import cel as cel_module
from weftwork.protocol.expressions import values as values_module
from weftwork.protocol.expressions.syntax_tree import as_standalone

ROOT = Path(__file__).parents[2]
CAPPED = ("cel-expr-python", "uvicorn")

SUBCLASSES: tuple[tuple[type, type], ...] = (
    (HttpToolsProtocol, Connection),
    (RequestResponseCycle, RequestCycle),
    (uvicorn.Server, _UvicornServer),
)
"""A class of uvicorn, and ours that extends it."""

SOURCES = {
    "HttpToolsProtocol.__init__": "4f0899941034",
    "HttpToolsProtocol.connection_lost": "c91a4c9bf2e2",
    "HttpToolsProtocol.connection_made": "6efb565ff3d3",
    "HttpToolsProtocol.data_received": "010a7ae59a5d",
    "HttpToolsProtocol.on_body": "dba9c32aeba3",
    "HttpToolsProtocol.on_header": "65d62c044f61",
    "HttpToolsProtocol.on_headers_complete": "1ea8589acfad",
    "HttpToolsProtocol.on_message_begin": "96d377fdc7c2",
    "HttpToolsProtocol.on_message_complete": "1fbad42dc31f",
    "HttpToolsProtocol.on_response_complete": "64e254f28e38",
    "HttpToolsProtocol.on_url": "37be44e962b0",
    "HttpToolsProtocol.shutdown": "d7351fa33f00",
    "RequestResponseCycle.__init__": "4d2f220910c3",
    "RequestResponseCycle.receive": "8124ae006be7",
    "RequestResponseCycle.run_asgi": "0f33f2449a44",
    "RequestResponseCycle.send": "abdd8601b326",
    "Server.__init__": "c150b55284f7",
    "Server.main_loop": "afccb353a119",
    "Server.capture_signals": "e1bbcd4770d1",
    "Server.on_tick": "60ea49b06ccf",
    "Server.startup": "2aa1d70a244b",
    "Server.shutdown": "9b33c5056299",
}
"""Methods that ours replace or call, or whose state ours change -> digest of their source as it was last compared."""

SET_LATER = {"servers"}
"""Names that `Server.startup` gives an object, and its constructor does not."""


def requirement(name: str) -> Requirement:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return next(each for each in map(Requirement, project["dependencies"]) if each.name == name)


@pytest.mark.parametrize("name", CAPPED)
def test_the_range_has_an_end_and_holds_what_is_installed(name: str) -> None:
    needed = requirement(name)
    assert "<" in {each.operator for each in needed.specifier}, f"{name} has no cap: {needed}"
    assert version(name) in needed.specifier, f"{name} {version(name)} is outside of what is tested: {needed}"


def own_names(ours: type) -> tuple[set[str], set[str]]:
    """Attributes of `self` that a class uses, and those of them that it defines itself."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(ours)))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"]
    stored = {node.attr for node in found if isinstance(node.ctx, ast.Store)}
    return {node.attr for node in found}, stored


async def _application(scope: Any, receive: Any, send: Any) -> None: ...


def uvicorn_objects() -> Iterator[tuple[object, set[str]]]:
    """An object of each class of uvicorn, and the names that the host reads from it."""
    with closing(asyncio.new_event_loop()) as loop:
        config = uvicorn.Config(_application, loop="none", ws="none", lifespan="off", log_config=None)
        state = ServerState()
        cycle: dict[str, Any] = dict.fromkeys(inspect.signature(RequestResponseCycle).parameters)
        made = (HttpToolsProtocol(config, state, {}, loop), RequestResponseCycle(**cycle), uvicorn.Server(config))
        for theirs, (_, ours) in zip(made, SUBCLASSES, strict=True):
            used, stored = own_names(ours)
            yield theirs, {name for name in used - stored - SET_LATER if name not in vars(ours)}
        yield made[0], {"cycle", "expect_100_continue", "headers", "on_header", "on_url", "pipeline", "scope"}
        yield made[1], {"body", "disconnected", "keep_alive", "more_body", "response_complete", "response_started"}
        yield made[1], {"message_event", "scope", "waiting_for_100_continue", "run_asgi"}
        yield made[2], {"force_exit", "serve", "server_state", "should_exit"}
        yield state, {"connections", "default_headers", "tasks"}
        yield FlowControl, {"drain", "pause_reading", "pause_writing", "resume_reading", "resume_writing"}
        yield FlowControl(None), {"read_paused", "write_paused"}  # type: ignore[arg-type]


def test_uvicorn_has_every_name_that_the_host_uses() -> None:
    missing = [
        f"{theirs!r}.{name}" for theirs, names in uvicorn_objects() for name in names if not hasattr(theirs, name)
    ]
    assert not missing, f"uvicorn {uvicorn.__version__} lacks {missing}: compare it with adapters/http/server"
    assert STATUS_LINE[200] == b"HTTP/1.1 200 OK\r\n", "uvicorn: STATUS_LINE is what RequestCycle.try_respond writes"


def digest(method: Any) -> str:
    return hashlib.sha256(inspect.getsource(method).encode()).hexdigest()[:12]


@each_case("name", *SOURCES)
def test_uvicorn_has_the_method_that_was_compared(name: str) -> None:
    theirs, ours = next(pair for pair in SUBCLASSES if pair[0].__name__ == name.partition(".")[0])
    assert digest(inspect.unwrap(getattr(theirs, name.partition(".")[2]))) == SOURCES[name], (
        f"uvicorn {uvicorn.__version__} has another {name}: compare it with {ours.__module__}.{ours.__name__}, "
        "change ours where it has to follow, and then write the new digest"
    )


def test_every_method_that_is_replaced_is_compared() -> None:
    replaced = {
        f"{theirs.__name__}.{name}"
        for theirs, ours in SUBCLASSES
        for name in vars(ours)
        if callable(vars(ours)[name]) and name in vars(theirs)
    }
    assert replaced <= SOURCES.keys()


CEL_NAMES = {
    "_package": {"NewEnv", "Type"},
    "Type": {"DYN", "ERROR", "MAP", "NULL"},
    "Env": {"compile", "deserialize"},
    "Expression": {"eval", "serialize"},
    "Value": {"plain_value", "type", "value"},
}
"""Class of cel-expr-python -> its names that the host uses."""


def test_cel_has_every_name_that_the_host_uses() -> None:
    lacking = [f"{owner}.{name}" for owner, names in CEL_NAMES.items() if owner != "_package" for name in names
               if not hasattr(getattr(cel, owner), name)]  # fmt: skip
    assert not lacking, f"cel-expr-python {version('cel-expr-python')} lacks {lacking}: see protocol/expressions/cel.py"
    trees = [ast.parse(inspect.getsource(module)) for module in (cel_module, values_module)]
    used = {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert set[str]().union(*CEL_NAMES.values()) <= used, "a name that the host no longer uses needs no canary"


def test_cel_serialises_what_the_syntax_tree_reads() -> None:
    """`syntax_tree` reads cel.expr.CheckedExpr by its field numbers, and hands parts of it back."""
    said = (
        f"cel-expr-python {version('cel-expr-python')}: compare its encoding with protocol/expressions/syntax_tree.py"
    )
    env = cel.NewEnv(variables={"inputs": cel.Type.DYN})
    encoded = env.compile("inputs.a").serialize()
    assert b"type.googleapis.com/cel.expr.CheckedExpr" in encoded, said
    # Field 7 of an expression is a list, field 1 of that an item, field 3 a constant: an int64 is its field 3.
    part = bytes([0x3A, 6, 0x0A, 4, 0x1A, 2, 0x18, 7])
    assert env.deserialize(as_standalone(part)).eval(data={}).plain_value() == [7], said


def test_a_session_of_asyncpg_shows_its_transport() -> None:
    """`adapters/postgres/database/connection.py` sets options of the socket, for which asyncpg has no argument."""
    assert "_transport" in asyncpg.Connection.__slots__
    assert "self._transport = transport" in inspect.getsource(asyncpg.Connection.__init__)
