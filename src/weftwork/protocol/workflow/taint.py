"""Taint analysis: which nodes, variables and channels can contain sensitive values, derived from the definition alone.

If a sensitive value can reach a node, all its outputs and the variables and channels that it writes are hidden. They
taint in turn every node that reads them, including earlier nodes of a loop. An answer that several nodes share under
one interrupt key taints all of them. The analysis visits each tainted node once.

Source: readings (What the log may hide).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from weftwork.protocol.expressions.syntax_tree import References
from weftwork.protocol.privacy.credential_patterns import find_credentials
from weftwork.protocol.workflow.definition import Edge, Node, Workflow
from weftwork.protocol.workflow.node_config import config_references, variables_read, variables_written


class Taint(msgspec.Struct, frozen=True):
    """What must be hidden: variables and channels by name, and nodes with all their outputs."""

    variables: frozenset[str]
    channels: frozenset[str]
    nodes: frozenset[str]
    has_sensitive_data: bool
    """Whether the workflow has anything to hide, including single outputs of nodes that are not tainted."""
    has_credentials: bool = False
    """Whether the default value of a variable looks like a credential."""


def find_taint(workflow: Workflow, edges: Mapping[str, Sequence[Edge]]) -> Taint:
    """hide-03 (readings, What the log may hide): everything that sensitive values can reach.

    `edges` holds the incoming edges of each node, back-edges included.
    """
    variables = {variable.name for variable in workflow.variables if variable.sensitive}
    channels = {name for name, channel in workflow.channels.items() if channel.sensitive}
    declared = any(node.sensitive_outputs for node in workflow.nodes)
    has_credentials = any(True for each in workflow.variables for _ in find_credentials(each.default))
    if not (variables or channels or declared):
        return Taint(frozenset(), frozenset(), frozenset(), False, has_credentials)
    flow = _DataFlowIndex(workflow, edges, frozenset(variables))
    tainted = {node.id for node in workflow.nodes if flow.is_source(node)}
    rest = list(tainted)
    while rest:
        node = flow.nodes[rest.pop()]
        reached = list(flow.readers[node.id])
        for _, written in variables_written(node):
            if written not in variables:
                variables.add(written)
                reached += [*flow.variable_readers[written], *flow.any_readers]
        if node.interrupt_key is not None:
            reached += flow.interrupt_key_users[node.interrupt_key]
        for node_id in reached:
            if node_id not in tainted:
                tainted.add(node_id)
                rest.append(node_id)
    channels |= {name for node_id in tainted if (name := flow.nodes[node_id].writes_channel) is not None}
    return Taint(frozenset(variables), frozenset(channels), frozenset(tainted), True, has_credentials)


class _DataFlowIndex:
    def __init__(self, workflow: Workflow, edges: Mapping[str, Sequence[Edge]], sensitive: frozenset[str]) -> None:
        self.nodes = {node.id: node for node in workflow.nodes}
        self._edges = edges
        self._sensitive = sensitive
        self.readers: defaultdict[str, set[str]] = defaultdict(set)
        """Node id -> the nodes that read any of its outputs."""
        self.variable_readers: defaultdict[str, set[str]] = defaultdict(set)
        self.any_readers: set[str] = set()
        """Nodes that can read any variable."""
        self.interrupt_key_users: defaultdict[str, set[str]] = defaultdict(set)
        self._hidden_answers = {
            node.interrupt_key for node in workflow.nodes if node.interrupt_key is not None and node.sensitive_outputs
        }
        for node in workflow.nodes:
            for source, _ in self._output_reads(node):
                self.readers[source].add(node.id)
            for name in self._variables(node):
                if name is None:
                    self.any_readers.add(node.id)
                else:
                    self.variable_readers[name].add(node.id)
            if node.interrupt_key is not None:
                self.interrupt_key_users[node.interrupt_key].add(node.id)

    def is_source(self, node: Node) -> bool:
        """Whether this node directly reads a value that is declared sensitive."""
        if any(name in self._sensitive if name is not None else self._sensitive for name in self._variables(node)):
            return True
        if any(self._sensitive if read.inputs is None else read.inputs & self._sensitive for read in _references(node)):
            return True
        if node.interrupt_key in self._hidden_answers:
            return True
        return any(
            (port in self.nodes[source].sensitive_outputs if port is not None else self.nodes[source].sensitive_outputs)
            for source, port in self._output_reads(node)
        )

    def _variables(self, node: Node) -> Iterator[str | None]:
        """The variables that a node reads; None means that it may read any variable."""
        for port in node.ports.values():
            if port.type == "variable":
                yield port.variable
        for read in _references(node):
            if read.variables is None:
                yield None
            else:
                yield from read.variables
        yield from variables_read(node)

    def _output_reads(self, node: Node) -> Iterator[tuple[str, str | None]]:
        """The nodes whose outputs this node reads, each with the output port; None means that it may read any port."""
        for port in node.ports.values():
            if port.type == "connection":
                yield port.node_id, port.output_key
        for read in _references(node):
            yield from ((node_id, None) for node_id in read.nodes if node_id in self.nodes)
        for edge in self._edges[node.id]:
            if node.declaration.gathers_edges or edge.target_input not in node.ports:
                yield edge.source, edge.source_output


def _references(node: Node) -> Iterator[References]:
    for port in node.ports.values():
        if port.expression is not None:
            yield port.expression.references
    yield from config_references(node)
