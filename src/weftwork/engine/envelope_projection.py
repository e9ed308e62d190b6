"""What a run would record for an outcome: the events of the gate, and what the node around it then does. Pure."""

from weftwork.engine.answering import question
from weftwork.engine.decision import error
from weftwork.engine.entries import ending
from weftwork.protocol.envelope.contract import Contract
from weftwork.protocol.envelope.handling import Judged, caused, failure_of, projected
from weftwork.protocol.envelope.kind import CLARIFICATION
from weftwork.protocol.envelope.lift import lifted
from weftwork.protocol.envelope.outcome import Accepted
from weftwork.protocol.events import Draft
from weftwork.protocol.interrupt import interrupt_id


def would_record(judged: Judged, contract: Contract, asked_before: int) -> tuple[Draft, ...]:
    """env-32 (RFC 0021, projection): the record, what its handler adds, and the question or the failure that follows.

    `asked_before` is how many questions the node has asked.
    """
    outcome, node_id = judged.outcome, judged.node_id
    more: tuple[Draft, ...] = ()
    if isinstance(outcome, Accepted) and judged.type == CLARIFICATION:
        more = question(node_id, interrupt_id(node_id, asked_before + 1), lifted(outcome))
    elif (failure := failure_of(outcome)) is not None:
        more = (ending("node.failed", node_id, error=error(failure.code, failure.message, failure.details)),)
    return (*projected(judged, contract), *caused(more, judged.correlation_id, outcome.content_trust))
