"""Parsing of node configs, input ports and edge conditions: their expressions, templates, variables and nested nodes.

All expressions and templates are parsed when the definition is registered, so a syntax error is reported with its
pointer and never fails a run.
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
from weftwork.protocol.models.capability_gate import ModelNeeds
from weftwork.protocol.models.prompt_templates import uses_templates
from weftwork.protocol.spelling import did_you_mean
from weftwork.protocol.workflow.definition import Condition, ExpressionKey, Node, Port
from weftwork.protocol.workflow.node_types import NodeDeclaration

ConfigExpressions = dict[ExpressionKey, tuple[Expression | Template, str]]
"""Parsed expressions and templates, each with its pointer below the config."""

PORTS_NAME = "ports"
"""The name by which expressions in a node's config read the node's own inputs."""


def variables_read(node: Node) -> Iterator[str]:
    """The variables that the config names for reading, including those that are passed to a child run."""
    declaration = node.declaration
    if declaration.reads_variable:
        yield node.config[declaration.reads_variable]
    for pattern in declaration.input_mappings:
        for _, mapped in match_pointer_pattern(node.config, pattern):
            yield from mapped.values()


def variables_written(node: Node) -> Iterator[tuple[str, str]]:
    """The variables that the config names for writing, including those that a child run returns, each after the pointer
    below the config that names it."""
    declaration = node.declaration
    if declaration.sets_variable:
        yield f"/{declaration.sets_variable}", node.config[declaration.sets_variable]
    for pattern in declaration.output_mappings:
        for pointer, mapped in match_pointer_pattern(node.config, pattern):
            yield from ((f"{pointer}/{printable_token(name)}", name) for name in mapped)


def has_external_content(
    declaration: NodeDeclaration, types: Mapping[str, NodeDeclaration], config: dict[str, Any]
) -> bool:
    """trust-02 (RFC 0143): whether the node's outputs come from an external source, by its type or the type of a
    body."""
    if declaration.external_content:
        return True
    bodies = (body for pattern in declaration.bodies for _, body in match_pointer_pattern(config, pattern))
    return any((found := types.get(body.get("typeId", ""))) is not None and found.external_content for body in bodies)


def model_needs(
    declaration: NodeDeclaration, types: Mapping[str, NodeDeclaration], config: dict[str, Any]
) -> ModelNeeds | None:
    """cap-06 (host): the model capabilities that a node requires: those of its type, or of the type of a body, which
    then also selects the model."""
    if declaration.required_model_capabilities:
        return _needs_of(declaration, config)
    for pattern in declaration.bodies:
        for _, body in match_pointer_pattern(config, pattern):
            found = types.get(body.get("typeId", ""))
            if found is not None and found.required_model_capabilities:
                return _needs_of(found, body.get("config", {}))
    return None


def _needs_of(declaration: NodeDeclaration, config: dict[str, Any]) -> ModelNeeds:
    names = {name: text for name in ("provider", "model") if isinstance(text := config.get(name), str)}
    return ModelNeeds(declaration.required_model_capabilities, declaration.fallback_model, names)


def config_references(node: Node) -> Iterator[References]:
    """The references of the expressions and templates in the config. Prompt templates may read any variable."""
    for formula in node.config_expressions.values():
        yield formula.references
    if node.uses_prompt_templates:
        yield References(variables=None)


def with_prompt_refs(node: Node, types: Mapping[str, NodeDeclaration], refs: dict[str, Any]) -> Node:
    """A copy of the node with the workflow's prompt references `refs`, marked if it composes prompts from templates.

    Templates can be named by its config, by the config of a body, or by the workflow.
    """
    declaration = node.declaration
    if not declaration.prompt_templates and not declaration.bodies:
        return node
    bodies = [body for pattern in declaration.bodies for _, body in match_pointer_pattern(node.config, pattern)]
    candidates = [(declaration, node.config, refs)]
    candidates += [
        (body_type, body.get("config", {}), {}) for body in bodies if (body_type := types.get(body.get("typeId", "")))
    ]
    uses_any = any(
        each.prompt_templates == "always" or (each.prompt_templates == "named" and uses_templates(config, outer_refs))
        for each, config, outer_refs in candidates
    )
    return replace(node, uses_prompt_templates=uses_any, prompt_refs=refs if declaration.prompt_templates else {})


def parse_port(item: dict[str, Any], at: str, violations: list[Violation]) -> Port:
    """An input port. An invalid expression is appended to `violations`."""
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
    """wf-14 (readings, Conditions): the condition of an edge, or None after its violation was appended.

    A condition without a type is an expression.
    """
    kind = item.get("type", "expression")
    if kind == "expression":
        if "expression" not in item:
            violations.append(Violation(at, "required", "a condition of type expression must have `expression`"))
            return None
        return Condition(kind, expression=_parse_or_report(item["expression"], (), f"{at}/expression", violations))
    missing = [name for name in ("left", "right") if name not in item]
    if missing:
        violations.append(Violation(at, "required", f"a condition of type {kind} must have `{missing[0]}`"))
        return None
    if kind == "regex":
        problem = check_pattern(item["right"]) if isinstance(item["right"], str) else "must be a string"
        if problem is not None:
            violations.append(Violation(f"{at}/right", "pattern", problem))
            return None
    return Condition(kind, item["left"], item["right"])


def check_config(declaration: NodeDeclaration, config: dict[str, Any], at: str) -> list[Violation]:
    """Violations of the config at the pointer `at`: those of its schema or, if there are none, of the type's own
    check."""
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
    """Parses every expression and template in a config that matches its schema, including those of nested nodes.

    Syntax errors are appended to `violations`.
    """
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
                # Some members accept a template or an object.
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


def output_reads(ports: Mapping[str, Port], expressions: ConfigExpressions) -> Iterable[tuple[str, str]]:
    """For every reference to a node's outputs in ports and config: the pointer below the node, and the node id."""
    for name, port in ports.items():
        if port.type == "connection":
            yield f"/inputs/{printable_token(name)}/nodeId", port.node_id
        elif port.expression is not None:
            yield from (
                (f"/inputs/{printable_token(name)}/expression", each)
                for each in sorted(port.expression.references.nodes)
            )
    for formula, pointer in expressions.values():
        yield from ((f"/config{pointer}", each) for each in sorted(formula.references.nodes))


def _parse_body(
    body: dict[str, Any], types: Mapping[str, NodeDeclaration], at: str, violations: list[Violation]
) -> ConfigExpressions:
    declaration = types.get(body["typeId"])
    if declaration is None or not _can_be_body(declaration):
        text = (
            f"this host has no such node type{did_you_mean(body['typeId'], types)}"
            if declaration is None
            else "this node type cannot run inside another node"
        )
        violations.append(Violation(f"{at}/typeId", "known", text))
        return {}
    config: dict[str, Any] = body.get("config", {})
    wrong = check_config(declaration, config, f"{at}/config")
    violations += wrong
    return {} if wrong else parse_config(declaration, types, config, f"{at}/config", violations)


def _can_be_body(declaration: NodeDeclaration) -> bool:
    """Whether a node type can run inside another node: only if it accesses the run through its inputs and outputs
    alone."""
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
    """The message without its full stop, to be put inside a sentence."""
    return fault.message.rstrip(".")
