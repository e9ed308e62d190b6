"""An executor that was frozen while another one took over acts no more and writes nothing, wherever it was."""

from typing import Any

import pytest

from tests.harness.cases import fails_without
from tests.simulation.effects.frozen_executor import freeze_and_take_over
from weftwork.adapters.memory.run_ports import MemoryEventLog
from weftwork.engine.nodes.effect_ledger import EffectLedger

MAX_POINTS = 60
APPEND = MemoryEventLog.append


def freeze_everywhere(is_step: bool, thaws_early: bool) -> list[str]:
    points: list[str] = []
    for at in range(1, MAX_POINTS):
        if not (name := freeze_and_take_over(at, is_step, thaws_early)):
            return points
        points.append(name)
    raise AssertionError("the run has too many points")


async def append_with_any_fence(self: Any, run: Any, expected: int, batch: Any, fence: int | None = None) -> Any:
    return await APPEND(self, run, expected, batch)


async def act_without_a_proof(self: EffectLedger) -> None: ...


@pytest.mark.rule("eff-08")
@pytest.mark.parametrize("thaws_early", [True, False], ids=["before its successor wrote", "after its successor ended"])
@pytest.mark.parametrize("is_step", [True, False], ids=["step", "node"])
@fails_without(EffectLedger, "_prove_fence", act_without_a_proof, match="it acted after it had been replaced")
def test_a_frozen_executor_does_nothing_after_it_was_replaced(is_step: bool, thaws_early: bool) -> None:
    points = freeze_everywhere(is_step, thaws_early)
    assert {"after create", "before append", "after append", "while it connects"} <= {*points}


@fails_without(MemoryEventLog, "append", append_with_any_fence, match="after it had been replaced")
def test_the_store_refuses_what_a_frozen_executor_writes() -> None:
    freeze_everywhere(is_step=False, thaws_early=True)
