"""What an author gets back from a question, whatever became of it."""

from typing import Any

from weftwork.adapters.python.errors import InterruptTimeout
from weftwork.adapters.python.question import MISSING, Question, answered_otherwise
from weftwork.protocol.interrupt import Resolution
from weftwork.protocol.json_value import is_object


def received(asked: Question, resolution: Resolution) -> Any:
    """The answer; a rejection counts as one. Raises InterruptTimeout, or NodeError if it answers something else."""
    if asked.kind == "approval":
        return _decision(asked, resolution)
    if resolution.timed_out:
        if asked.default is MISSING:
            raise InterruptTimeout(asked.key)
        return asked.default
    if asked.member is None:
        return resolution.value
    if not is_object(resolution.value) or asked.member not in resolution.value:
        raise answered_otherwise(asked.key)
    return resolution.value[asked.member]


def _decision(asked: Question, resolution: Resolution) -> dict[str, Any]:
    """An approval always comes to a decision: nobody's, when its time is over, is a rejection."""
    if resolution.timed_out:
        decision: dict[str, Any] = {"action": "reject", "decidedBy": None}
    elif is_object(resolution.value) and "action" in resolution.value:
        decision = {**resolution.value}
    else:
        raise answered_otherwise(asked.key)
    if resolution.reason is not None:
        decision["reason"] = resolution.reason
    if resolution.votes:
        decision["votes"] = {**resolution.votes}
    return decision
