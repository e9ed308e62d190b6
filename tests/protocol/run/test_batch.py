"""A batch is written whole and sound, or not at all."""

import pytest
from msgspec.structs import replace

from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import MAX_SEQUENCE, Batch, IdempotencyRecord, check_batch
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import Projection

RUN = RunKey("live:acme", "run-1")


def event(sequence: int) -> Event:
    return Event("run-1", sequence, f"id-{sequence}", "log.appended", 0, b"{}")


SOUND = Batch((event(3), event(4)), Projection("running", 4))
BROKEN = {
    "a gap": replace(SOUND, events=(event(3), event(5))),
    "a repetition": replace(SOUND, events=(event(3), event(3))),
    "a late start": replace(SOUND, events=(event(4), event(5)), projection=Projection("running", 5)),
    "another run's event": replace(SOUND, events=(event(3), replace(event(4), run_id="run-2"))),
    "a projection that runs ahead": replace(SOUND, projection=Projection("running", 5)),
    "an end without a time": replace(SOUND, projection=Projection("completed", 4)),
    "a time without an end": replace(SOUND, projection=Projection("running", 4, completed_at=1)),
    "another tenant's record": replace(SOUND, record=IdempotencyRecord("live:other", "slot", "f", b"", 0)),
}


@pytest.mark.rule("fold-02")
@pytest.mark.parametrize("batch", BROKEN.values(), ids=BROKEN.keys())
def test_an_unsound_batch_is_refused(batch: Batch) -> None:
    check_batch(RUN, 2, SOUND)
    with pytest.raises(HostFault):
        check_batch(RUN, 2, batch)


@pytest.mark.rule("fold-02")
def test_a_log_has_a_last_sequence() -> None:
    last = Batch((event(MAX_SEQUENCE),), Projection("running", MAX_SEQUENCE))
    check_batch(RUN, MAX_SEQUENCE - 1, last)
    beyond = Batch((event(MAX_SEQUENCE + 1),), Projection("running", MAX_SEQUENCE + 1))
    with pytest.raises(HostFault):
        check_batch(RUN, MAX_SEQUENCE, beyond)
