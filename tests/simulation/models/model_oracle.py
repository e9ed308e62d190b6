"""What holds of the log of a run in which models spoke, whatever happened to the hosts that ran it."""

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import msgspec

from weftwork.protocol.run.events import ENVELOPE_RECORDED, MODEL_ANSWERED, Event, Fact

if TYPE_CHECKING:
    from tests.simulation.models.model_schedule import ModelSchedule

ANSWER_EVENTS = ("envelope.refusal", "envelope.truncated", "envelope.retry.attempted", "envelope.nlToFormat.engaged")
ANSWER_EVENTS += ("envelope.recovery.applied",)
"""What is said in one commit with the answer that it is about."""
NODE_ENDS = ("node.completed", "node.failed", "node.retried")
HANDLER_EVENTS = ("interrupt.requested", "clarification.requested", "log.appended", "artifact.created", "cap.breached")


async def check_envelopes(storm: "ModelSchedule") -> None:
    """Of a run that has ended."""
    events, facts = await storm.engine.events(storm.key), await storm.engine.facts(storm.key)
    nodes = {each["id"]: each for each in storm.documents[-1]["nodes"]}
    check_records(events, facts, nodes)
    check_answers(facts, storm.model.answers)
    # What was stored without the run being told is shown again.
    if not storm.history.lost:
        check_chunks(facts, nodes)
    check_outputs(facts, nodes)
    state = await storm.folded()
    recorded = {each.payload["correlationId"] for each in facts if each.type == ENVELOPE_RECORDED}
    assert state.envelopes.keys() == recorded, "the fold knows other envelopes than the log"


def check_records(events: list[Event], facts: list[Fact], nodes: dict[str, Any]) -> None:
    records: dict[str, Fact] = {}
    for each in facts:
        if each.type == ENVELOPE_RECORDED:
            name = each.payload["correlationId"]
            assert name not in records, f"{name} is recorded twice"
            records[name] = each
    handled: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for event, fact in zip(events, facts, strict=True):
        if fact.type in HANDLER_EVENTS and event.causation_id is not None:
            word = f"{fact.type} {fact.payload['level']}" if fact.type == "log.appended" else fact.type
            handled[event.causation_id][word] += 1
    assert handled.keys() <= records.keys(), "something was done for an envelope without a record"
    for name, record in records.items():
        expected = _expected(record.payload, nodes[record.node_id or ""])
        assert handled[name] == expected, f"{record.payload} was handled {handled[name]}, not {expected}"
    asked = Counter((each.payload["key"], each.node_id) for each in facts if each.type == "interrupt.requested")
    assert all(count == 1 for count in asked.values()), f"a question was asked again: {asked}"


def _expected(record: dict[str, Any], node: dict[str, Any]) -> Counter[str]:
    """What the handler of an outcome does, once."""
    contract = node.get("envelopeContract", {})
    kind = record["type"]
    match record["status"]:
        case "breached":
            return Counter(["cap.breached"])
        case "gated":
            return Counter(["log.appended warn"] if record["refusalMode"] == "discard-and-warn" else [])
        case _:
            pass
    if kind == "clarification.request":
        # The items of a map must not ask.
        asks = node["typeId"] != "core.flow.map"
        return Counter(["interrupt.requested", "clarification.requested"] if asks else [])
    if kind == "error":
        return Counter(["log.appended error"])
    if kind.startswith("schema."):
        return Counter(["log.appended debug"])
    return Counter(["artifact.created"] if kind in contract.get("artifacts", ()) else [])


def check_answers(facts: list[Fact], said: list[str]) -> None:
    """Each answer is recorded once, with what it cost and what follows from it."""
    told = Counter(said)
    known: defaultdict[str | None, set[str]] = defaultdict(set)
    tries: dict[str | None, int] = {}
    before: Fact | None = None
    answer: Fact | None = None
    for each in facts:
        if each.type in NODE_ENDS:
            known[each.node_id].clear()
            tries.pop(each.node_id, None)
        if each.type == MODEL_ANSWERED:
            call = each.payload["call"]
            assert call not in known[each.node_id], f"call {call} of {each.node_id} is answered twice"
            known[each.node_id].add(call)
            refused = each.payload["stop"] == "content-filter"
            # The words of a refusal are not kept.
            assert refused or told[each.payload["text"]] > 0, "an answer that no model gave, or not so often"
            told[each.payload["text"]] -= not refused
            answer = each
        assert before is None or before.type != MODEL_ANSWERED or each.type == "provider.usage", (
            "an answer without cost"
        )
        if each.type == "provider.usage":
            assert before is not None, "usage of no call"
            assert before.type == MODEL_ANSWERED, "usage of no call"
        if each.type in ANSWER_EVENTS:
            assert before is not None
            assert before.type in (*ANSWER_EVENTS, "provider.usage"), f"{each.type} does not stand with its answer"
            assert answer is not None
            assert answer.node_id == each.node_id
        if each.type == "envelope.retry.attempted":
            number = each.payload["attempt"]
            item = answer.payload["call"].split("/")[0] if answer is not None else ""
            place = f"{each.node_id}/{item}"
            assert number == 2 or number == tries.get(place, 1) + 1, f"attempt {number} after {tries.get(place)}"
            tries[place] = number
        before = each


def check_chunks(facts: list[Fact], nodes: dict[str, Any]) -> None:
    """What was shown of an answer before it is the answer, to the letter."""
    shown: defaultdict[str, str] = defaultdict(str)
    whole: dict[str, str] = {}
    for each in facts:
        name = each.node_id or ""
        if name in nodes and nodes[name]["typeId"] in ("core.ai.callPrompt", "core.ai.chatCompletion"):
            if each.type == "output.chunk":
                shown[name] += each.payload["chunk"]
                if each.payload["isLast"]:
                    whole[name] = shown.pop(name)
            elif each.type == MODEL_ANSWERED:
                found, text = whole.pop(name, ""), each.payload["text"]
                # Nothing is shown of an answer without a word; what was begun before it stays as it is.
                assert text in ("", found), f"{name} showed something else than it recorded"
                assert not shown[name], f"{name} showed more than it recorded"


def check_outputs(facts: list[Fact], nodes: dict[str, Any]) -> None:
    """What a node gives as an envelope is one that is recorded before."""
    accepted: dict[str, Any] = {}
    for each in facts:
        if each.type == ENVELOPE_RECORDED and each.payload["status"] == "accepted":
            accepted[each.payload["envelopeId"]] = each.payload["payload"]
        elif each.type == "node.completed" and nodes[each.node_id or ""]["typeId"] == "core.ai.generateEnvelope":
            outputs = each.payload["outputs"]
            assert outputs["envelopeId"] in accepted, "a node gives an envelope that nobody has recorded"
            wanted, found = accepted[outputs["envelopeId"]], outputs["payload"]
            assert msgspec.json.encode(wanted) == msgspec.json.encode(found), (
                "a node gives another payload than is recorded"
            )
