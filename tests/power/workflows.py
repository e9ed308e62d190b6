"""Workflows of every kind: at once, in parallel, late, failing, large, and with something to hide."""

from typing import Any, Final

from tests.harness.definitions import edge, node, variable, workflow

TAGS: Final = ("red", "green", "blue")


def _input(kind: str, **more: Any) -> dict[str, Any]:
    return {"x": {"type": kind, **more}}


def _delay(name: str, length: int) -> dict[str, Any]:
    return node(name, "core.delay", config={"ms": length})


QUICK = workflow([node("a"), node("b", "core.identity")], [edge("a", "b")], [variable("v", defaultValue="d")])
WIDE = workflow(
    [node("a"), *(_delay(f"w{at}", 40 * at) for at in range(4)), node("end")],
    [*(edge("a", f"w{at}") for at in range(4)), *(edge(f"w{at}", "end") for at in range(4))],
)
SLOW = workflow([_delay("a", 30), _delay("b", 200), node("c")], [edge("a", "b"), edge("b", "c")])
FAILING = workflow(
    [node("a", "core.fail"), _delay("b", 5), node("c"), node("d", "core.fail")],
    [edge("a", "b", "any_failed"), edge("a", "c"), edge("b", "d")],
)
LARGE = workflow(
    [node("a", "core.identity", inputs=_input("variable", variableName="text")), _delay("b", 20)],
    [edge("a", "b")],
    [variable("text")],
)
SECRET = workflow(
    [
        node("a", "core.identity", inputs=_input("variable", variableName="secret")),
        _delay("b", 60),
        node("c", "core.identity", inputs=_input("connection", nodeId="a", outputKey="x")),
    ],
    [edge("a", "b"), edge("b", "c")],
    [variable("secret", sensitive=True)],
)
WORKFLOWS: Final = {
    name: {**document, "id": name}
    for name, document in {
        "quick": QUICK,
        "wide": WIDE,
        "slow": SLOW,
        "bad": FAILING,
        "bulky": LARGE,
        "secret": SECRET,
    }.items()
}


def secret_of(number: int) -> str:
    """What the caller of that number keeps to herself."""
    return f"canary-{number:06}-of-a-caller"
