"""What holds of a run that waits for people: at every quiet moment, and once it has ended."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from tests.simulation.interrupts.interrupt_workflows import SECRET
from tests.simulation.random_schedule import check_log
from weftwork.engine.decide.inputs import AnswerReceived
from weftwork.ports.storage.event_log import STORE_RETRY_MS, StoreUnavailable
from weftwork.ports.storage.run_queries import InterruptQuery
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.fold.state import RunState, is_parked
from weftwork.protocol.run.events import INTERRUPT_REMINDER, Fact
from weftwork.protocol.run.projection import StoredRun

if TYPE_CHECKING:
    from tests.simulation.interrupts.interrupt_schedule import InterruptSchedule


@dataclass
class SentAnswer:
    """What somebody said, marked so that it is found again, and what they were told."""

    given: AnswerReceived
    tag: str
    task: "asyncio.Task[Any]"

    @property
    def result(self) -> str:
        """taken, refused, or unknown."""
        task = self.task
        if not task.done() or task.cancelled():
            return "unknown"
        fault = task.exception()
        if fault is None:
            return "refused" if isinstance(task.result(), StoredRun) else "taken"
        if isinstance(fault, ClientFault):
            return "refused"
        assert isinstance(fault, StoreUnavailable), fault
        return "unknown"


def check_unloaded(storm: "InterruptSchedule", state: RunState, due: int | None) -> None:
    """A run that nobody has in memory: somebody will see to it, in time."""
    bench = storm.engine
    coming, now = bench.clock.next_wake, bench.clock.now()
    doubtful = storm.key in bench.executor._retries.runs or storm.key in bench.executor._loads
    assert doubtful or is_parked(state), "a run was left though it could go on"
    if due is not None and not doubtful:
        # Whoever found the store away looks again after a second, by a clock that may be set back meanwhile.
        soonest = max(due, now + STORE_RETRY_MS + storm.clock_rollback_ms) if storm.had_faults else max(due, now)
        assert coming is not None, "nobody wakes a run that will be due"
        assert coming <= soonest, "nobody wakes a run that is due"


async def check_index(storm: "InterruptSchedule", state: RunState) -> None:
    """The list of what is open, over all runs, is the fold."""
    page = await storm.engine.store.queries.list_interrupts(storm.key.partition, InterruptQuery())
    found = {each.interrupt_id: (each.listed.kind, each.listed.node_id, each.listed.due) for each in page.interrupts}
    opened = [each for each in state.interrupts.values() if each.status == "open"]
    assert found == {each.interrupt_id: (each.kind, each.node_id, each.due) for each in opened}
    rows = {each.interrupt_id: msgspec.json.decode(each.row) for each in page.interrupts}
    for each in opened:
        votes = [{"voter": name, "action": action} for name, action in each.votes.items()]
        assert rows[each.interrupt_id].get("votes", []) == votes
        assert rows[each.interrupt_id].get("remindersSent", 0) == each.reminders_sent
    assert not any(SECRET.encode() in each.row for each in page.interrupts), "a list shows what is hidden"


async def check_end(storm: "InterruptSchedule") -> None:
    """Of a run that has ended."""
    events, facts = await storm.engine.events(storm.key), await storm.engine.facts(storm.key)
    stored = await storm.engine.stored_run(storm.key)
    check_log(events)
    for event in events:
        assert SECRET.encode() not in event.document, f"{event.type} shows what is hidden"
    assert not any(SECRET.encode() in row.value for row in stored.rows), "a row shows what is hidden"
    _check_pairs(facts)
    _check_times(facts, storm.has_exact_times)
    _check_sent_answers(storm, facts)
    # fold-01: whatever was committed up to some point can be folded.
    for end in [batch.events[-1].sequence + 1 for batch in storm.history.batches if batch.events]:
        state = await storm.engine.state(storm.key, end)
        assert state.is_terminal == (end == len(events))


def _check_pairs(facts: list[Fact]) -> None:
    asked = Counter(each.payload["interruptId"] for each in facts if each.type == "node.suspended")
    resolved = Counter(each.payload["interruptId"] for each in facts if each.type == "interrupt.resolved")
    assert all(count == 1 for count in (*asked.values(), *resolved.values())), (asked, resolved)
    requested = sum(each.type == "interrupt.requested" for each in facts)
    left = requested - sum(resolved.values())
    cancelled = sum(each.type == "node.cancelled" for each in facts)
    assert 0 <= left <= cancelled, "a question was left open by a run that went on"
    assert facts[-1].type != "run.completed" or left == 0


def _check_times(facts: list[Fact], exact: bool) -> None:
    """Nothing strikes early, and if no clock was moved by hand nothing strikes late."""
    asked: dict[str, tuple[Fact, list[int]]] = {}
    last: Fact | None = None
    for each in facts:
        if each.type == "interrupt.requested":
            last = each
        elif each.type == "node.suspended":
            assert last is not None
            asked[each.payload["interruptId"]] = last, each.payload.get("remindAfterMs", [])
        elif each.type == INTERRUPT_REMINDER:
            question, after = asked[each.payload["interruptId"]]
            late = each.timestamp - question.timestamp - after[each.payload["number"] - 1]
            assert late == 0 or (late > 0 and not exact), f"a reminder came {late} ms late"
        elif each.type == "interrupt.resolved" and each.payload.get("reason") == "timeout":
            # With a question its time is up for all that share its key.
            key = asked[each.payload["interruptId"]][0].payload["key"]
            sharing = [question for question, _ in asked.values() if question.payload["key"] == key]
            lates = [
                each.timestamp - question.timestamp - question.payload["timeoutMs"]
                for question in sharing
                if "timeoutMs" in question.payload
            ]
            assert 0 in lates or (max(lates) > 0 and not exact), f"time was up {lates} ms late"


def _check_sent_answers(storm: "InterruptSchedule", facts: list[Fact]) -> None:
    """What was taken stands in the log, once; what was refused does not."""
    texts = [(each, msgspec.json.encode(each.payload).decode()) for each in facts]
    keys = {each.payload["interruptId"]: each.payload["key"] for each in facts if each.type == "node.suspended"}
    votes = {
        (each.payload["gateId"], each.payload["principal"], each.type)
        for each in facts
        if each.type in ("approval.granted", "approval.rejected")
    }
    for said in storm.sent_answers:
        if not said.tag:
            continue
        # Nodes that ask under one key get one answer.
        found = Counter(
            kind
            for kind, _ in {
                (each.type, keys.get(each.payload.get("interruptId", ""), each.sequence))
                for each, text in texts
                if said.tag in text
            }
        )
        fate = said.result
        assert fate != "refused" or not found, f"{said.given} was refused, and is there: {found}"
        for kind in ("interrupt.resolved", "approval.granted", "approval.rejected", "clarification.resolved"):
            assert found[kind] <= 1, f"{said.given} counts {found[kind]} times"
        if fate == "taken" and not found and said.tag in str(said.given.value):
            assert any(node_id == said.given.node_id for node_id, _, _ in votes), f"{said.given} was taken, and is lost"
