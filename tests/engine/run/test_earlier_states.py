"""Earlier states of a run: a fold with a bound, and the stored form of the state that it returns."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from tests.engine.run.test_event_logs import lived
from tests.harness.definitions import for_all
from tests.harness.engine_harness import EngineHarness, WrappedLog
from weftwork.engine.run import replay
from weftwork.engine.run.append import make_redactor
from weftwork.engine.run.replay import load_state
from weftwork.engine.run.state_rows import stored_run
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.run.batch import HiddenValue
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunKey


class EndedLog(WrappedLog):
    """A log as it was when it ended with one of its events."""

    def __init__(self, log: Any, last: int) -> None:
        super().__init__(log)
        self.last = last

    async def read(self, *given: Any) -> list[Event]:
        return [event for event in await self._log.read(*given) if event.sequence <= self.last]

    async def hidden_values(self, run: RunKey) -> list[HiddenValue]:
        return [each for each in await self._log.hidden_values(run) if each.sequence <= self.last]


def contents(state: RunState) -> dict[str, Any]:
    """Everything in a state that can be compared."""
    found = {name: getattr(state, name) for name in state.__struct_fields__ if name not in ("plan", "header")}
    found["nodes"] = {name: msgspec.structs.asdict(node) for name, node in state.nodes.items()}
    return found


async def plan_and_header(bench: EngineHarness, key: RunKey) -> tuple[Any, Any]:
    header = (await bench.stored_run(key)).header
    return await bench.catalog.pinned_plan(header.workflow_id, header.definition), header


@pytest.mark.rule("fold-01")
@for_all(10, st.integers(0, 2**48), full=400)
@pytest.mark.parametrize("page", [1, 3, 1000])
async def test_a_fold_with_a_bound_is_the_fold_of_a_log_that_ends_there(page: int, seed: int) -> None:
    bench, key = await lived(random.Random(seed))
    plan, header = await plan_and_header(bench, key)
    log = bench.store.log
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay, "REPLAY_PAGE_EVENTS", page)
        for last in range(-1, len(await bench.events(key))):
            bounded = await load_state(log, header, plan, until=last)
            ended = await load_state(EndedLog(log, last), header, plan)  # type: ignore[arg-type]
            assert bounded.last_sequence == last
            assert contents(bounded) == contents(ended)
            assert stored_run(bounded, make_redactor(bounded)) == stored_run(ended, make_redactor(ended))
    await bench.crash()


async def test_a_bound_behind_the_end_of_a_log_folds_all_of_it() -> None:
    bench, key = await lived(random.Random(1))
    plan, header = await plan_and_header(bench, key)
    whole = await load_state(bench.store.log, header, plan)
    assert contents(await load_state(bench.store.log, header, plan, until=10_000)) == contents(whole)
