"""Trust flow: how content from outside spreads through a run, value by value. Called by the fold, and by readers of it.

Theory. A node is untrusted from the moment that something untrusted reaches it: as an input, by an expression of its
config, as an answer, from a child run, or by itself. All it makes from then on is untrusted, and stays so wherever it
is read, also in a later round of a loop. Which way a run takes is no value: a condition over untrusted content makes
nothing untrusted. Source: RFC 0143.
"""

from weftwork.protocol.dataflow import arriving_untrusted, untrusted_inputs
from weftwork.protocol.events import Fact
from weftwork.protocol.mapping import formulas_of, variables_read
from weftwork.protocol.scope import reads_untrusted
from weftwork.protocol.state import RunState
from weftwork.protocol.untrusted import Untrusted
from weftwork.protocol.view import GIVEN


def receive(state: RunState, fact: Fact) -> None:
    """trust-03 (RFC 0143): an untrusted fact makes its node untrusted, and what it writes. Before it is folded."""
    known = state.untrusted
    if known is None:
        known = state.untrusted = Untrusted()
    node_id, payload = fact.node_id or "", fact.payload
    node = state.nodes.get(node_id)
    if node is not None:
        node.untrusted = True
    if fact.type == "variable.changed":
        stamp = GIVEN if node is None else (node.epoch, state.plan.nodes[node_id].index, node_id)
        known.variables.setdefault(payload["name"], set()).add(stamp)
    elif fact.type == "interrupt.resolved":
        known.answers.add(state.interrupts[payload["interruptId"]].key)


def begin(state: RunState) -> None:
    """trust-05 (RFC 0143): a child run begins with what its parent gave it, as it was there."""
    parent = state.header.parent
    if parent is not None and parent.untrusted:
        names = frozenset(parent.untrusted)
        state.untrusted = Untrusted({name: {GIVEN} for name in names}, inputs=names)


def is_reached(state: RunState, node_id: str) -> bool:
    """trust-02 (RFC 0143): whether a node that starts is given content from outside, or fetches some."""
    node, known = state.plan.nodes[node_id].node, state.untrusted
    if node.outside:
        if known is None:
            state.untrusted = Untrusted()
        return True
    if known is None:
        return False
    here = state.nodes[node_id]
    return (
        bool(untrusted_inputs(state, node_id))
        or (node.declaration.gathering and arriving_untrusted(state, node_id))
        or any(reads_untrusted(state, node_id, read) for read in formulas_of(node))
        or any(known.is_variable(here.view, name) for name in variables_read(node))
        or node.shared_key in known.answers
        or (here.decided is not None and here.decided.untrusted)
    )
