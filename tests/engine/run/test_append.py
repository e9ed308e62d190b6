"""The one append path refuses what the protocol has no name for."""

import pytest

from tests.harness.definitions import node, plan_of, workflow
from weftwork.engine.run import append as module
from weftwork.engine.run.append import BatchBuilder
from weftwork.protocol.errors import HostFault
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.header import Owner, RunHeader

HEADER = RunHeader("run-1", "live:acme", Owner("acme", "key_1"), "sample", "digest", 1)


def batch_of_invented() -> BatchBuilder:
    append = BatchBuilder(RunState(plan_of(workflow([node("a")])), HEADER, {}), None, 1)
    append.add(Draft("run.invented", {}))
    return append


@pytest.mark.rule("evt-02")
def test_an_event_type_that_nobody_may_use_reaches_no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HostFault, match=r"run\.invented"):
        batch_of_invented()
    monkeypatch.setattr(module, "is_event_type", lambda name: True)
    assert len(batch_of_invented()) == 1
