"""Faults of expressions: helpful, and without a value of the run."""

import pytest

from tests.protocol.expressions.test_expression import SCOPE, fault
from weftwork.protocol.expressions import cel
from weftwork.protocol.expressions.expression import parse_expression
from weftwork.protocol.expressions.faults import ExpressionFault

# fmt: off
INVALID = [
    ("", "syntax error at line 1, column 1"),
    ("1 +\n+", "syntax error at line 2"),
    ("inputs.in", "syntax error at line 1, column 8"),
    ("other", "no name or function `other`"),
    ("other.member", "no name or function `other.member`"),
    ("inputs.name.lower()", "no name or function `lower`"),
    ("ports.x", "the names are inputs, variables, nodes, configurable"),
    ("1 + 1.0", "`+` cannot take (int, double); the numbers of a run are doubles, so write 1.0"),
    ("inputs.n % 2.0", "`%` takes whole numbers"),
    ("'a' > 1", "`>` cannot take (string, int)"),
    ("true ? 1 : 'a'", "`? :` cannot take (bool, int, string)"),
    ("has(inputs)", "not valid at line 1, column 5"),
    ("inputs.?n", "not valid at line 1, column 1"),
    ("google.protobuf.Struct{}", "Messages cannot be built"),
    ("inputs.name.matches('(')", "not a valid regular expression"),
    ("inputs.name.matches(inputs.name)", "must stand in the expression"),
    ("nodes", "A node must be named"),
    ("nodes == {}", "A node must be named"),
    ("nodes[inputs.name]", "A node must be named"),
    ("nodes['a' + 'b'].outputs", "A node must be named"),
    ("'fetch' in nodes", "A node must be named"),
    ("nodes.all(n, true)", "A node must be named"),
    ("[1].map(nodes, .nodes)", "A node must be named"),
    ("'\ud800'", "lone surrogate"),
    ("\0", "syntax error"),
]
# fmt: on


@pytest.mark.rule("expr-01", "expr-03")
@pytest.mark.parametrize(("source", "said"), INVALID)
def test_what_is_no_expression_is_refused_when_it_is_parsed(source: str, said: str) -> None:
    with pytest.raises(ExpressionFault) as caught:
        parse_expression(source)
    assert caught.value.code == "expression_invalid"
    assert said in caught.value.message


FAILED = [
    ("inputs.other", "There is no member `other`."),
    ("inputs['other one']", "There is no member `other one`."),
    ("has(inputs.other.more)", "There is no member `other`."),
    ("nodes.other.outputs.x", "There is no member `other`."),
    ("inputs.n + 1", "`+` cannot take (double, int); the numbers of a run are doubles, so write 1.0"),
    ("inputs.list.map(i, i + 1)", "write 1.0 and not 1"),
    ("inputs.n + size(inputs.list)", "use double(...)"),
    ("inputs.secret + 1", "`+` cannot take (string, int)."),
    ("inputs.secret.contains(inputs.n)", "`contains` cannot take (string, double)."),
    ("inputs.none.x", "not an object"),
    ("inputs.list[7]", "outside its list"),
    ("inputs.list['a']", "not a whole number"),
    ("inputs.name[0]", "neither a list nor an object"),
    ("inputs.secret ? 1 : 2", "`?`"),
    ("!inputs.secret", "`!`"),
    ("inputs.secret && true", "`&&`"),
    ("inputs.secret || false", "`||`"),
    ("1 / 0", "division by zero"),
    ("9223372036854775807 + 1", "64 bits"),
    ("int(1e30)", "does not fit"),
    ("int(inputs.secret)", "cannot be converted"),
    ("timestamp(inputs.secret)", "cannot be converted"),
    ("duration(inputs.secret)", "cannot be converted"),
    ("double(inputs.secret)", "cannot be converted"),
    ("inputs.deep[inputs.secret]", "A computed key is not in its object."),
    ("{inputs.secret: 1, inputs.secret: 2}", "the same key twice"),
    ("{1.5: 1}", "a key that is not text"),
    ("{1: 1}", "a key that is not text"),
    ("1.0 / 0.0", "not finite"),
    ("[double('nan')]", "not finite"),
    ("9007199254740992", "beyond 2^53-1"),
    ("b'x'", "bytes"),
    ("[timestamp('2020-01-01T00:00:00Z')]", "a timestamp"),
    ("duration('1s')", "a duration"),
    ("type(1)", "a type"),
    ("'\\u0000'", "NUL"),
    ("{'\\u0000': 1}", "NUL"),
]


@pytest.mark.rule("expr-07", "expr-10")
@pytest.mark.parametrize(("source", "said"), FAILED)
def test_what_has_no_value_fails(source: str, said: str) -> None:
    caught = fault(source)
    assert caught.code == "expression_failed"
    assert said in caught.message
    assert "canary" not in caught.message


@pytest.mark.rule("expr-10")
@pytest.mark.parametrize(
    "source",
    [
        "V", "V.x", "V[0]", "V + 1", "1 + V", "-V", "!V", "V && V", "V || V", "V ? 1 : 2", "V / V", "V % 2", "V < 1",
        "inputs[V]", "inputs.list[V]", "{V: 1, V: 2}[V + V]", "[1].map(x, V[x])", "int(V)", "uint(V)", "double(V)",
        "bool(V)", "bytes(V)", "timestamp(V)", "duration(V)", "size(V) + 1.0", "V.contains(1.0 + V)", "V in V",
        "V.startsWith(inputs.n)", "V.getHours()", "string(V) + inputs.n", "[V].exists(x, x)", "V.all(x, x)",
        "V.matches('^$') + V", "V.map(x, x)", "[V][3]", "{V: V}.other", "{V: V}[inputs.name]", "other(V)",
    ],
)  # fmt: skip
def test_no_message_holds_a_value(source: str) -> None:
    """Whatever kind the value has; a fault's cause and context would reach a log too."""
    for value in ("hush-canary", ["hush-canary"], {"hush-canary": "hush-canary"}, 314159.25):
        scope = {**SCOPE, "inputs": {**SCOPE["inputs"], "secret": value}}
        try:
            parse_expression(source.replace("V", "inputs.secret")).evaluate(scope)
        except ExpressionFault as caught:
            told = [caught.message, *map(str, caught.args), str(caught.__cause__), str(caught.__context__)]
            assert not [text for text in told if "canary" in text or "314159" in text]


def test_the_package_does_tell_values() -> None:
    """Without words of our own the test above would go red."""
    program, _ = cel.compile_program("inputs.deep[inputs.secret]", ("inputs",))
    _, said = cel.evaluate_program(program, {"inputs": SCOPE["inputs"]})
    assert said is not None
    assert "canary" in said
