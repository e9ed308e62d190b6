"""Expressions and templates: what they say and read, and faults without a value of the run."""

from typing import Any

import pytest

from tests.harness.cases import each_case, present
from weftwork.protocol.expressions import cel, expression, template
from weftwork.protocol.expressions.expression import parse_expression
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.expressions.syntax_tree import References
from weftwork.protocol.expressions.template import Template, parse_template
from weftwork.protocol.expressions.values import MAX_RESULT

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
@each_case("source, value", *EXAMPLES)
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
@each_case("source, inputs, variables, nodes",
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
)  # fmt: skip
def test_references(source: str, inputs: set[str] | None, variables: set[str] | None, nodes: set[str]) -> None:
    read = parse_expression(source).references
    assert (read.inputs, read.variables, read.nodes) == (inputs, variables, nodes)


@pytest.mark.rule("expr-03")
def test_only_what_is_referenced_is_looked_at() -> None:
    scope = {"inputs": {"a": {"b": 1, "c": object()}, "d": object()}, "variables": object()}
    assert parse_expression("inputs.a.b").evaluate(scope) == 1
    assert fault("inputs.a", scope).message == "The expression reads a value that is not JSON."


def test_local_names() -> None:
    expression = parse_expression("ports.x + item.inputs", ("ports", "item"))
    assert expression.evaluate({"ports": {"x": "a"}, "item": {"inputs": "b"}}) == "ab"
    assert expression.references == References()
    assert fault("item", {}, ("item",)).message == "A name in the expression has no value."
    assert "inputs, variables, nodes, configurable, ports" in fault("other", {}, ("ports",)).message
    assert parse_expression("inputs", ("inputs",)).references.inputs is None


def test_an_expression_is_immutable_and_remembered_and_leaves_the_scope_as_it_was() -> None:
    expression = parse_expression("inputs.n + 2.0")
    with pytest.raises(AttributeError):
        expression.source = "1"  # pyright: ignore[reportAttributeAccessIssue]
    assert parse_expression("inputs.n + 2.0") is expression
    assert repr(expression).startswith("Expression(source='inputs.n + 2.0', references=References(")
    for number in range(600):
        parse_expression(f"{number}")
    assert parse_expression.cache_info().currsize <= 512
    scope = {"inputs": {"a": [1, {"b": 2}]}}
    parse_expression("inputs.a.map(x, x)").evaluate(scope)
    assert scope == {"inputs": {"a": [1, {"b": 2}]}}
    assert isinstance(scope["inputs"]["a"][0], int)


