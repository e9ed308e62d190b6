"""Any order of calls: every store has what a dictionary would have."""

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, multiple, rule, run_state_machine_as_test

from tests.adapters.blobs.blob_stores import BlobStoreFactory, blob_keys, files_below, read_blob
from weftwork.ports.storage.blobs import BlobSink
from weftwork.ports.storage.event_log import StoreUnavailable

FULL = os.environ.get("WEFTWORK_PROOF") == "full"
PARTITIONS = st.sampled_from(["acme", "globex", "../acme"])
SIZES = st.sampled_from([0, 1, 1000, 262_143, 262_144, 262_145, 600_000])


class Machine(RuleBasedStateMachine):
    """Its folder is that of the test; a new one for every run of the machine."""

    blob_stores: BlobStoreFactory
    sinks = Bundle("sinks")
    kept = Bundle("kept")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.blobs = self.blob_stores.make()
        self.loop.run_until_complete(self.blobs.open())
        self.model: dict[str, bytes] = {}
        self.writing: dict[BlobSink, bytearray] = {}

    def do(self, work):
        return self.loop.run_until_complete(asyncio.wait_for(work, 30))

    @rule(target=sinks, partition=PARTITIONS)
    def begin(self, partition: str) -> BlobSink:
        sink = self.do(self.blobs.sink(partition))
        self.writing[sink] = bytearray()
        return sink

    @rule(sink=sinks, size=SIZES, byte=st.integers(0, 255))
    def write(self, sink: BlobSink, size: int, byte: int) -> None:
        data = bytes([byte]) * size
        if sink not in self.writing:
            with pytest.raises(StoreUnavailable):
                self.do(sink.write(data))
            return
        self.do(sink.write(data))
        self.writing[sink] += data
        assert sink.size == len(self.writing[sink])

    @rule(target=kept, sink=sinks)
    def keep(self, sink: BlobSink):
        if sink not in self.writing:
            with pytest.raises(StoreUnavailable):
                self.do(sink.commit())
            return multiple()
        blob = self.do(sink.commit())
        assert blob.key not in self.model
        self.model[blob.key] = bytes(self.writing.pop(sink))
        return blob.key

    @rule(sink=consumes(sinks))
    def drop(self, sink: BlobSink) -> None:
        self.do(sink.discard())
        self.writing.pop(sink, None)

    @rule(key=kept)
    def delete(self, key: str) -> None:
        self.do(self.blobs.delete(key))
        self.model.pop(key, None)

    @rule(key=kept, start=st.integers(0, 700_000), length=st.integers(0, 700_000))
    def look(self, key: str, start: int, length: int) -> None:
        known = self.model.get(key)
        found = self.do(read_blob(self.blobs, key, start, length))
        assert found == (None if known is None else known[start : start + length])

    @rule()
    def count(self) -> None:
        assert self.do(blob_keys(self.blobs)) == sorted(self.model)

    @rule()
    def open_again(self) -> None:
        for sink in self.writing:
            self.do(sink.discard())
        self.writing.clear()
        self.do(self.blobs.close())
        self.blobs = self.blob_stores.make()
        self.do(self.blobs.open())
        self.count()

    def teardown(self) -> None:
        self.open_again()
        if self.blob_stores.kind == "local":
            assert sorted(files_below(self.blob_stores.folder)) == sorted(self.model)
        for key in self.model:
            self.do(self.blobs.delete(key))
        assert self.do(blob_keys(self.blobs)) == []
        self.do(self.blobs.close())
        self.loop.close()


def test_any_order_of_calls(blob_stores: BlobStoreFactory, tmp_path: Path) -> None:
    class Here(Machine):
        pass

    Here.blob_stores = blob_stores
    count = 200 if FULL else 8 if blob_stores.kind == "object" else 30
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=count,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
            database=None,
        ),
    )
