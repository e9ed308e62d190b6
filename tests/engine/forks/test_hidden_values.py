"""Hidden values in branches: masked wherever a reader looks, and known to the nodes of the branch."""

import itertools
import json
from typing import Any

import msgspec
import pytest

from tests.engine.api.test_review import whole
from tests.engine.forks.test_branches import fork
from tests.engine.forks.test_retries import retry
from tests.engine.privacy.test_sensitive_values import (
    CANARY,
    DOCUMENT,
    INPUTS,
    SECOND,
    RecordingNodes,
    everything_shown,
)
from tests.harness.cases import fails_without
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, fault_of, settle
from weftwork.engine.api.lineage import forks as forks_module
from weftwork.protocol.privacy.credential_redaction import CredentialMatcher
from weftwork.protocol.run.header import RunKey
from weftwork.testing.storage.harness import purge

NEW_CANARY = "canary-of-the-overlay"
CREDENTIAL = "sk-canary-Q7w8E9r0T1y2U3i4O5p6A7s8D9f0"


async def everything_read(bench: EngineHarness, key: RunKey) -> str:
    bundle, _ = await whole(bench, key)
    return await everything_shown(bench, key) + json.dumps(bundle)


async def ended_source(bench: EngineHarness) -> RunKey:
    key = await bench.start(DOCUMENT, inputs=INPUTS)
    await settle()
    await bench.run_to_end(key, release="gate")
    return key


async def end(bench: EngineHarness, key: RunKey) -> None:
    await settle()
    for name in list(bench.gate_node.waiting):
        bench.gate_node.release(name)
    await bench.run_to_end(key)


@pytest.mark.rule("hide-02", "fork-01")
async def test_hidden_values_of_the_prefix_are_masked_in_a_branch_and_reach_its_nodes() -> None:
    witness = RecordingNodes()
    bench = EngineHarness(*witness.types())
    source = await ended_source(bench)
    assert witness.given == [{"y": CANARY, "minted": SECOND}]
    types = await bench.event_types(source)
    last_start = max(at for at, each in enumerate(await bench.events(source)) if each.node_id == "last")
    for from_seq in range(0, len(types), 2):
        witness.given.clear()
        branch = await fork(bench, source, from_seq)
        await end(bench, branch)
        again = await fork(bench, branch, from_seq)
        await end(bench, again)
        for key in (branch, again):
            shown = await everything_read(bench, key)
            assert CANARY not in shown, from_seq
            assert SECOND not in shown, from_seq
        if from_seq < last_start:
            assert witness.given == [{"y": CANARY, "minted": SECOND}] * 2, from_seq
        (failed,) = await bench.payloads(branch, "run.failed")
        assert failed == await bench.payload(source, "run.failed")
    # Nothing of it depends on the source.
    branch = await fork(bench, source, types.index("node.completed") + 1)
    await settle()
    await bench.store.retention.delete(source, bench.clock.now())
    await purge(bench.store)
    witness.given.clear()
    await end(bench, branch)
    assert witness.given == [{"y": CANARY, "minted": SECOND}]
    assert CANARY not in await everything_read(bench, branch)


@pytest.mark.rule("hide-02", "retry-01")
async def test_hidden_values_are_masked_in_a_retry() -> None:
    witness = RecordingNodes()
    bench = EngineHarness(*witness.types())
    source = await ended_source(bench)
    again = await retry(bench, source, runOptionsOverlay={"inputs": {"secret": NEW_CANARY}})
    await end(bench, again)
    assert await bench.status(again) == "failed"
    shown = await everything_read(bench, again)
    assert CANARY not in shown
    assert NEW_CANARY not in shown


