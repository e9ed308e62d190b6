"""What nodes do to their run: variables, channels, log lines, artifacts, and how effects end, with every guard."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.engine.run.test_pause import pause, resume
from tests.harness.cases import each_case
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, WrappedLog, run, run_ready_tasks, until
from tests.harness.external_system import ExternalSystem, effect_node_type
from weftwork.engine import node_events
from weftwork.engine.api.run_control import RunControl
from weftwork.engine.decide import transitions
from weftwork.engine.nodes import effect_ledger
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome, NotDone, StepFailed
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import run_snapshot


async def shown(bench: EngineHarness, key: RunKey) -> dict[str, Any]:
    return msgspec.json.decode(msgspec.json.encode(run_snapshot(await bench.stored_run(key))))


def setting(value: Any, name: str = "n") -> dict[str, Any]:
    return node("a", "core.setVariable", config={"name": name, "value": value})


@pytest.mark.rule("data-08")
def test_a_declared_variable_keeps_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    document = workflow([setting("text")], [], [variable("n", "number", defaultValue=1)])

    async def work() -> tuple[str, Any]:
        bench, key = await EngineHarness().with_ended_run(document)
        document_shown = await shown(bench, key)
        return document_shown.get("error", {}).get("code"), document_shown["variables"]["n"]

    assert run(work) == ("variable_type_mismatch", 1)
    monkeypatch.setattr(node_events, "has_type", lambda value, name: True)
    assert run(work) == (None, "text")


@pytest.mark.rule("data-07")
async def test_a_merge_is_given_every_value_in_the_order_of_the_graph() -> None:
    def giving(name: str) -> dict[str, Any]:
        return node(name, "core.transform", config={"expression": f'"{name}"'})

    document = workflow(
        [node("z", "core.merge", config={"mode": "array"}), giving("b"), giving("a"), node("off", disabled=True)],
        [edge("b", "z", "none_failed"), edge("a", "z", "none_failed", id="0"), edge("off", "z", "none_failed")],
    )
    bench, key = await EngineHarness().with_ended_run(document)
    assert (await bench.payload(key, "run.completed"))["outputs"]["z"]["output"] == ["a", "b"]


@pytest.mark.rule("data-05")
def test_parallel_writes_of_a_variable_end_the_same_and_each_reader_sees_its_own_branch() -> None:
    def branch(name: str) -> list[dict[str, Any]]:
        write = node(f"{name}1", "core.setVariable", config={"name": "v", "value": name})
        read = node(f"{name}2", "core.getVariable", config={"name": "v"})
        return [node(f"{name}0", "test.gate"), write, read]

    document = workflow(
        [*branch("a"), *branch("b"), node("end", "core.getVariable", config={"name": "v"})],
        [edge(f"{n}{i}", f"{n}{i + 1}") for n in "ab" for i in (0, 1)] + [edge("a2", "end"), edge("b2", "end")],
        [variable("v", defaultValue="start")],
    )

    async def work(order: str) -> dict[str, Any]:
        bench, key = await EngineHarness().with_run(document)
        for name in order:
            await until(lambda name=name: f"{name}0" in bench.gate_node.waiting)
            await bench.release(f"{name}0")
        await bench.run_to_end(key)
        outputs = {p["nodeId"]: p["outputs"] for p in await bench.payloads(key, "node.completed")}
        return {"variables": (await shown(bench, key))["variables"], "outputs": outputs}

    one, other = run(lambda: work("ab")), run(lambda: work("ba"))
    assert one == other
    assert [one["outputs"][name] for name in ("a2", "b2", "end")] == [{"output": each} for each in "abb"]
    assert one["variables"] == {"v": "b"}


def writing(node_id: str, value: Any, **config: Any) -> dict[str, Any]:
    return node(node_id, "core.channelWrite", config={"channelName": "c", "value": value, **config})


@pytest.mark.rule("evt-05", "fold-03", "run-14")
async def test_a_channel_is_the_fold_of_its_writes() -> None:
    document = workflow(
        [writing("a", 2), writing("b", -1)],
        [edge("a", "b")],
        channels={"c": {"reducer": "counter", "schemaVersion": 3}},
    )
    bench, key = await EngineHarness().with_ended_run(document)
    written = await bench.payloads(key, "channel.written")
    assert [(each["nodeId"], each["value"]) for each in written] == [("a", 2), ("b", -1)]
    assert {(each["channel"], each["reducer"], each["schemaVersion"]) for each in written} == {("c", "counter", 3)}
    times = [event.timestamp for event in await bench.events(key) if event.type == "channel.written"]
    assert written[0]["writtenAt"] == "2026-01-01T00:00:00.000Z"
    assert len(set(times)) == 1
    document_shown = await shown(bench, key)
    assert document_shown["channels"] == {"c": 1}
    assert document_shown["variables"] == {"c": 1}


@each_case(
    "channel, value, code",
    ({"reducer": "counter"}, "text", "channel_write_invalid"),
    ({"reducer": "append", "access": "private"}, 1, "channel_access_denied"),
    ({"reducer": "append", "access": {"writers": ["other"]}}, 1, "channel_access_denied"),
    ({"reducer": "append", "access": {"writers": ["core.*"]}}, 1, None),
)
async def test_what_a_channel_does_not_take_fails_the_node(
    channel: dict[str, Any], value: Any, code: str | None
) -> None:
    bench, key = await EngineHarness().with_ended_run(workflow([writing("a", value)], channels={"c": channel}))
    error = (await shown(bench, key)).get("error", {})
    assert error.get("code") == code
    assert (await bench.event_types(key)).count("channel.written") == (code is None)
    if code == "channel_access_denied":
        assert error["details"]["requestedBy"] == {"nodeId": "a", "typeId": "core.channelWrite"}


@pytest.mark.rule("hide-02", "hide-03")
async def test_what_is_written_of_something_sensitive_is_hidden_and_still_there_for_nodes() -> None:
    secret = {"x": {"type": "variable", "variableName": "pin"}}
    document = workflow(
        [
            node("set", "core.setVariable", config={"name": "copy"}, inputs={"value": secret["x"]}),
            node("get", "core.getVariable", config={"name": "copy"}),
            node("write", "core.channelWrite", config={"channelName": "c", "reducer": "append"}),
            node("log", "core.log", config={"message": "got {{ variables.copy }}", "fields": {"x": "variables.copy"}}),
            node("art", "core.artifact.emit", config={"artifactType": "t"}, inputs={"data": secret["x"]}),
            node("check", "core.conditional", config={"expression": 'variables.copy == "4711-secret"'}),
        ],
        [
            *(edge("set", "get"), edge("get", "write", targetInput="value")),
            *(edge("get", reader) for reader in ("log", "art", "check")),
        ],
        [variable("pin", sensitive=True)],
    )
    bench, key = await EngineHarness().with_ended_run(document, inputs={"pin": "4711-secret"})
    assert await bench.status(key) == "completed", await bench.payloads(key, "run.failed")
    text = b"".join(event.document for event in await bench.events(key))
    text += msgspec.json.encode(await shown(bench, key))
    artifact = await RunControl(bench.runtime, bench.executor).get_artifact(CALLER, key.run_id, "art")
    assert b"4711" not in text + msgspec.json.encode(artifact)
    assert [each["nodeId"] for each in await bench.payloads(key, "node.skipped")] == []


async def test_lines_below_the_level_of_the_workflow_are_left_out() -> None:
    lines = [node(level, "core.log", config={"level": level, "message": level}) for level in ("debug", "info", "warn")]
    bench, key = await EngineHarness().with_ended_run(workflow(lines, settings={"logLevel": "info"}))
    assert [each["level"] for each in await bench.payloads(key, "log.appended")] == ["info", "warn"]


async def test_an_artifact_is_fetched_by_its_id_in_its_newest_version() -> None:
    def emitting(node_id: str, number: int, **more: Any) -> dict[str, Any]:
        data = {"data": {"type": "static", "value": {"n": number}}}
        config = {"artifactType": "report", "artifactId": "r", **more}
        return node(node_id, "core.artifact.emit", config=config, inputs=data)

    document = workflow([emitting("a", 1), emitting("b", 2, summary="Two")], [edge("a", "b")])
    bench, key = await EngineHarness().with_ended_run(document)
    control = RunControl(bench.runtime, bench.executor)
    found = await control.get_artifact(CALLER, key.run_id, "r")
    assert found == {
        "artifactId": "r",
        "artifactType": "report",
        "createdAt": "2026-01-01T00:00:00.000Z",
        "data": {"n": 2},
        "nodeId": "b",
        "runId": key.run_id,
        "summary": "Two",
        "version": 2,
    }
    assert (await shown(bench, key))["artifacts"]["r"]["version"] == 2
    for run_id, artifact_id in ((key.run_id, "gone"), ("gone", "r")):
        with pytest.raises(ClientFault, match="not_found"):
            await control.get_artifact(CALLER, run_id, artifact_id)


PAY = workflow([node("a", "test.pay")])
STEPS = workflow([node("a", "test.steps")])
RETRY = {"maxRetries": 5, "retryDelayMs": 1}
CLAIMED, RECORDED = "weftwork.effect.claimed", "weftwork.effect.recorded"


@pytest.mark.rule("eff-06")
async def test_a_failure_is_recorded_and_comes_back() -> None:
    calls = 0

    async def charge() -> Any:
        nonlocal calls
        calls += 1
        raise StepFailed(Failed("declined", "No money.", {"limit": 5}))

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        try:
            await context.step("x", "once", charge)
        except StepFailed as failed:
            return Failed("again", failed.failure.message)
        raise AssertionError

    bench = EngineHarness(effect_node_type("test.body", body))
    key = await bench.execute(workflow([node("a", "test.body", settings=RETRY)]))
    assert calls == 1
    error = {"code": "declined", "message": "No money.", "details": {"limit": 5}}
    assert (await bench.payloads(key, RECORDED))[0]["error"] == error


async def test_what_did_not_happen_may_be_tried_again() -> None:
    calls = 0

    async def charge() -> Any:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise NotDone
        return calls

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Completed({"n": await context.step("x", "once", charge)})

    bench = EngineHarness(effect_node_type("test.body", body))
    key = await bench.execute(workflow([node("a", "test.body", settings=RETRY)]))
    assert (calls, (await bench.payloads(key, "node.completed"))[0]["outputs"]) == (3, {"n": 3})
    assert (await bench.event_types(key)).count(CLAIMED) == 3


@pytest.mark.rule("eff-04")
@pytest.mark.parametrize("whole", [True, False])
async def test_an_immediate_pause_waits_for_what_must_not_happen_twice(whole: bool) -> None:
    world = ExternalSystem(blocked=True)
    bench = EngineHarness(world.effect_node() if whole else world.step_node("x", "y"))
    key = await bench.start(PAY if whole else STEPS)
    await until(lambda: world.received_keys)
    await pause(bench, key, drainPolicy="immediate")
    assert await bench.status(key) == "running"
    world.unblock()
    assert await bench.settled_status(key) == "paused"
    assert len(world.received_keys) == 1
    await resume(bench, key)
    await bench.run_to_end(key)
    assert (await bench.status(key), len(world.received_keys)) == ("completed", 1 if whole else 2)
    assert await bench.payloads(key, "interrupt.requested") == []


async def test_a_host_that_goes_away_lets_an_effect_be_recorded() -> None:
    world = ExternalSystem(blocked=True)
    bench, key = await EngineHarness(world.step_node("x", "y")).with_run(STEPS)
    await until(lambda: world.received_keys)
    closing = asyncio.ensure_future(bench.close())
    await run_ready_tasks()
    assert not closing.done()
    world.unblock()
    await closing
    assert (await bench.event_types(key))[-1] == RECORDED
    after = await bench.take_over()
    await after.run_to_end(key)
    assert (len(world.received_keys), await after.payloads(key, "interrupt.requested")) == (2, [])


@pytest.mark.rule("eff-07")
@pytest.mark.parametrize(("name", "status"), [("", "failed"), ("n" * 128, "completed"), ("n" * 129, "failed")])
async def test_a_step_has_a_name_of_some_length(name: str, status: str) -> None:
    bench, key = await EngineHarness(ExternalSystem().step_node(name)).with_ended_run(STEPS)
    assert await bench.status(key) == status


async def test_a_name_is_good_for_one_step() -> None:
    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        async def one() -> int:
            return 1

        await context.step("x", "once", one)
        return Completed({"n": await context.step("x", "once", one)})

    bench = EngineHarness(effect_node_type("test.body", body))
    key = await bench.execute(workflow([node("a", "test.body")]))
    assert (await bench.payloads(key, "node.failed"))[0]["error"]["code"] == "node_misused"


async def test_a_once_node_that_ran_out_of_time_is_not_tried_again() -> None:
    world = ExternalSystem(blocked=True)
    bench = EngineHarness(world.effect_node())
    key = await bench.start(workflow([node("a", "test.pay", settings={**RETRY, "timeoutMs": 50})]))
    await until(lambda: world.received_keys)
    bench.clock.advance(60)
    await bench.run_to_end(key)
    assert (await bench.payloads(key, "node.failed"))[0]["error"]["code"] == "node_timeout"
    assert len(world.received_keys) == 1


async def test_what_was_claimed_and_never_begun_is_not_asked_about() -> None:
    """The claim is being written while the time limit passes: nothing was sent, and whoever claimed it knows that."""

    class SlowLog(WrappedLog):
        def __init__(self, log: Any) -> None:
            super().__init__(log)
            self.gate: asyncio.Event | None = None

        async def append(self, *arguments: Any) -> Any:
            if self.gate is None and any(event.type == CLAIMED for event in arguments[2].events):
                self.gate = asyncio.Event()
                await self.gate.wait()
            return await self._log.append(*arguments)

    world = ExternalSystem()
    bench = EngineHarness(world.step_node("x"), wrap=SlowLog)
    key = await bench.start(workflow([node("a", "test.steps", settings={**RETRY, "timeoutMs": 50})]))
    await until(lambda: bench.log.gate)
    await bench.advance(60)
    bench.log.gate.set()
    await bench.run_to_end(key)
    assert (await bench.status(key), len(world.received_keys)) == ("completed", 1)
    assert await bench.payloads(key, "interrupt.requested") == []


@pytest.mark.parametrize(("name", "least"), [("MAX_STEPS", 2), ("MAX_STEP_BYTES", 20)])
def test_a_node_that_leaves_too_much_behind_fails(monkeypatch: pytest.MonkeyPatch, name: str, least: int) -> None:
    async def work() -> str:
        bench, key = await EngineHarness(ExternalSystem().step_node("x", "y", "z")).with_ended_run(STEPS)
        return await bench.status(key)

    assert run(work) == "completed"
    monkeypatch.setattr(effect_ledger, name, least)
    assert run(work) == "failed"


@pytest.mark.rule("lim-13", "node-14")
@pytest.mark.parametrize("age", [10, 61_000])
async def test_a_map_whose_items_take_the_host_down_is_given_up_unless_it_had_run_for_long(
    monkeypatch: pytest.MonkeyPatch, age: int
) -> None:
    monkeypatch.setattr(transitions, "MAX_CRASHES", 2)

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return await asyncio.get_running_loop().create_future()

    bench = EngineHarness(effect_node_type("test.body", body))
    config = {"items": [1, 2], "body": {"typeId": "test.body"}}
    key = await bench.start(workflow([node("a", "core.flow.map", config=config)]))
    for _ in range(5):
        await run_ready_tasks()
        await bench.crash()
        bench.clock.advance(age)
        bench = await bench.take_over()
    await run_ready_tasks()
    assert (await bench.status(key)) == ("failed" if age < 60_000 else "running")
