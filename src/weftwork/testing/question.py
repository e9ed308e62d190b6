"""The interrupts of a run as a test sees them, and the test's answers to them."""

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
"""The prefix of every redaction marker."""


class _Timeout:
    def __repr__(self) -> str:
        return "TIMEOUT"


TIMEOUT: Final = _Timeout()
"""An answer that leaves the interrupt open: the clock advances until its timeout."""


class Question(msgspec.Struct, frozen=True):
    """An interrupt of a run. `key` is its key on the wire, `name` the name that the node gave it."""

    node_id: str
    key: str
    name: str
    kind: str
    """The custom kind, if there is one. `weftwork.effect-unknown` asks for the outcome of a step or a node."""
    data: Any
    performed: Performed | None = None
    """For an effect of unknown outcome: the recorded call, if the kit saw one."""
    is_masked: bool = False
    """Whether the name of the step or item is redacted, so that the kit cannot find its call."""
    interrupt_id: str = ""
    status: str = "open"
    """open, resolved, cancelled, or closed if the run ended without an answer."""
    resume_schema: dict[str, Any] | None = None
    due_at: str | None = None
    """When the interrupt times out (ISO 8601), if it has a timeout."""
    votes: dict[str, str] = {}
    """The votes of an approval by several people: the action of each voter."""

    @property
    def is_about_an_effect(self) -> bool:
        return self.kind == UNKNOWN_OUTCOME_KIND


def find_out(question: Question) -> dict[str, Any]:
    """The answer to an interrupt about an effect of unknown outcome, from the calls that the kit recorded.

    Raises Unmet for any other interrupt, and if the kit cannot know the outcome.
    """
    performed = question.performed
    if not question.is_about_an_effect:
        raise Unmet(f"find_out answers only interrupts about an effect of unknown outcome, not {question.key}")
    if question.is_masked:
        raise Unmet(
            f"the interrupt {question.key} is about a step whose name is redacted, so the kit cannot find its call: "
            f"pass answers={{{UNKNOWN_OUTCOME_KIND!r}: function}}"
        )
    if performed is None or performed.came_to == "not done":
        return {"outcome": "again"}
    if performed.came_to == "under way":
        what = (
            f"the step {performed.step} of {performed.node_id}" if performed.step else f"the node {performed.node_id}"
        )
        raise Unmet(
            f"{what} was running when the process died, and only the test can know its outcome: "
            f"pass answers={{{UNKNOWN_OUTCOME_KIND!r}: function}}"
        )
    return {"outcome": "done", "output": performed.output} if performed.came_to == "done" else {"outcome": "failed"}


def open_questions(rows: Iterable[StateRow], calls: PerformedCalls, run: RunHeader) -> list[Question]:
    return [_question(row, calls, run) for row in _interrupts(rows) if row["status"] == "open"]


def all_questions(
    events: Iterable[Event], rows: Iterable[StateRow], calls: PerformedCalls, run: RunHeader
) -> list[Question]:
    """All interrupts of the run in order. Their data comes from the log, their status from the stored rows."""
    states = {row["interruptId"]: row for row in _interrupts(rows)}
    return [
        _question({**states[event.interrupt_id], **_request_fields(event)}, calls, run)
        for event in events
        if event.type == "interrupt.requested"
    ]


def _interrupts(rows: Iterable[StateRow]) -> list[dict[str, Any]]:
    return [msgspec.json.decode(row.value) for row in rows if row.kind == "interrupt"]


def _request_fields(event: Event) -> dict[str, Any]:
    payload: dict[str, Any] = msgspec.json.decode(event.payload)
    due = {"dueAt": iso(event.timestamp + payload["timeoutMs"])} if "timeoutMs" in payload else {}
    return {**payload, **due}


def _question(row: dict[str, Any], calls: PerformedCalls, run: RunHeader) -> Question:
    data: dict[str, Any] = row.get("data") or {}
    node_id, key = row["nodeId"], row["key"]
    votes = {each["voter"]: each["action"] for each in row.get("votes", ())}
    state = (row["interruptId"], row["status"], row.get("resumeSchema"), row.get("dueAt"), votes)
    if data.get("customKind") != UNKNOWN_OUTCOME_KIND:
        is_node_key = key.startswith(f"{node_id}:")
        name = key.removeprefix(f"{node_id}:").partition(":")[2] if is_node_key else key
        kind, content = (data["customKind"], data.get("payload")) if "customKind" in data else (row["kind"], data)
        return Question(node_id, key, name, kind, content, None, False, *state)
    effect: dict[str, Any] = data["payload"]
    visit = int(key.split(":")[2])
    acting_node = f"{node_id}[{effect['item']}]" if "item" in effect else node_id
    provider = f"step:{effect['step']}" if "step" in effect else "node"
    performed = calls.latest(effect_key(run.owner.tenant, run.run_id, acting_node, visit, provider))
    # The key of a redacted name is not the key of the real step, so `latest` could find another step's call.
    is_masked = MASK_PREFIX in effect.get("step", "") or MASK_PREFIX in effect.get("item", "")
    return Question(node_id, key, effect.get("step", ""), UNKNOWN_OUTCOME_KIND, effect, performed, is_masked, *state)


def has_answer(question: Question, answers: Mapping[str, Any], answer_count: int) -> bool:
    """Whether the test has another answer after the `answer_count` answers that were already sent."""
    entry = _find_answer(question, answers)
    return entry is not msgspec.UNSET and (callable(entry) or answer_count < len(_answers_in_order(question, entry)))


def answer_to(question: Question, answers: Mapping[str, Any], answer_count: int) -> Any:
    """The test's next answer, looked up by key, name, kind or node, in this order. A function is called with the
    question.

    Raises Unmet for the answer TIMEOUT to an interrupt without a timeout.
    """
    entry = _find_answer(question, answers)
    answer = entry(question) if callable(entry) else _answers_in_order(question, entry)[answer_count]
    if answer is TIMEOUT and question.due_at is None:
        raise Unmet(f"the interrupt {question.key} has no timeout, so TIMEOUT would never end: pass another answer")
    return answer


def _find_answer(question: Question, answers: Mapping[str, Any]) -> Any:
    # An answer by node id is meant for the author's interrupts, not for those about effects of unknown outcome.
    by_node = () if question.is_about_an_effect else (question.node_id,)
    names = (question.key, question.name, question.kind, *by_node)
    return next((answers[name] for name in names if name in answers), msgspec.UNSET)


def _answers_in_order(question: Question, entry: Any) -> list[Any]:
    """The answers of an entry: a list for an approval by several people, otherwise one."""
    return entry if question.kind == "approval" and is_array(entry) else [entry]