@pytest.mark.rule("hide-01", "hide-02", "fork-03")
@fails_without(forks_module, "make_redactor", lambda state: None)
@fails_without(forks_module, "learn_overlay", lambda redactor, state, inputs: redactor)
@fails_without(forks_module, "hide_inputs", lambda plan, inputs: (inputs, ()))
async def test_sensitive_inputs_and_credentials_of_the_overlay_are_masked_and_reach_the_nodes() -> None:
    witness = RecordingNodes()
    bench = EngineHarness(*witness.types())
    source = await ended_source(bench)
    overlay: dict[str, Any] = {
        "secret": NEW_CANARY,
        "plain": f"use {CREDENTIAL} and {NEW_CANARY}",
        "deep": [NEW_CANARY],
    }
    first_start = (await bench.event_types(source)).index("node.started")
    for from_seq in (0, 1, first_start):
        witness.given.clear()
        branch = await fork(bench, source, from_seq, inputs=overlay)
        await end(bench, branch)
        again = await fork(bench, branch, from_seq)
        await end(bench, again)
        late = await fork(bench, branch, len(await bench.events(branch)) - 1)
        await end(bench, late)
        for key in (branch, again, late):
            shown = await everything_read(bench, key)
            for each in (CANARY, SECOND, NEW_CANARY, CREDENTIAL):
                assert each not in shown, (from_seq, each)
        assert {"y": NEW_CANARY, "minted": SECOND} in witness.given, from_seq


@pytest.mark.rule("fork-09")
@fails_without(forks_module, "check_masks", lambda shown, inputs, visible, request: None)
async def test_a_branch_shows_no_copy_of_a_sensitive_value_that_it_replaces() -> None:
    bench = EngineHarness(*RecordingNodes().types())
    source = await ended_source(bench)
    late = await fork(bench, source, 1, inputs={"secret": NEW_CANARY})
    await end(bench, late)
    assert CANARY not in await everything_read(bench, late)
    for key, inputs in ((source, {"secret": NEW_CANARY}), (late, {}), (late, {"plain": "new"})):
        fault = await fault_of(fork(bench, key, 0, inputs=inputs))
        assert (fault.code, fault.status) == ("validation_error", 400)
        assert CANARY not in str(fault)
    branch = await fork(bench, source, 0, inputs={"secret": NEW_CANARY, "plain": "new", "deep": {}})
    await end(bench, branch)
    assert CANARY not in await everything_read(bench, branch)


@pytest.mark.rule("hide-01", "fork-03")
async def test_an_input_of_the_overlay_may_have_a_copy_of_a_value_that_the_source_hides() -> None:
    witness = RecordingNodes()
    bench = EngineHarness(*witness.types())
    source = await ended_source(bench)
    for from_seq in (0, 1, (await bench.event_types(source)).index("node.completed") + 1):
        branch = await fork(bench, source, from_seq, inputs={"plain": f"still {CANARY}", "deep": 1})
        await end(bench, branch)
        assert CANARY not in await everything_read(bench, branch), from_seq
        assert (await bench.state(branch)).variables["plain"] == f"still {CANARY}"


PLAIN = workflow(
    [node("a", "test.gate"), node("b", "test.witness", inputs={"x": {"type": "variable", "variableName": "plain"}})],
    [edge("a", "b")],
    [variable("plain")],
)


@pytest.mark.rule("hide-01", "fork-03")
@fails_without(CredentialMatcher, "learn_credentials", lambda self, value: False)
async def test_a_credential_in_the_options_of_a_branch_is_masked() -> None:
    bench = EngineHarness(*RecordingNodes().types())
    source = await bench.start(PLAIN, inputs={"plain": "x"})
    await settle()
    await bench.run_to_end(source, release="a")
    options: dict[str, Any] = {"configurable": {"token": CREDENTIAL}, "metadata": {"note": CREDENTIAL}}
    said: dict[str, Any] = {"inputs": {"plain": f"said {CREDENTIAL}"}}
    overlays: list[dict[str, Any]] = [options, said, {"tags": [CREDENTIAL], **options, **said}]
    for from_seq, overlay in itertools.product((0, 3), overlays):
        branch = await fork(bench, source, from_seq, **overlay)
        await end(bench, branch)
        bundle, _ = await whole(bench, branch)
        shown = json.dumps(bundle) + msgspec.json.encode(await bench.service.get_run(CALLER, branch.run_id)).decode()
        assert CREDENTIAL not in shown + "".join(str(each.document) for each in await bench.events(branch)), from_seq
