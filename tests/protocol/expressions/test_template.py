"""Templates: expressions in double braces."""

from typing import Any

import pytest

from weftwork.protocol.expressions import expression, template
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.expressions.syntax_tree import References
from weftwork.protocol.expressions.template import Template, parse_template
from weftwork.protocol.expressions.values import MAX_RESULT

SCOPE: dict[str, Any] = {
    "inputs": {"name": "Ada", "n": 2, "list": [1, "é"], "none": None, "secret": "hush-canary"},
    "variables": {},
    "nodes": {"a": {"outputs": {"x": True}}},
    "configurable": {},
}


def fault(text: str, scope: dict[str, Any] = SCOPE) -> ExpressionFault:
    with pytest.raises(ExpressionFault) as caught:
        parse_template(text).render(scope)
    return caught.value


@pytest.mark.rule("expr-08")
@pytest.mark.parametrize(
    ("text", "rendered"),
    [
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
    ],
)
def test_examples(text: str, rendered: str) -> None:
    assert parse_template(text).render(SCOPE) == rendered


@pytest.mark.rule("expr-08")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a {{ inputs.name", "opens with {{ at character 3 is not closed"),
        ("{{ inputs.name // }}", "is not closed"),
        ("{{ 'a }}", "Expression 1 of the template: There is a syntax error"),
        ("{{ { }}", "is not closed"),
        ("{{ }}", "syntax error"),
        ("{{ other }}", "no name or function `other`"),
        ("{{ inputs.n }} {{ nodes }}", "Expression 2 of the template: A node must be named"),
        ("\ud800", "lone surrogate"),
    ],
)
def test_what_is_no_template_is_refused_when_it_is_parsed(text: str, said: str) -> None:
    with pytest.raises(ExpressionFault) as caught:
        parse_template(text)
    assert caught.value.code == "expression_invalid"
    assert said in caught.value.message


@pytest.mark.rule("expr-08", "expr-10")
def test_a_template_fails_as_its_expressions_do() -> None:
    assert fault("{{ inputs.other }}").message == "Expression 1 of the template: There is no member `other`."
    assert "canary" not in fault("{{ inputs.secret }} {{ inputs.list[inputs.secret] }}").message


@pytest.mark.rule("expr-03")
def test_references_are_those_of_all_expressions() -> None:
    text = "{{ inputs.a }} inputs.b {{ variables.c + nodes.d.outputs.e }} {{ inputs.f }}"
    expected = References(frozenset({"a", "f"}), frozenset({"c"}), frozenset({"d"}))
    assert parse_template(text).references == expected
    assert parse_template("{{ inputs.a }}{{ inputs }}{{ inputs.b }}").references.inputs is None
    assert parse_template("none").references == References()


def test_local_names() -> None:
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
    assert parse_template(most).render(SCOPE)
    with pytest.raises(ExpressionFault) as caught:
        parse_template(over)
    assert caught.value.code == "expression_limit"
    module = expression if name == "MAX_SOURCE" else template
    monkeypatch.setattr(module, name, getattr(module, name) + 1)
    assert parse_template(over).render(SCOPE)
    parse_template.cache_clear()


@pytest.mark.rule("expr-08")
def test_the_size_of_what_a_template_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    scope = {"inputs": {"a": "é" * 65_536}}
    assert len(parse_template("{{ inputs.a }}" * 2).render(scope).encode()) == MAX_RESULT
    over = fault("{{ inputs.a }}" * 2 + "b", scope)
    assert over.code == "expression_limit"
    monkeypatch.setattr(template, "MAX_RESULT", MAX_RESULT + 1)
    assert parse_template("{{ inputs.a }}" * 2 + "b").render(scope).endswith("éb")