# fmt: off
INVALID = [
    ("", "syntax error at line 1, column 1"),
    ("1 +\n+", "syntax error at line 2"),
    ("inputs.in", "syntax error at line 1, column 8"),
    ("other", "no name or function `other`"),
    ("other.member", "no name or function `other.member`"),
    ("inputs.name.lower()", "no name or function `lower`"),
    ("ports.x", "the names are inputs, variables, nodes, configurable"),
    ("1 + 1.0", "`+` does not accept (int, double); numbers of a run are doubles; write 1.0"),
    ("inputs.n % 2.0", "`%` requires integers"),
    ("'a' > 1", "`>` does not accept (string, int)"),
    ("true ? 1 : 'a'", "`? :` does not accept (bool, int, string)"),
    ("has(inputs)", "not valid at line 1, column 5"),
    ("inputs.?n", "not valid at line 1, column 1"),
    ("google.protobuf.Struct{}", "Protobuf messages are not supported"),
    ("inputs.name.matches('(')", "not a valid regular expression"),
    ("inputs.name.matches(inputs.name)", "must be a string literal"),
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
@each_case("source, said", *INVALID)
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
    ("inputs.n + 1", "`+` does not accept (double, int); numbers of a run are doubles; write 1.0"),
    ("inputs.list.map(i, i + 1)", "write 1.0 instead of 1"),
    ("inputs.n + size(inputs.list)", "convert with double(...)"),
    ("inputs.secret + 1", "`+` does not accept (string, int)."),
    ("inputs.secret.contains(inputs.n)", "`contains` does not accept (string, double)."),
    ("inputs.budget", "There is no member `budget`."),
    ("inputs.deep['Iteration budget exceeded' + inputs.secret]", "An object does not have the computed key."),
    ("inputs.none.x", "not an object"),
    ("inputs.list[7]", "out of range"),
    ("inputs.list['a']", "not an integer"),
    ("inputs.name[0]", "neither a list nor an object"),
    ("inputs.secret ? 1 : 2", "`?`"),
    ("!inputs.secret", "`!`"),
    ("inputs.secret && true", "`&&`"),
    ("inputs.secret || false", "`||`"),
    ("1 / 0", "division by zero"),
    ("9223372036854775807 + 1", "64 bits"),
    ("int(1e30)", "out of range"),
    ("int(inputs.secret)", "cannot be converted"),
    ("timestamp(inputs.secret)", "cannot be converted"),
    ("duration(inputs.secret)", "cannot be converted"),
    ("double(inputs.secret)", "cannot be converted"),
    ("inputs.deep[inputs.secret]", "An object does not have the computed key."),
    ("{inputs.secret: 1, inputs.secret: 2}", "the same key twice"),
    ("{1.5: 1}", "a key that is not a string"),
    ("{1: 1}", "a key that is not a string"),
    ("1.0 / 0.0", "NaN or an infinity"),
    ("[double('nan')]", "NaN or an infinity"),
    ("9007199254740992", "beyond 2^53-1"),
    ("b'x'", "bytes"),
    ("[timestamp('2020-01-01T00:00:00Z')]", "a timestamp"),
    ("duration('1s')", "a duration"),
    ("type(1)", "a type"),
    ("'\\u0000'", "NUL"),
    ("{'\\u0000': 1}", "NUL"),
]


@pytest.mark.rule("expr-07", "expr-10")
@each_case("source, said", *FAILED)
def test_what_has_no_value_fails(source: str, said: str) -> None:
    caught = fault(source)
    assert caught.code == "expression_failed"
    assert said in caught.message
    assert "canary" not in caught.message


