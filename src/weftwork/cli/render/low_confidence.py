"""Questions about a decision that somebody is not sure of: a person lets it pass, or not."""

import json
from typing import Any, Final

from weftwork.cli.console.documents import as_object
from weftwork.cli.render.schema_text import SchemaText, schema_problems
from weftwork.protocol.json.values import is_array, is_object

KIND: Final = "low-confidence"
ACTIONS: Final = ("accept", "reject")
ACCEPT: Final[dict[str, Any]] = {"action": "accept"}
_MAX_SHORT: Final = 200
_SUMMARIZED_MEMBERS: Final = ("agentId", "threshold", "observed")


def summarize(question: dict[str, Any]) -> str:
    """Who wants what, and how sure it is; nothing for other questions. Not made safe to print."""
    data = question.get("data")
    if question.get("kind") != KIND or not is_object(data):
        return ""
    # Imported late: it loads the rules of definitions, which few commands need.
    from weftwork.protocol.workflow.orchestration import HOST_SUPERVISOR

    agent, least, observed = (data.get(name) for name in ("agentId", "threshold", "observed"))
    if not isinstance(agent, str) or not _is_number(least) or not _is_number(observed):
        return ""
    who = "The supervisor" if agent == HOST_SUPERVISOR else f"The agent {agent}"
    if "decision" not in data:
        return f"{who} is {observed:g} sure of a decision; {least:g} is asked for"
    return f"{who} {_decision_text(data['decision'])}; it is {observed:g} sure, {least:g} is asked for"


def remaining_data(data: dict[str, Any]) -> dict[str, Any]:
    """The members that no sentence says, or not in full."""
    return {name: value for name, value in data.items() if name not in _SUMMARIZED_MEMBERS}


def accepts_actions(question: dict[str, Any]) -> bool:
    """Whether accept and reject are answers by the question's own schema. One without a schema does not say."""
    schema = question.get("resumeSchema")
    if question.get("kind") != KIND or not is_object(schema) or not schema:
        return False
    return not any(schema_problems(schema, {"action": action}) for action in ACTIONS)


def example(question: dict[str, Any]) -> Any:
    """An answer that lets the decision pass: by its name, or the decision itself where no schema says more."""
    data, schema = question.get("data"), question.get("resumeSchema")
    if accepts_actions(question):
        return ACCEPT
    if is_object(schema) and schema:
        return SchemaText(schema).sample()
    known = is_object(data) and "decision" in data and "[REDACTED:" not in json.dumps(data["decision"])
    return data["decision"] if known and is_object(data) else ACCEPT


def _decision_text(decision: Any) -> str:
    known = as_object(decision)
    match known:
        case {"kind": "next-worker", "nextWorkerIds": workers} if is_array(workers):
            return f"wants to run {', '.join(map(str, workers))}"
        case {"kind": "ask-user", "prompt": str(prompt)}:
            return f"wants to ask: {prompt}"
        case {"kind": "terminate"}:
            reason = known.get("reason")
            return "wants to end the work" + (f" ({reason})" if isinstance(reason, str) else "")
        case _:
            text = json.dumps(decision, ensure_ascii=False)
            return f"decides {text if len(text) <= _MAX_SHORT else text[:_MAX_SHORT] + '…'}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
