"""Expressions: what they say and what they read."""

from typing import Any

import pytest

from weftwork.protocol.expressions.expression import parse_expression
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.expressions.syntax_tree import References

SCOPE: dict[str, Any] = {
    "inputs": {
        "n": 3,
        "half": 1.5,
        "name": "Ada",
        "none": None,
        "yes": True,
        "list": [1, 2, 3],
        "items": [{"id": "a", "price": 10}, {"id": "b", "price": 25.5}],
        "deep": {"a": {"b": "c"}},
        "in": "reserved",
        "grüße": "Straße",
        "secret": "hush-canary",
        "empty": {},
    },
    "variables": {"count": 7},
    "nodes": {"fetch": {"outputs": {"status": 200}}, "a-b": {"outputs": {"ok": True}}},
    "configurable": {"model": "small"},
}

# fmt: off
EXAMPLES = [
    ("1 + 1", 2),
    ("inputs.n", 3),
    ("inputs.n + 1.0", 4),
    ("inputs.n / 2.0", 1.5),
    ("inputs.half * 2.0", 3),
    ("int(inputs.n) % 2", 1),
    ("inputs.n > 2", True),
    ("inputs.n == 3", True),
    ("-inputs.n", -3),
    ("'Hello, ' + inputs.name", "Hello, Ada"),
    ("size(inputs.list)", 3),
    ("inputs.list[1]", 2),
    ("inputs.list[inputs.n - 1.0]", 3),
    ("inputs.list + [4.0]", [1, 2, 3, 4]),
    ("2.0 in inputs.list", True),
    ("'name' in inputs", True),
    ("has(inputs.name) && !has(inputs.other)", True),
    ("has(inputs.other) ? inputs.other : 'none'", "none"),
    ("has(inputs.deep.a.b)", True),
    ("inputs.none == null", True),
    ("inputs.none", None),
    ("[null, {'a': null}]", [None, {"a": None}]),
    ("inputs.items.map(i, i.price)", [10, 25.5]),
    ("inputs.items.filter(i, i.price > 20.0).map(i, i.id)", ["b"]),
    ("inputs.items.map(i, i.price > 20.0, i.id)", ["b"]),
    ("inputs.items.all(i, i.price > 1.0)", True),
    ("inputs.items.exists(i, i.id == 'b')", True),
    ("inputs.items.exists_one(i, i.price > 1.0)", False),
    ("inputs.deep.all(key, key == 'a')", True),
    ("{'b': inputs.n, 'a': [inputs.yes]}", {"a": [True], "b": 3}),
    ('nodes.fetch.outputs.status == 200.0', True),
    ('nodes["a-b"].outputs.ok', True),
    ("nodes.`a-b`.outputs.ok", True),
    ("has(nodes.other)", False),
    ("variables.count", 7),
    ("configurable.model", "small"),
    ('inputs["in"]', "reserved"),
    ('inputs["grüße"] + " ☃"', "Straße ☃"),
    ("inputs.name // nodes", "Ada"),
    ('"nodes and inputs.x"', "nodes and inputs.x"),
    (r'r"\d" + "\u00e9"', "\\dé"),
    ('"""a\nb"""', "a\nb"),
    ('inputs.name.matches("^A.a$")', True),
    ('matches(inputs.name, "d")', True),
    ("string(inputs.half)", "1.5"),
    ("double('2.5')", 2.5),
    ("1e300", 1e300),
    ("[1].map(inputs, .inputs.name)", ["Ada"]),
    ("inputs.list.map(nodes, nodes)", [1, 2, 3]),
    ("inputs.list.all(i, true) && inputs.list.exists(i, true)", True),
]
# fmt: on


def fault(source: str, scope: dict[str, Any] = SCOPE, names: tuple[str, ...] = ()) -> ExpressionFault:
    with pytest.raises(ExpressionFault) as caught:
        parse_expression(source, names).evaluate(scope)
    return caught.value


@pytest.mark.rule("expr-01")
@pytest.mark.parametrize(("source", "value"), EXAMPLES)
def test_examples(source: str, value: Any) -> None:
    got = parse_expression(source).evaluate(SCOPE)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.rule("expr-02")
