"""The seam that sets variables of a run from outside."""

from typing import Any

import pytest

from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness
from weftwork.engine.api.run_control import RunControl
from weftwork.protocol.errors import ClientFault

ASKS = workflow(
    [node("ask", "core.interrupt", config={"kind": "custom", "data": {"customKind": "x"}}), node("after")],
    [edge("ask", "after")],
    variables=[variable("colour", defaultValue="red"), variable("secret", sensitive=True)],
)
READS = {"port": {"type": "variable", "variableName": "colour"}}


@pytest.mark.rule("seam-01")
async def test_what_is_set_is_there_for_what_comes_after() -> None:
    document = {**ASKS, "nodes": [ASKS["nodes"][0], node("after", "core.identity", inputs=READS)]}

    bench = EngineHarness()
    key = await bench.start(document)
    control = RunControl(bench.runtime, bench.executor)
    assert await control.set_variables(CALLER, key.run_id, {"variables": {"colour": "blue"}}) == "waiting-input"
    assert await bench.payloads(key, "variable.changed") == [{"name": "colour", "next": "blue", "nodeId": "ask"}]
    await bench.answer(key, "x")
    assert (await bench.state(key)).nodes["after"].outputs["port"] == "blue"


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({"colour": 7}, "validation_error"),
        ({"unknown": "x"}, "validation_error"),
        ({"secret": "x"}, "validation_error"),
        ({}, "validation_error"),
    ],
)
async def test_what_does_not_fit_changes_nothing(variables: dict[str, Any], code: str) -> None:
    bench = EngineHarness()
    key = await bench.start(ASKS)
    with pytest.raises(ClientFault) as caught:
        await RunControl(bench.runtime, bench.executor).set_variables(CALLER, key.run_id, {"variables": variables})
    assert caught.value.code == code
    assert await bench.payloads(key, "variable.changed") == []


async def test_a_run_that_has_ended_or_is_not_there_is_told() -> None:
    bench = EngineHarness()
    key = await bench.start(ASKS)
    await bench.cancel(key)
    codes: list[str] = []
    for run_id in (key.run_id, "nobody"):
        with pytest.raises(ClientFault) as caught:
            await RunControl(bench.runtime, bench.executor).set_variables(
                CALLER, run_id, {"variables": {"colour": "b"}}
            )
        codes.append(caught.value.code)
    assert codes == ["conflict", "not_found"]
