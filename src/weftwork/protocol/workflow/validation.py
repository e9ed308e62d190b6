"""Validation of workflow definitions: from a JSON document to an immutable `Workflow`.

The schema `workflow-definition` checks the structure. The checks here and in `node_config` cover what a schema cannot
express: references, duplicates, known node types, expressions, and interrupt keys that several nodes share.

Source: OpenWOP workflow-definition.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.gate_rules import OPEN_CONTRACT, parse_contract
from weftwork.protocol.envelopes.kinds import parse_kinds
from weftwork.protocol.ids import MAX_NODE_ID
from weftwork.protocol.json import schema
from weftwork.protocol.json.caller_schema import check_caller_schema
from weftwork.protocol.json.canonical import digest, encode_recorded
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import has_type
from weftwork.protocol.models.prompt_templates import workflow_prompt_refs
from weftwork.protocol.spelling import did_you_mean
from weftwork.protocol.workflow import node_config
from weftwork.protocol.workflow.channels import parse_channels
from weftwork.protocol.workflow.definition import (
    NODE_SETTINGS_SCHEMA,
    Edge,
    Node,
    Variable,
    Workflow,
    parse_retry_policy,
)
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.protocol.workflow.orchestration import check_orchestrators
from weftwork.protocol.workflow.plan import check_reads

MAX_EXPRESSIONS: Final = 4_000
MAX_LOOP_ROUNDS: Final = 10_000
"""Upper limit of `settings.maxLoopbackIterations`."""


def parse_workflow(
    document: dict[str, Any], types: Mapping[str, NodeDeclaration], pinned: bool = False
) -> tuple[Workflow | None, list[Violation]]:
    """wf-01 (OpenWOP workflow-definition): the validated workflow, or every violation with its pointer.

    `pinned`: the definition belongs to an existing run. Checks that later versions of the host added do not apply to
    it, so that the run stays executable.
    """
    violations = schema.check("workflow-definition", document)
    if violations:
        return None, violations
    settings = document["settings"]
    node_ids = {node["id"] for node in document["nodes"]}
    # A copy, in which each text is an object of its own, as in a definition that comes from the store.
    own = msgspec.json.decode(encode_recorded(document["nodes"]))
    nodes = _parse_nodes(own, types, min(settings.get("maxRetries", 0), 100), violations, pinned)
    refs = workflow_prompt_refs(document)
    nodes = [node_config.with_prompt_refs(node, types, refs) for node in nodes] if not violations else nodes
    edges = [_parse_edge(index, item, violations) for index, item in enumerate(document["edges"])]
    variables = [_parse_variable(item) for item in document["variables"]]
    channels, channel_violations = parse_channels(document.get("channels", {}))
    violations += channel_violations
    for place, member in (("edges", "id"), ("triggers", "id"), ("variables", "name")):
        violations += _check_unique(place, member, document[place])
    violations += _check_edges(document["edges"], node_ids)
    violations += [*check_interrupt_keys(nodes), *check_orchestrators(nodes)] if not pinned else []
    violations += _check_ports(document["nodes"], node_ids)
    violations += _check_triggers(document["triggers"], node_ids) if not pinned else []
    violations += _check_variables(variables, channels)
    # A config that does not match its schema may have names that cannot be looked up.
    violations += [] if violations else _check_channel_writes(document["nodes"], nodes, channels)
    configurable = document.get("configurableSchema")
    if configurable is not None:
        violations += check_caller_schema(configurable, "/configurableSchema")
    kinds, kind_violations = parse_kinds(document["metadata"])
    violations += kind_violations if not pinned else []
    violations += _check_expression_count(nodes, edges)
    violations += _check_outputs(document, nodes, edges) if not pinned else []
    if violations:
        if not any(each.rule in ("unique", "reference") for each in violations):
            violations += check_reads(nodes, edges)
        return None, violations
    workflow = Workflow(
        id=document["id"],
        version=document["version"],
        digest=digest(document),
        document=document,
        nodes=tuple(nodes),
        edges=tuple(edges),
        variables=tuple(variables),
        timeout_ms=settings.get("timeout", 0),
        channels=channels,
        configurable_schema=configurable,
        max_loopbacks=min(settings.get("maxLoopbackIterations", 5), MAX_LOOP_ROUNDS),
        max_supervised_loopbacks=min(settings.get("maxLoopbackIterations", MAX_LOOP_ROUNDS), MAX_LOOP_ROUNDS),
        log_level=settings.get("logLevel", "debug"),
        envelope_kinds=kinds,
    )
    return workflow, []


def _parse_nodes(
    documents: list[dict[str, Any]],
    types: Mapping[str, NodeDeclaration],
    retries: int,
    violations: list[Violation],
    pinned: bool,
) -> list[Node]:
    nodes: list[Node] = []
    seen: set[str] = set()
    for index, item in enumerate(documents):
        at = f"/nodes/{index}"
        if item["id"] in seen:
            violations.append(Violation(f"{at}/id", "unique", "another node has the same id"))
        seen.add(item["id"])
        if len(item["id"]) > MAX_NODE_ID:
            violations.append(Violation(f"{at}/id", "maxLength", f"must have {MAX_NODE_ID} or fewer characters"))
        declaration = types.get(item["typeId"])
        if declaration is None:
            message = f"this host has no such node type{did_you_mean(item['typeId'], types)}"
            violations.append(Violation(f"{at}/typeId", "known", message))
            # A placeholder, so that the other violations of the node are reported too.
            declaration = NodeDeclaration(item["typeId"], "", config={"type": "object"})
        found = node_config.check_config(declaration, item["config"], f"{at}/config")
        settings: dict[str, Any] = item.get("settings", {})
        in_settings = schema.check_inline(NODE_SETTINGS_SCHEMA, settings, f"{at}/settings") if settings else []
        if in_settings and pinned:
            settings, in_settings = {}, []
        declared = item.get("envelopeContract")
        contract, in_contract = parse_contract(declared, f"{at}/envelopeContract") if declared else (OPEN_CONTRACT, [])
        found += [*in_settings, *(in_contract if not pinned else ())]
        violations += found
        formulas = (
            node_config.parse_config(declaration, types, item["config"], f"{at}/config", violations)
            if not found
            else {}
        )
        ports = {
            name: node_config.parse_port(port, f"{at}/inputs/{printable_token(name)}", violations)
            # Sorted, so that the order of members does not decide which of two errors a run reports.
            for name, port in sorted(item["inputs"].items())
        }
        hidden = frozenset(name for name, hides in item.get("outputSensitivity", {}).items() if hides)
        if hidden & {*declaration.equal_outputs}:
            hidden |= {*declaration.equal_outputs}
        external = declaration.external_content
        if not found:
            external = node_config.has_external_content(declaration, types, item["config"])
        nodes.append(
            Node(
                id=item["id"],
                declaration=declaration,
                config=item["config"],
                ports=ports,
                disabled=item.get("disabled", False),
                is_primary=item.get("outputRole") == "primary",
                sensitive_outputs=hidden,
                retry=parse_retry_policy(settings, retries),
                timeout_ms=settings.get("timeoutMs", 0),
                agent=item.get("agent"),
                config_expressions={key: formula for key, (formula, _) in formulas.items()},
                has_expression_ports=any(port.expression is not None for port in ports.values()),
                output_reads=tuple(node_config.output_reads(ports, formulas)),
                external_content=external,
                contract=contract,
                model_needs=node_config.model_needs(declaration, types, item["config"]) if not found else None,
            )
        )
    return nodes


def _parse_edge(index: int, item: dict[str, Any], violations: list[Violation]) -> Edge:
    condition = item.get("condition")
    return Edge(
        id=item["id"],
        source=item["sourceNodeId"],
        target=item["targetNodeId"],
        source_output=item.get("sourceOutput", "output"),
        target_input=item.get("targetInput", "input"),
        trigger_rule=item.get("triggerRule", "all_success"),
        condition=node_config.parse_condition(condition, f"/edges/{index}/condition", violations)
        if condition
        else None,
    )


def _parse_variable(item: dict[str, Any]) -> Variable:
    return Variable(
        name=item["name"],
        type=item["type"],
        required=item.get("required", False),
        sensitive=item.get("sensitive", False),
        has_default="defaultValue" in item,
        default=item.get("defaultValue"),
    )


def _check_unique(place: str, member: str, documents: list[dict[str, Any]]) -> list[Violation]:
    """wf-02 (OpenWOP workflow-definition): ids and names are unique within their list."""
    violations: list[Violation] = []
    seen: set[str] = set()
    for index, item in enumerate(documents):
        if item[member] in seen:
            text = f"another entry of {place} has the same {member}"
            violations.append(Violation(f"/{place}/{index}/{member}", "unique", text))
        seen.add(item[member])
    return violations


def _check_edges(documents: list[dict[str, Any]], node_ids: set[str]) -> list[Violation]:
    """wf-02 (OpenWOP workflow-definition): edges connect existing nodes."""
    return [
        Violation(f"/edges/{index}/{end}", "reference", "no node has this id")
        for index, item in enumerate(documents)
        for end in ("sourceNodeId", "targetNodeId")
        if item[end] not in node_ids
    ]


def _check_ports(documents: list[dict[str, Any]], node_ids: set[str]) -> list[Violation]:
    """wf-03 (OpenWOP workflow-definition): inputs of type `connection` refer to existing nodes."""
    return [
        Violation(f"/nodes/{index}/inputs/{printable_token(name)}/nodeId", "reference", "no node has this id")
        for index, node in enumerate(documents)
        for name, port in node["inputs"].items()
        if port["type"] == "connection" and port["nodeId"] not in node_ids
    ]


def _check_expression_count(nodes: list[Node], edges: list[Edge]) -> list[Violation]:
    """lim-11 (host): a limit on the number of expressions, because they are all parsed at registration."""
    count = sum(
        len(node.config_expressions) + sum(port.expression is not None for port in node.ports.values())
        for node in nodes
    )
    count += sum(edge.condition is not None for edge in edges)
    text = f"a workflow may have at most {MAX_EXPRESSIONS:,} expressions and conditions"
    return [Violation("/nodes", "expressions", text)] if count > MAX_EXPRESSIONS else []


def _check_outputs(document: dict[str, Any], nodes: list[Node], edges: list[Edge]) -> list[Violation]:
    """wf-18 (host): a referenced output exists, for node types whose schema of outputs is closed."""
    outputs = {
        node.id: set(node.declaration.outputs.get("properties", ()))
        for node in nodes
        if node.declaration.outputs.get("additionalProperties") is False
    }
    references: list[tuple[str, str, str]] = []
    for index, (item, edge) in enumerate(zip(document["edges"], edges, strict=True)):
        if "sourceOutput" in item and edge.source_output != "output":
            references.append((f"/edges/{index}/sourceOutput", edge.source, edge.source_output))
    for index, item in enumerate(document["nodes"]):
        for name, port in item["inputs"].items():
            if port["type"] == "connection":
                references.append(
                    (f"/nodes/{index}/inputs/{printable_token(name)}/outputKey", port["nodeId"], port["outputKey"])
                )
        for name in item.get("outputSensitivity", ()):
            references.append((f"/nodes/{index}/outputSensitivity/{printable_token(name)}", item["id"], name))
    return [
        Violation(
            at, "output", f"the node has no such output; it has {', '.join(sorted(outputs[node_id])) or 'no outputs'}"
        )
        for at, node_id, output in references
        if node_id in outputs and output not in outputs[node_id]
    ]


def _check_triggers(documents: list[dict[str, Any]], node_ids: set[str]) -> list[Violation]:
    """wf-02 (OpenWOP workflow-definition): triggers refer to existing nodes."""
    return [
        Violation(f"/triggers/{index}/nodeId", "reference", "no node has this id")
        for index, item in enumerate(documents)
        if "nodeId" in item and item["nodeId"] not in node_ids
    ]


def _check_variables(variables: list[Variable], channels: Mapping[str, Any]) -> list[Violation]:
    violations: list[Violation] = []
    for index, variable in enumerate(variables):
        if variable.name in channels:
            text = "a channel has the same name; rename one of them"
            violations.append(Violation(f"/variables/{index}/name", "unique", text))
        if variable.has_default and not has_type(variable.default, variable.type):
            violations.append(Violation(f"/variables/{index}/defaultValue", "type", f"must be of type {variable.type}"))
    return violations


def _check_channel_writes(
    documents: list[dict[str, Any]], nodes: list[Node], channels: Mapping[str, Any]
) -> list[Violation]:
    """wf-17 (OpenWOP channels): no node writes a declared channel as a variable or with another reducer."""
    at = {item["id"]: f"/nodes/{index}/config" for index, item in enumerate(documents)}
    violations: list[Violation] = []
    for node in nodes:
        violations += [
            Violation(f"{at[node.id]}{pointer}", "reference", "is a channel; write it with core.channelWrite")
            for pointer, name in node_config.variables_written(node)
            if name in channels
        ]
        channel = channels.get(node.writes_channel or "")
        if channel is not None and node.config.get("reducer", channel.reducer) != channel.reducer:
            pointer = f"{at[node.id]}/reducer"
            violations.append(Violation(pointer, "reference", f"must be {channel.reducer}, as the channel declares"))
    return violations


def check_interrupt_keys(nodes: Sequence[Node]) -> list[Violation]:
    """int-20 (OpenWOP interrupt): nodes with the same interrupt key share one answer, so their type and config must be
    equal."""
    # The interrupt of a node without a key in its config has the node's id as its key.
    first: dict[str, Node] = {node.id: node for node in nodes}
    violations: list[Violation] = []
    for index, node in enumerate(nodes):
        other = first.setdefault(node.interrupt_key, node) if isinstance(node.interrupt_key, str) else node
        if (other.declaration.type_id, other.config) != (node.declaration.type_id, node.config):
            text = f"is the interrupt key of the node {other.id}, which has another config; use a different key"
            violations.append(
                Violation(f"/nodes/{index}/config/{node.declaration.interrupt_key_member}", "unique", text)
            )
    return violations
