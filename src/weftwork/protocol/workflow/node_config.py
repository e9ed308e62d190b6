"""Expressions, templates, variables and nested nodes in the configs of nodes, the ports and the conditions of edges.

All expressions and templates are parsed when the definition is registered, so that a mistake is reported with its
pointer and no run meets it. A node also reads and writes the variables that its config names.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from weftwork.protocol.expressions.expression import Expression, check_pattern, parse_expression
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.expressions.syntax_tree import References
from weftwork.protocol.expressions.template import Template, parse_template
from weftwork.protocol.json.pointers import match_pointer_pattern, printable_token
from weftwork.protocol.json.schema import Violation, check_inline
from weftwork.protocol.models.prompt_templates import uses_templates
from weftwork.protocol.workflow.definition import Condition, ExpressionKey, Node, Port
from weftwork.protocol.workflow.node_types import NodeDeclaration

ConfigExpressions = dict[ExpressionKey, tuple[Expression | Template, str]]
"""Formulas, each with the pointer below the config at which it stands."""

PORTS_NAME = "ports"
"""The name under which expressions in a node's config find the node's own inputs."""


def variables_read(node: Node) -> Iterator[str]:
    """The variable that such a node reads by its name, and those that it gives to a child run."""
    declaration = node.declaration
    if declaration.reads_variable:
        yield node.config[declaration.reads_variable]
    for pattern in declaration.input_mappings:
        for _, mapped in match_pointer_pattern(node.config, pattern):
            yield from mapped.values()


def variables_written(node: Node) -> Iterator[tuple[str, str]]:
    """The variable that such a node writes, and those that it takes from a child run, each with the pointer below the
    config at which it is named."""
    declaration = node.declaration
    if declaration.sets_variable:
        yield f"/{declaration.sets_variable}", node.config[declaration.sets_variable]
    for pattern in declaration.output_mappings:
        for pointer, mapped in match_pointer_pattern(node.config, pattern):
            yield from ((f"{pointer}/{printable_token(name)}", name) for name in mapped)


def has_external_content(
    declaration: NodeDeclaration, types: Mapping[str, NodeDeclaration], config: dict[str, Any]
) -> bool:
    """trust-02 (RFC 0143): whether what such a node gives comes from outside, by its type or by that of a body."""
    if declaration.external_content:
        return True
    bodies = (body for pattern in declaration.bodies for _, body in match_pointer_pattern(config, pattern))
    return any((found := types.get(body.get("typeId", ""))) is not None and found.external_content for body in bodies)


def config_references(node: Node) -> Iterator[References]:
    """What the expressions and templates in its config read, and what prompt templates can."""
    for formula in node.config_expressions.values():
        yield formula.references
    if node.uses_prompt_templates:
        yield References(variables=None)


def with_prompt_refs(node: Node, types: Mapping[str, NodeDeclaration], refs: dict[str, Any]) -> Node:
    """The node as it is told by prompt templates: those of its config, of a body in it, or of the workflow, `refs`."""
    declaration = node.declaration
    if not declaration.prompt_templates and not declaration.bodies:
        return node
    bodies = [body for pattern in declaration.bodies for _, body in match_pointer_pattern(node.config, pattern)]
    told = [(declaration, node.config, refs)]
    told += [(found, body.get("config", {}), {}) for body in bodies if (found := types.get(body.get("typeId", "")))]
    composing = any(
        each.prompt_templates == "always" or (each.prompt_templates == "named" and uses_templates(config, more))
        for each, config, more in told
    )
    return replace(node, uses_prompt_templates=composing, prompt_refs=refs if declaration.prompt_templates else {})


def parse_port(item: dict[str, Any], at: str, violations: list[Violation]) -> Port:
    """An input port; an expression that cannot be used is a violation."""
    expression = (
        _parse_or_report(item["expression"], (), f"{at}/expression", violations) if "expression" in item else None
    )
    return Port(
        type=item["type"],
        value=item.get("value"),
        variable=item.get("variableName", ""),
        node_id=item.get("nodeId", ""),
        output_key=item.get("outputKey", ""),
        optional=item.get("optional", False),
        expression=expression,
    )


def parse_condition(item: dict[str, Any], at: str, violations: list[Violation]) -> Condition | None:
    """wf-14 (readings, Conditions): a condition with everything its type needs; without a type it is an expression."""
    kind = item.get("type", "expression")
    if kind == "expression":
        if "expression" not in item:
            violations.append(Violation(at, "required", "an expression condition needs `expression`"))
            return None
        return Condition(kind, expression=_parse_or_report(item["expression"], (), f"{at}/expression", violations))
    missing = [name for name in ("left", "right") if name not in item]
    if missing:
        violations.append(Violation(at, "required", f"a condition of type {kind} needs `{missing[0]}`"))
        return None
    if kind == "regex":
        problem = check_pattern(item["right"]) if isinstance(item["right"], str) else "must be text"
        if problem is not None:
            violations.append(Violation(f"{at}/right", "pattern", problem))
            return None
    return Condition(kind, item["left"], item["right"])


def check_config(declaration: NodeDeclaration, config: dict[str, Any], at: str) -> list[Violation]:
    """What keeps a config from being used, which stands at the pointer `at`: by its schema, and then beyond it."""
    found = check_inline(declaration.config, config, at)
    if found or declaration.check_config is None:
        return found
    return [replace(each, pointer=at + each.pointer) for each in declaration.check_config(config)]


def parse_config(
    declaration: NodeDeclaration,
    types: Mapping[str, NodeDeclaration],
    config: dict[str, Any],
    at: str,
    violations: list[Violation],
) -> ConfigExpressions:
    """Every expression and template in a config that fits its schema; those of a node inside it too."""
    found: ConfigExpressions = {}
    for pattern, more in declaration.expressions.items():
        names = (PORTS_NAME, *more)
        for pointer, text in match_pointer_pattern(config, pattern):
            parsed = _parse_or_report(text, names, f"{at}{pointer}", violations)
            if parsed is not None:
                found[text, frozenset(names)] = parsed, pointer
    for pattern, more in declaration.templates.items():
        names = (PORTS_NAME, *more)
        for pointer, text in match_pointer_pattern(config, pattern):
            if not isinstance(text, str):
                # Where an object may stand as well.
                continue
            try:
                found[text, frozenset(names)] = parse_template(text, names), pointer
            except ExpressionFault as fault:
                violations.append(Violation(f"{at}{pointer}", "template", fault_text(fault)))
    for pattern in declaration.bodies:
        for pointer, body in match_pointer_pattern(config, pattern):
            if "typeId" not in body:
                continue
            inside = _parse_body(body, types, f"{at}{pointer}", violations)
            found |= {key: (formula, f"{pointer}/config{below}") for key, (formula, below) in inside.items()}
    return found


def output_reads(ports: Mapping[str, Port], found: ConfigExpressions) -> Iterable[tuple[str, str]]:
    """Pointer below the node and node id of every output that ports and config read."""
    for name, port in ports.items():
        if port.type == "connection":
            yield f"/inputs/{printable_token(name)}/nodeId", port.node_id
        elif port.expression is not None:
            yield from (
                (f"/inputs/{printable_token(name)}/expression", each)
                for each in sorted(port.expression.references.nodes)
            )
    for formula, pointer in found.values():
        yield from ((f"/config{pointer}", each) for each in sorted(formula.references.nodes))


def _parse_body(
    body: dict[str, Any], types: Mapping[str, NodeDeclaration], at: str, violations: list[Violation]
) -> ConfigExpressions:
    declaration = types.get(body["typeId"])
    if declaration is None or not _can_be_body(declaration):
        what = "this host has no such node type" if declaration is None else "this node type cannot be a body"
        violations.append(Violation(f"{at}/typeId", "known", what))
        return {}
    config: dict[str, Any] = body.get("config", {})
    wrong = check_config(declaration, config, f"{at}/config")
    violations += wrong
    return {} if wrong else parse_config(declaration, types, config, f"{at}/config", violations)


def _can_be_body(declaration: NodeDeclaration) -> bool:
    """Whether a node type can run inside another: not if it reads or writes the run beside its inputs and outputs."""
    reaches_out = declaration.reads_variable or declaration.sets_variable or declaration.writes_channel
    starts_runs = declaration.input_mappings or declaration.output_mappings
    return not (declaration.bodies or declaration.requires or reaches_out or starts_runs)


def _parse_or_report(source: str, names: tuple[str, ...], at: str, violations: list[Violation]) -> Expression | None:
    try:
        return parse_expression(source, names)
    except ExpressionFault as fault:
        violations.append(Violation(at, "expression", fault_text(fault)))
        return None


def fault_text(fault: ExpressionFault) -> str:
    """What is wrong, without its full stop: it goes on in a sentence."""
    return fault.message.rstrip(".")