@pytest.mark.rule("expr-10")
@each_case("source",
        "V", "V.x", "V[0]", "V + 1", "1 + V", "-V", "!V", "V && V", "V || V", "V ? 1 : 2", "V / V", "V % 2", "V < 1",
        "inputs[V]", "inputs.list[V]", "{V: 1, V: 2}[V + V]", "[1].map(x, V[x])", "int(V)", "uint(V)", "double(V)",
        "bool(V)", "bytes(V)", "timestamp(V)", "duration(V)", "size(V) + 1.0", "V.contains(1.0 + V)", "V in V",
        "V.startsWith(inputs.n)", "V.getHours()", "string(V) + inputs.n", "[V].exists(x, x)", "V.all(x, x)",
        "V.matches('^$') + V", "V.map(x, x)", "[V][3]", "{V: V}.other", "{V: V}[inputs.name]", "other(V)",
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
    assert "canary" in present(said)


TEMPLATE_SCOPE: dict[str, Any] = {
    "inputs": {"name": "Ada", "n": 2, "list": [1, "é"], "none": None, "secret": "hush-canary"},
    "variables": {},
    "nodes": {"a": {"outputs": {"x": True}}},
    "configurable": {},
}


def template_fault(text: str, scope: dict[str, Any] = TEMPLATE_SCOPE) -> ExpressionFault:
    with pytest.raises(ExpressionFault) as caught:
        parse_template(text).render(scope)
    return caught.value


@pytest.mark.rule("expr-08")
@each_case(
    "text, rendered",
    ("", ""),
    ("plain } }} { text", "plain } }} { text"),
    ("Hello, {{ inputs.name }}!", "Hello, Ada!"),
    ("{{inputs.name}}{{inputs.n}}", "Ada2"),
    ("{{ inputs.n / 4.0 }} {{ inputs.none }} {{ nodes.a.outputs.x }}", "0.5 null true"),
    ("{{ inputs.list }}", '[1,"é"]'),
    ("{{ {'a': {'b': inputs.n}} }}", '{"a":{"b":2}}'),
    ("{{{'a':{'b':1}}}}", '{"a":{"b":1}}'),
    ("{{ '{{' }}x{{ \"}}\" }}", "{{x}}"),
    ("{{ r'\\}}' }}", "\\}}"),
    ("{{ '\\'}}' }}", "'}}"),
    ("{{ '''}}'\n''' + \"\"\"\"}}\"\"\" }}", "}}'\n\"}}"),
    ("{{ b'}}' == b'}}' }}", "true"),
    ("{{ inputs.n // }}\n}}.", "2."),
    ("{{\n inputs.name\n}}", "Ada"),
    ("{ { inputs.name } }", "{ { inputs.name } }"),
    ("ü{{ 'ß' }}☃", "üß☃"),
)
def test_template_examples(text: str, rendered: str) -> None:
    assert parse_template(text).render(TEMPLATE_SCOPE) == rendered


@pytest.mark.rule("expr-08")
@each_case(
    "text, said",
    ("a {{ inputs.name", "opens with {{ at character 3 is not closed"),
    ("{{ inputs.name // }}", "is not closed"),
    ("{{ 'a }}", "Expression 1 of the template: There is a syntax error"),
    ("{{ { }}", "is not closed"),
    ("{{ }}", "syntax error"),
    ("{{ other }}", "no name or function `other`"),
    ("{{ inputs.n }} {{ nodes }}", "Expression 2 of the template: A node must be named"),
    ("\ud800", "lone surrogate"),
)
def test_what_is_no_template_is_refused_when_it_is_parsed(text: str, said: str) -> None:
    with pytest.raises(ExpressionFault) as caught:
        parse_template(text)
    assert caught.value.code == "expression_invalid"
    assert said in caught.value.message


@pytest.mark.rule("expr-03", "expr-08", "expr-10")
def test_a_template_has_the_references_faults_and_local_names_of_its_expressions() -> None:
    assert template_fault("{{ inputs.other }}").message == "Expression 1 of the template: There is no member `other`."
    assert "canary" not in template_fault("{{ inputs.secret }} {{ inputs.list[inputs.secret] }}").message
    text = "{{ inputs.a }} inputs.b {{ variables.c + nodes.d.outputs.e }} {{ inputs.f }}"
    expected = References(frozenset({"a", "f"}), frozenset({"c"}), frozenset({"d"}))
    assert parse_template(text).references == expected
    assert parse_template("{{ inputs.a }}{{ inputs }}{{ inputs.b }}").references.inputs is None
    assert parse_template("none").references == References()
    template = parse_template("{{ ports.x }}", ("ports",))
    assert template.render({"ports": {"x": 1}}) == "1"
    assert template.text == "{{ ports.x }}"
    assert isinstance(template, Template)


@pytest.mark.rule("expr-08")
@pytest.mark.parametrize(
    ("name", "most", "over"),
    [
        ("MAX_TEMPLATE", "é" * 32_768, "é" * 32_768 + "a"),
        ("MAX_TEMPLATE_EXPRESSIONS", "{{ 1 }}" * 64, "{{ 1 }}" * 65),
        ("MAX_SOURCE", "{{'" + "a" * 2_046 + "'}}", "{{'" + "a" * 2_047 + "'}}"),
    ],
)
def test_the_size_of_a_template(name: str, most: str, over: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_template(most).render(TEMPLATE_SCOPE)
    with pytest.raises(ExpressionFault) as caught:
        parse_template(over)
    assert caught.value.code == "expression_limit"
    module = expression if name == "MAX_SOURCE" else template
    monkeypatch.setattr(module, name, getattr(module, name) + 1)
    assert parse_template(over).render(TEMPLATE_SCOPE)
    parse_template.cache_clear()


@pytest.mark.rule("expr-08")
def test_the_size_of_what_a_template_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    scope = {"inputs": {"a": "é" * 65_536}}
    assert len(parse_template("{{ inputs.a }}" * 2).render(scope).encode()) == MAX_RESULT
    assert template_fault("{{ inputs.a }}" * 2 + "b", scope).code == "expression_limit"
    monkeypatch.setattr(template, "MAX_RESULT", MAX_RESULT + 1)
    assert parse_template("{{ inputs.a }}" * 2 + "b").render(scope).endswith("éb")
