"""Questions that a run asks, and the answers that a test has for them."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from weftwork.ports.eventlog import StateRow
from weftwork.protocol.effect import UNKNOWN, effect_key
from weftwork.protocol.redaction import mask
from weftwork.testing.unmet import Unmet
from weftwork.testing.watched import Performed, Seen

MASK: Final = mask("").removesuffix("]")
"""How every marker of something hidden begins."""


class Question(msgspec.Struct, frozen=True):
    """A question that is open. `key` is the one on the wire, `name` the one that the node gave to `ctx.interrupt`."""

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

    @property
    def is_about_an_effect(self) -> bool:
        return self.kind == UNKNOWN


def find_out(question: Question) -> dict[str, Any]:
    """The answer of somebody who looks at the world and finds out what happened. For effects of unknown outcome."""
    performed = question.performed
    if not question.is_about_an_effect:
        raise Unmet(f"only questions about an effect can be found out, and {question.key} is none")
    if question.is_masked:
        raise Unmet(
            f"the question {question.key} is about something whose name holds a sensitive value, and only the test can "
            f"know what: give answers={{{UNKNOWN!r}: function}}"
        )
    if performed is None or performed.came_to == "not done":
        return {"outcome": "again"}
    if performed.came_to == "under way":
        what = (
            f"the step {performed.step} of {performed.node_id}" if performed.step else f"the node {performed.node_id}"
        )
        raise Unmet(
            f"{what} was under way when the process died, and only the test can know how far it came: "
            f"give answers={{{UNKNOWN!r}: function}}"
        )
    return {"outcome": "done", "output": performed.output} if performed.came_to == "done" else {"outcome": "failed"}


def open_questions(rows: tuple[StateRow, ...], seen: Seen, tenant: str, run_id: str) -> list[Question]:
    """What the run waits for."""
    found = [msgspec.json.decode(row.value) for row in rows if row.kind == "interrupt"]
    return [_question(row, seen, tenant, run_id) for row in found if row["status"] == "open"]


def _question(row: dict[str, Any], seen: Seen, tenant: str, run_id: str) -> Question:
    data: dict[str, Any] = row.get("data") or {}
    node_id, key = row["nodeId"], row["key"]
    if data.get("customKind") != UNKNOWN:
        own = key.startswith(f"{node_id}:")
        name = key.removeprefix(f"{node_id}:").partition(":")[2] if own else key
        custom = "customKind" in data
        return Question(
            node_id, key, name, data.get("customKind", row["kind"]), data.get("payload") if custom else data
        )
    about: dict[str, Any] = data["payload"]
    visit = int(key.split(":")[2])
    acting = f"{node_id}[{about['item']}]" if "item" in about else node_id
    provider = f"step:{about['step']}" if "step" in about else "node"
    performed = seen.newest(effect_key(tenant, run_id, acting, visit, provider))
    # Nobody sees the name of a step that holds something sensitive, and another step may be found in its place.
    is_masked = MASK in about.get("step", "") or MASK in about.get("item", "")
    return Question(node_id, key, about.get("step", ""), UNKNOWN, about, performed, is_masked)


def has_answer(question: Question, answers: Mapping[str, Any]) -> bool:
    """Whether the test has an answer."""
    return any(name in answers for name in _names(question))


def answer_to(question: Question, answers: Mapping[str, Any]) -> Any:
    """The answer that the test has, by key, name, kind or node, in this order. A function makes it."""
    found = answers[next(name for name in _names(question) if name in answers)]
    return found(question) if callable(found) else found


def _names(question: Question) -> tuple[str, ...]:
    # An answer for a node is meant for what its author asks.
    by_node = () if question.is_about_an_effect else (question.node_id,)
    return question.key, question.name, question.kind, *by_node
