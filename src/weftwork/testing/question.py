"""Questions that a run asks, and the answers that a test has for them."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from weftwork.protocol.json.values import is_array
from weftwork.protocol.privacy.secret_matcher import redaction_marker
from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND, effect_key
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunHeader
from weftwork.protocol.run.projection import StateRow
from weftwork.protocol.timestamps import iso
from weftwork.testing.call_recorder import Performed, PerformedCalls
from weftwork.testing.errors import Unmet

MASK_PREFIX: Final = redaction_marker("").removesuffix("]")
"""How every marker of something hidden begins."""


class _Timeout:
    def __repr__(self) -> str:
        return "TIMEOUT"


TIMEOUT: Final = _Timeout()
"""The answer of nobody: the clock moves on until the time of the question is up."""


class Question(msgspec.Struct, frozen=True):
    """A question of a run. `key` is the one on the wire, `name` the one that the node gave it."""

    node_id: str
    key: str
    name: str
    kind: str
    """For custom ones the custom kind; `weftwork.effect-unknown` asks what became of a step or a node."""
    data: Any
    performed: Performed | None = None
    """For effects of unknown outcome: what really happened, as far as the kit saw it."""
    is_masked: bool = False
    """Whether the name of what it is about is hidden, so that the kit cannot tell which it is."""
    interrupt_id: str = ""
    status: str = "open"
    """open, resolved, cancelled, or closed when the run ended without an answer."""
    resume_schema: dict[str, Any] | None = None
    due_at: str | None = None
    """When its time is up (ISO 8601), if it has a timeout."""
    votes: dict[str, str] = {}
    """Of an approval by several: who has voted how."""

    @property
    def is_about_an_effect(self) -> bool:
        return self.kind == UNKNOWN_OUTCOME_KIND


def find_out(question: Question) -> dict[str, Any]:
    """The answer of somebody who looks at the world and finds out what happened. For effects of unknown outcome."""
    performed = question.performed
    if not question.is_about_an_effect:
        raise Unmet(f"only questions about an effect can be found out, and {question.key} is none")
    if question.is_masked:
        raise Unmet(
            f"the question {question.key} is about something whose name holds a sensitive value, and only the test can "
            f"know what: give answers={{{UNKNOWN_OUTCOME_KIND!r}: function}}"
        )
    if performed is None or performed.came_to == "not done":
        return {"outcome": "again"}
    if performed.came_to == "under way":
        what = (
            f"the step {performed.step} of {performed.node_id}" if performed.step else f"the node {performed.node_id}"
        )
        raise Unmet(
            f"{what} was under way when the process died, and only the test can know how far it came: "
            f"give answers={{{UNKNOWN_OUTCOME_KIND!r}: function}}"
        )
    return {"outcome": "done", "output": performed.output} if performed.came_to == "done" else {"outcome": "failed"}


def open_questions(rows: Iterable[StateRow], seen: PerformedCalls, run: RunHeader) -> list[Question]:
    return [_question(row, seen, run) for row in _interrupts(rows) if row["status"] == "open"]


def all_questions(
    events: Iterable[Event], rows: Iterable[StateRow], seen: PerformedCalls, run: RunHeader
) -> list[Question]:
    """All that the run has asked, in this order. The log has what it asked, its row what became of it."""
    became = {row["interruptId"]: row for row in _interrupts(rows)}
    return [
        _question({**became[event.interrupt_id], **_request_fields(event)}, seen, run)
        for event in events
        if event.type == "interrupt.requested"
    ]


def _interrupts(rows: Iterable[StateRow]) -> list[dict[str, Any]]:
    return [msgspec.json.decode(row.value) for row in rows if row.kind == "interrupt"]


def _request_fields(event: Event) -> dict[str, Any]:
    payload: dict[str, Any] = msgspec.json.decode(event.payload)
    due = {"dueAt": iso(event.timestamp + payload["timeoutMs"])} if "timeoutMs" in payload else {}
    return {**payload, **due}


def _question(row: dict[str, Any], seen: PerformedCalls, run: RunHeader) -> Question:
    data: dict[str, Any] = row.get("data") or {}
    node_id, key = row["nodeId"], row["key"]
    votes = {each["voter"]: each["action"] for each in row.get("votes", ())}
    state = (row["interruptId"], row["status"], row.get("resumeSchema"), row.get("dueAt"), votes)
    if data.get("customKind") != UNKNOWN_OUTCOME_KIND:
        own = key.startswith(f"{node_id}:")
        name = key.removeprefix(f"{node_id}:").partition(":")[2] if own else key
        kind, said = (data["customKind"], data.get("payload")) if "customKind" in data else (row["kind"], data)
        return Question(node_id, key, name, kind, said, None, False, *state)
    about: dict[str, Any] = data["payload"]
    visit = int(key.split(":")[2])
    acting = f"{node_id}[{about['item']}]" if "item" in about else node_id
    provider = f"step:{about['step']}" if "step" in about else "node"
    performed = seen.latest(effect_key(run.owner.tenant, run.run_id, acting, visit, provider))
    # Nobody sees the name of a step that holds something sensitive, and another step may be found in its place.
    is_masked = MASK_PREFIX in about.get("step", "") or MASK_PREFIX in about.get("item", "")
    return Question(node_id, key, about.get("step", ""), UNKNOWN_OUTCOME_KIND, about, performed, is_masked, *state)


def has_answer(question: Question, answers: Mapping[str, Any], given: int) -> bool:
    """Whether the test has an answer to follow those that it gave already."""
    found = _find_answer(question, answers)
    return found is not msgspec.UNSET and (callable(found) or given < len(_answers_in_order(question, found)))


def answer_to(question: Question, answers: Mapping[str, Any], given: int) -> Any:
    """The answer that the test has, by key, name, kind or node, in this order. A function makes it.

    TIMEOUT if nobody is to answer. Raises Unmet for that if the question would wait for ever.
    """
    found = _find_answer(question, answers)
    answer = found(question) if callable(found) else _answers_in_order(question, found)[given]
    if answer is TIMEOUT and question.due_at is None:
        raise Unmet(f"the question {question.key} has no timeout, so nobody's answer never comes: give it one")
    return answer


def _find_answer(question: Question, answers: Mapping[str, Any]) -> Any:
    # An answer for a node is meant for what its author asks.
    by_node = () if question.is_about_an_effect else (question.node_id,)
    names = (question.key, question.name, question.kind, *by_node)
    return next((answers[name] for name in names if name in answers), msgspec.UNSET)


def _answers_in_order(question: Question, found: Any) -> list[Any]:
    """One answer, or for an approval those of several people."""
    return found if question.kind == "approval" and is_array(found) else [found]
