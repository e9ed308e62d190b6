"""The results of a run under test."""

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
    """The error of a run, node or step, as clients of the host see it."""

    code: str
    message: str
    details: dict[str, Any] | None = None


class StepResult(msgspec.Struct, frozen=True):
    """The recorded result of a step."""

    output: Any = None
    error: Failure | None = None


class LogLine(msgspec.Struct, frozen=True):
    level: str
    message: str
    fields: dict[str, Any]


class Emitted(msgspec.Struct, frozen=True):
    """An event with a type of the workflow's author."""

    type: str
    payload: dict[str, Any]


class RunEvent(msgspec.Struct, frozen=True):
    """An event of the run's log."""

    type: str
    payload: dict[str, Any]
    node_id: str | None
    time: str


class NodeResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a node. `status` is completed, failed, suspended, skipped or cancelled."""

    status: str
    outputs: dict[str, Any] = {}
    error: Failure | None = None
    attempts: int = 0
    steps: dict[str, StepResult] = {}
    """Results by step name; a step for an item of a map is `name[index]`."""
    logs: list[LogLine] = []
    emitted: list[Emitted] = []
    media: list[Shown] = []
    events: list[RunEvent] = []
    question: Question | None = None
    """The open interrupt, if the node waits for an answer."""
    asked: list[Question] = []
    """All interrupts of the node, in order."""
    performed: list[Performed] = []
    """All calls of the node and of its steps that really happened, in order."""
    requests: list[OutboundRequest] = []
    """All requests that the run sent through `ctx.fetch`."""

    def times(self, step: str = "") -> int:
        """The number of calls of a step function that really happened; without a name, of the node itself."""
        return sum(each.step == step for each in self.performed)

    @property
    def raised(self) -> BaseException | None:
        """The last exception of the node or a step. A host shows it only in its own log."""
        exceptions = [each.raised for each in self.performed if each.raised is not None]
        return exceptions[-1] if exceptions else None


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run. `status` is completed, failed or cancelled, or begins with `waiting-` if the run waits for
    an answer."""

    status: str
    outputs: dict[str, Any]
    """Outputs by node and port."""
    error: Failure | None
    variables: dict[str, Any]
    nodes: dict[str, NodeResult]
    events: list[RunEvent]
    media: list[Shown]
    """All media that the run emitted, in order."""
    questions: list[Question]
    """The open interrupts."""
    asked: list[Question]
    """All interrupts of the run, in order."""
    requests: list[OutboundRequest]
    performed: list[Performed]
    lives: int
    """The number of processes: one more than the number of crashes."""
    commits: int
    elapsed_ms: int
    """Time from the creation to the last event, by the manual clock."""
    faults: tuple[Fault, ...] = ()
    """The faults that happened."""

    @property
    def kinds(self) -> list[str]:
        return [event.type for event in self.events]

    def times(self, node_id: str, step: str = "") -> int:
        """The number of calls of a step function of this node that really happened; without a name, of the node
        itself."""
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
    """The result of one node, from its entry in the snapshot and the events of the log."""
    node_events = [event for event in events if event.node_id == node_id]
    completions = [event.payload for event in node_events if event.type == "node.completed"]
    recorded = [event.payload for event in node_events if event.type == EFFECT_RECORDED]
    questions = [each for each in asked if each.node_id == node_id]
    log_lines = [event.payload for event in node_events if event.type == "log.appended"]
    return NodeResult(
        status=state["status"],
        outputs=completions[-1]["outputs"] if completions and state["status"] == "completed" else {},
        error=failure(state.get("error")),
        attempts=state.get("attempt", 0),
        steps={
            _step_name(each): StepResult(each.get("output"), failure(each.get("error")))
            for each in recorded
            if "step" in each and ("output" in each or "error" in each)
        },
        logs=[LogLine(each["level"], each["message"], each.get("fields", {})) for each in log_lines],
        emitted=[Emitted(event.type, event.payload) for event in node_events if is_author_event_type(event.type)],
        media=[each for each in media if each.node_id == node_id],
        events=node_events,
        question=next((each for each in questions if each.status == "open"), None),
        asked=questions,
        performed=[each for each in performed if f"{each.node_id}[".startswith(f"{node_id}[")],
        requests=requests,
    )


def _step_name(recorded: dict[str, Any]) -> str:
    return f"{recorded['step']}[{recorded['item']}]" if "item" in recorded else recorded["step"]


async def _shown_media(scenario: Scenario, event: RunEvent) -> Shown:
    payload = event.payload
    digest = shown_digest(payload)
    data = inline_data(payload) if digest is None else await scenario.read(digest)
    return Shown(event.type.removeprefix(MEDIA_EVENT_PREFIX), payload, data or b"", event.node_id)


async def run_result(scenario: Scenario) -> RunResult:
    stored = await scenario.stored()
    assert stored is not None, "the scenario must have created a run"
    host = scenario.host
    # A snapshot contains raw JSON from the store; encoding and decoding it gives plain values.
    snapshot: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(run_snapshot(stored)))
    logged = await scenario.events()
    events = [
        RunEvent(event.type, msgspec.json.decode(event.payload), event.node_id, iso(event.timestamp))
        for event in logged
    ]
    media = [await _shown_media(scenario, event) for event in events if event.type in MEDIA_KINDS]
    asked = all_questions(logged, stored.rows, host.calls, stored.header)
    completions = [event.payload for event in events if event.type == "run.completed"]
    performed, requests = host.calls.performed, host.outbound.requests
    states: dict[str, Any] = snapshot.get("nodeStates", {})
    return RunResult(
        status=snapshot["status"],
        outputs=completions[0]["outputs"] if completions else {},
        error=failure(snapshot.get("error")),
        variables=snapshot.get("variables", {}),
        nodes={
            node_id: node_result(node_id, state, events, asked, performed, requests, media)
            for node_id, state in states.items()
        },
        events=events,
        media=media,
        questions=scenario.questions,
        asked=asked,
        requests=requests,
        performed=performed,
        lives=host.calls.process_number,
        commits=host.faults.commits,
        elapsed_ms=logged[-1].timestamp - stored.header.created_at if logged else 0,
        faults=host.faults.fired,
    )
