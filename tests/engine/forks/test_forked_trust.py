"""Trust in branches: what came from outside stays untrusted at every fork point, and opens no gate."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.forks.test_branches import fork
from tests.engine.privacy.test_trust_approvals import LIST, MODEL, gated, waiting
from tests.harness.cases import fails_without
from tests.harness.child_workflows import SUB_WORKFLOW, child_keys, start_run
from tests.harness.definitions import edge, example_count, node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks, settle
from tests.harness.interrupts import answer_refusal
from tests.simulation.test_random_trust import wrong
from tests.simulation.trust_workflows import CORRELATION, MIXING_TYPES, UNTRUSTED_WORD, random_workflow
from weftwork.protocol.fold import data_flow, fork_facts
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.replay import fork_request
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey

UNTRUSTED = {"trustBoundary": "untrusted"}
PERSON = Answerer("key_1")


async def finish(bench: EngineHarness, key: RunKey) -> None:
    for _ in range(60):
        await run_ready_tasks()
        if await bench.status(key) in TERMINAL_STATUSES:
            return
        for asked in list((await bench.state(key)).open_interrupts.values()):
            said = {**CORRELATION, "words": [UNTRUSTED_WORD]} if asked.kind == "external-event" else {"words": []}
            await bench.answer(key, said, asked.node_id)
    raise AssertionError("the run does not end")


@pytest.mark.rule("trust-02", "fork-03")
@settings(max_examples=example_count(12, 1000), deadline=None)
@given(seed=st.integers(0, 2**32))
async def test_an_event_of_a_branch_is_untrusted_if_what_it_carries_came_from_outside(seed: int) -> None:
    dice = random.Random(seed)
    bench = EngineHarness(*MIXING_TYPES)
    source = await bench.start(random_workflow(dice))
    await finish(bench, source)
    assert wrong(await bench.events(source)) == []
    for _ in range(4):
        branch = await fork(bench, source, dice.randrange(len(await bench.events(source))))
        await finish(bench, branch)
        assert wrong(await bench.events(branch)) == []
        if dice.random() < 0.5:
            source = branch
    await bench.close()


READS = node("mix", "test.mix", config={"read": "variables.a"})
GATE = node("ask", "core.approvalGate", config={"title": "Go on?"})
GIVEN = workflow([READS, GATE], [edge("mix", "ask")], [LIST], id="given")


async def trust_of(bench: EngineHarness, key: RunKey, kind: str, node_id: str | None = None) -> set[str | None]:
    found = {
        each.content_trust for each in await bench.events(key) if each.type == kind and node_id in (None, each.node_id)
    }
    assert found, f"there is no {kind}"
    return found


async def check_gate(bench: EngineHarness, key: RunKey) -> None:
    """A model opens no gate, and a person does."""
    await settle()
    assert await bench.status(key) == "waiting-approval", await bench.event_types(key)
    refused = await answer_refusal(bench, key, {"action": "accept"}, "ask", MODEL)
    assert refused == (403, "untrusted_content_blocks_approval")
    assert await bench.status(key) == "waiting-approval"
    assert await trust_of(bench, key, "interrupt.requested", "ask") == {"untrusted"}
    await bench.answer(key, {"action": "accept"}, "ask", PERSON)
    await settle()
    assert await bench.status(key) == "completed"


@pytest.mark.rule("fork-03", "trust-05")
@fails_without(fork_request, "is_untrusted_boundary", lambda configurable: False)
async def test_an_untrusted_source_has_untrusted_branches_whatever_the_overlay_says() -> None:
    bench, source = await start_run(GIVEN, bench=EngineHarness(*MIXING_TYPES))
    source = await bench.start(GIVEN, inputs={"a": [UNTRUSTED_WORD]}, configurable=UNTRUSTED)
    await check_gate(bench, source)
    types = await bench.event_types(source)
    asked = types.index("node.suspended")
    overlays: list[dict[str, Any]] = [{}, {"configurable": {"trustBoundary": "trusted"}}]
    overlays.append({"inputs": {"a": [UNTRUSTED_WORD]}})
    for overlay in overlays:
        # Inputs cannot be replaced after the approval was requested (fork-10).
        for from_seq in range(types.index("interrupt.requested") + 1 if "inputs" in overlay else asked + 2):
            branch = await fork(bench, source, from_seq, **overlay)
            await check_gate(bench, branch)
            again = await fork(bench, branch, min(from_seq + 1, asked))
            await check_gate(bench, again)
            if from_seq < types.index("node.completed"):
                assert await trust_of(bench, branch, "node.completed", "mix") == {"untrusted"}
            for key in (branch, again):
                header = (await bench.stored_run(key)).header
                assert header.configurable["trustBoundary"] == "untrusted"
    await bench.crash()


@pytest.mark.rule("trust-05", "fork-05")
@fails_without(data_flow, "given_untrusted", lambda header: header.parent.untrusted if header.parent else ())
async def test_inputs_of_a_child_run_stay_untrusted_in_its_branches() -> None:
    call = node("call", SUB_WORKFLOW, config={"workflowId": "given", "inputMapping": {"a": "a"}})
    outside = node("o", "test.outside", config={"sets": "a"})
    parent = workflow([outside, call], [edge("o", "call")], [LIST], id="parent")
    bench, source = await start_run(parent, GIVEN, bench=EngineHarness(*MIXING_TYPES))
    (child,) = await child_keys(bench, source)
    await check_gate(bench, child)
    types = await bench.event_types(child)
    for from_seq in range(types.index("node.suspended") + 2):
        branch = await fork(bench, child, from_seq)
        assert (await bench.stored_run(branch)).header.parent is None
        await check_gate(bench, branch)
        for key in (await fork(bench, branch, 0), await fork(bench, branch, from_seq)):
            await check_gate(bench, key)
    await bench.crash()


@pytest.mark.rule("trust-05", "appr-05")
async def test_a_gate_that_is_shown_content_from_outside_is_blocked_in_every_branch() -> None:
    bench, source = await waiting(gated())
    types = await bench.event_types(source)
    for from_seq in range(len(types)):
        branch = await fork(bench, source, from_seq)
        await check_gate(bench, branch)
    assert await bench.status(source) == "waiting-approval"
    await bench.crash()


@pytest.mark.rule("fork-03", "trust-02")
@fails_without(fork_facts, "mark_readers", lambda state: None)
@fails_without(fork_facts, "_set_trust", lambda state, name, untrusted: None)
async def test_an_overlay_from_outside_makes_the_inputs_of_a_trusted_run_untrusted() -> None:
    bench, source = await start_run(GIVEN, bench=EngineHarness(*MIXING_TYPES))
    await bench.answer(source, {"action": "accept"}, "ask", PERSON)
    await settle()
    assert await bench.status(source) == "completed"
    types = await bench.event_types(source)
    overlay: dict[str, Any] = {"inputs": {"a": [UNTRUSTED_WORD]}, "configurable": UNTRUSTED}
    for from_seq in range(types.index("node.completed")):
        branch = await fork(bench, source, from_seq, **overlay)
        await check_gate(bench, branch)
        # The fork event has the inputs, so it is untrusted itself.
        if from_seq:
            assert await trust_of(bench, branch, "weftwork.run.forked") == {"untrusted"}
    await bench.crash()
