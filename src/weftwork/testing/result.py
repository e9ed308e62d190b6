"""What a run under test came to."""

from collections.abc import Iterable
from typing import Any

import msgspec

from weftwork.ports.outbound import OutboundRequest
from weftwork.protocol.envelopes.kinds import MEDIA_KINDS
from weftwork.protocol.run.events import EFFECT_RECORDED, is_author_event_type
from weftwork.protocol.run.projection import run_snapshot
from weftwork.protocol.timestamps import iso
from weftwork.testing.call_recorder import Performed
from weftwork.testing.faults import Fault
from weftwork.testing.media import MEDIA_EVENT_PREFIX, Shown, inline_data, shown_digest
from weftwork.testing.question import Question, all_questions
from weftwork.testing.simulated_host import Scenario


class Failure(msgspec.Struct, frozen=True):
    """How something failed, as those see it who look at the run."""

    code: str
    message: str
    details: dict[str, Any] | None = None


class StepResult(msgspec.Struct, frozen=True):
    """What is recorded of a step."""

    output: Any = None
    error: Failure | None = None


class LogLine(msgspec.Struct, frozen=True):
    level: str
    message: str
    fields: dict[str, Any]


class Emitted(msgspec.Struct, frozen=True):
    """An event of the author's own type."""

    type: str
    payload: dict[str, Any]


class RunEvent(msgspec.Struct, frozen=True):
    """An event of the run's log."""

    type: str
    payload: dict[str, Any]
    node_id: str | None
    time: str


class NodeResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a node came to: `status` is completed, failed, suspended, skipped or cancelled."""

    status: str
    outputs: dict[str, Any] = {}
    error: Failure | None = None
    attempts: int = 0
    steps: dict[str, StepResult] = {}
    """By name; those of items of a map as `name[index]`."""
    logs: list[LogLine] = []
    emitted: list[Emitted] = []
    media: list[Shown] = []
    events: list[RunEvent] = []
    question: Question | None = None
    """What it asks, if it waits for an answer."""
    asked: list[Question] = []
    """All that it has asked, in this order."""
    performed: list[Performed] = []
    """Each call of the node and of its steps that really happened, in order."""
    requests: list[OutboundRequest] = []
    """All that left through `ctx.fetch`."""

    def times(self, step: str = "") -> int:
        """How often the function of a step really ran; without a name, the node itself."""
        return sum(each.step == step for each in self.performed)

    @property
    def raised(self) -> BaseException | None:
        """What the node or a step raised last. Nobody but the log of the host and a test gets to see it."""
        found = [each.raised for each in self.performed if each.raised is not None]
        return found[-1] if found else None


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to: `status` is completed, failed or cancelled, or one of waiting- if it waits for an answer."""

    status: str
    outputs: dict[str, Any]
    """By node and port."""
    error: Failure | None
    variables: dict[str, Any]
    nodes: dict[str, NodeResult]
    events: list[RunEvent]
    media: list[Shown]
    """All that it has shown, in this order."""
    questions: list[Question]
    """What nobody answered."""
    asked: list[Question]
    """All that it has asked, in this order."""
    requests: list[OutboundRequest]
    performed: list[Performed]
    lives: int
    """Processes that the run lived through: one more than there were crashes."""
    commits: int
    elapsed_ms: int
    """From its creation to its last event, by the manual clock."""
    faults: tuple[Fault, ...] = ()
    """Those that happened."""

    @property
    def kinds(self) -> list[str]:
        return [event.type for event in self.events]

    def times(self, node_id: str, step: str = "") -> int:
        """How often the function of a step of this node really ran; without a name, the node itself."""
        return sum((each.node_id, each.step) == (node_id, step) for each in self.performed)


def failure(error: dict[str, Any] | None) -> Failure | None:
    return None if error is None else Failure(error["code"], error["message"], error.get("details"))


def node_result(
    node_id: str,
    state: dict[str, Any],
    events: Iterable[RunEvent],
    asked: Iterable[Question],
    performed: Iterable[Performed],
    requests: list[OutboundRequest],
    media: Iterable[Shown] = (),
) -> NodeResult:
    """One node of a run, from its entry in the snapshot and the events of the log."""
    mine = [event for event in events if event.node_id == node_id]
    ended = [event.payload for event in mine if event.type == "node.completed"]
    recorded = [event.payload for event in mine if event.type == EFFECT_RECORDED]
    questions = [each for each in asked if each.node_id == node_id]
    said = [event.payload for event in mine if event.type == "log.appended"]
    return NodeResult(
        status=state["status"],
        outputs=ended[-1]["outputs"] if ended and state["status"] == "completed" else {},
        error=failure(state.get("error")),
        attempts=state.get("attempt", 0),
        steps={
            _step_name(each): StepResult(each.get("output"), failure(each.get("error")))
            for each in recorded
            if "step" in each and ("output" in each or "error" in each)
        },
        logs=[LogLine(each["level"], each["message"], each.get("fields", {})) for each in said],
        emitted=[Emitted(event.type, event.payload) for event in mine if is_author_event_type(event.type)],
        media=[each for each in media if each.node_id == node_id],
        events=mine,
        question=next((each for each in questions if each.status == "open"), None),
        asked=questions,
        performed=[each for each in performed if f"{each.node_id}[".startswith(f"{node_id}[")],
        requests=requests,
    )


def _step_name(recorded: dict[str, Any]) -> str:
    return f"{recorded['step']}[{recorded['item']}]" if "item" in recorded else recorded["step"]


async def _shown_media(story: Scenario, event: RunEvent) -> Shown:
    payload = event.payload
    digest = shown_digest(payload)
    data = inline_data(payload) if digest is None else await story.read(digest)
    return Shown(event.type.removeprefix(MEDIA_EVENT_PREFIX), payload, data or b"", event.node_id)


async def run_result(story: Scenario) -> RunResult:
    stored = await story.stored()
    assert stored is not None, "a story ends with a run"
    world = story.host
    # Decoded, because a snapshot holds parts as the store has them.
    shown: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(run_snapshot(stored)))
    logged = await story.events()
    events = [
        RunEvent(event.type, msgspec.json.decode(event.payload), event.node_id, iso(event.timestamp))
        for event in logged
    ]
    media = [await _shown_media(story, event) for event in events if event.type in MEDIA_KINDS]
    asked = all_questions(logged, stored.rows, world.calls, stored.header)
    ended = [event.payload for event in events if event.type == "run.completed"]
    performed, requests = world.calls.performed, world.outbound.requests
    states: dict[str, Any] = shown.get("nodeStates", {})
    return RunResult(
        status=shown["status"],
        outputs=ended[0]["outputs"] if ended else {},
        error=failure(shown.get("error")),
        variables=shown.get("variables", {}),
        nodes={
            node_id: node_result(node_id, state, events, asked, performed, requests, media)
            for node_id, state in states.items()
        },
        events=events,
        media=media,
        questions=story.questions,
        asked=asked,
        requests=requests,
        performed=performed,
        lives=world.calls.process_number,
        commits=world.faults.commits,
        elapsed_ms=logged[-1].timestamp - stored.header.created_at if logged else 0,
        faults=world.faults.fired,
    )