def test_numbers_are_doubles_and_come_back_as_integers() -> None:
    scope = {"inputs": {"n": 2**53 - 1, "l": [0, -1, 1.0]}}
    assert parse_expression("type(inputs.n) == double").evaluate(scope) is True
    for source, value in [("inputs.n", 2**53 - 1), ("inputs.l", [0, -1, 1]), ("inputs.l.map(i, i * 2.0)", [0, -2, 2])]:
        got = parse_expression(source).evaluate(scope)
        assert got == value
        assert {type(each) for each in (got if isinstance(got, list) else [got])} == {int}
    assert fault("inputs.n", {"inputs": {"n": 2**53}}).code == "expression_failed"


@pytest.mark.rule("expr-03")
@pytest.mark.parametrize(
    ("source", "inputs", "variables", "nodes"),
    [
        ("1", set(), set(), set()),
        ("inputs.a + variables.b", {"a"}, {"b"}, set()),
        ("inputs['a'].x[0].y", {"a"}, set(), set()),
        ("inputs . a", {"a"}, set(), set()),
        (".inputs.a", {"a"}, set(), set()),
        ("inputs[\"\\x61\"]", {"a"}, set(), set()),
        ("inputs.`a b`", {"a b"}, set(), set()),
        ("inputs", None, set(), set()),
        ("inputs[variables.k]", None, {"k"}, set()),
        ("size(inputs)", None, set(), set()),
        ("'a' in inputs", None, set(), set()),
        ("inputs.a == inputs['a' + 'b']", None, set(), set()),
        ("inputs.all(k, variables[k] == 1.0)", None, None, set()),
        ("has(inputs.a) ? inputs.b : inputs.c", {"a", "b", "c"}, set(), set()),
        ("nodes.a.outputs.x && nodes['b'].outputs.inputs", set(), set(), {"a", "b"}),
        ("has(nodes.c)", set(), set(), {"c"}),
        ("'inputs.a nodes.b' // inputs.c nodes.d", set(), set(), set()),
        ("'''inputs.a''' + r'\\d' + \"variables.b\"", set(), set(), set()),
        ("configurable.inputs.variables", set(), set(), set()),
        ("{'inputs': inputs.a}.inputs", {"a"}, set(), set()),
        ("[{}].map(inputs, inputs.a)", set(), set(), set()),
        ("[1.0].map(inputs, .inputs.a)", {"a"}, set(), set()),
        ("inputs.a.map(inputs, inputs.b)", {"a"}, set(), set()),
        ("inputs.a.map(x, x.b + inputs.c)", {"a", "c"}, set(), set()),
        ("inputs.a.filter(inputs, inputs.b).map(x, inputs.c)", {"a", "c"}, set(), set()),
    ],
)  # fmt: skip
def test_references(source: str, inputs: set[str] | None, variables: set[str] | None, nodes: set[str]) -> None:
    read = parse_expression(source).references
    assert (read.inputs, read.variables, read.nodes) == (inputs, variables, nodes)


@pytest.mark.rule("expr-03")
def test_only_what_is_referenced_is_looked_at() -> None:
    scope = {"inputs": {"a": {"b": 1, "c": object()}, "d": object()}, "variables": object()}
    assert parse_expression("inputs.a.b").evaluate(scope) == 1
    assert fault("inputs.a", scope).message == "The expression reads something that is no JSON value."


def test_local_names() -> None:
    expression = parse_expression("ports.x + item.inputs", ("ports", "item"))
    assert expression.evaluate({"ports": {"x": "a"}, "item": {"inputs": "b"}}) == "ab"
    assert expression.references == References()
    assert fault("item", {}, ("item",)).message == "A name has no value here."
    assert "inputs, variables, nodes, configurable, ports" in fault("other", {}, ("ports",)).message
    assert parse_expression("inputs", ("inputs",)).references.inputs is None


def test_an_expression_is_immutable_and_remembered() -> None:
    expression = parse_expression("inputs.n + 2.0")
    with pytest.raises(AttributeError):
        expression.source = "1"  # pyright: ignore[reportAttributeAccessIssue]
    assert parse_expression("inputs.n + 2.0") is expression
    assert repr(expression).startswith("Expression(source='inputs.n + 2.0', references=References(")
    for number in range(600):
        parse_expression(f"{number}")
    assert parse_expression.cache_info().currsize <= 512


def test_the_scope_is_left_as_it_was() -> None:
    scope = {"inputs": {"a": [1, {"b": 2}]}}
    parse_expression("inputs.a.map(x, x)").evaluate(scope)
    assert scope == {"inputs": {"a": [1, {"b": 2}]}}
    assert isinstance(scope["inputs"]["a"][0], int)
