"""Assets of the story: each run names one from the start, each node that is done names one, and some nobody names."""

from hashlib import sha256
from typing import Any, Final

from msgspec.structs import replace

from weftwork.ports.storage.assets import StoredAsset
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunHeader

REFERENCING_EVENT: Final = "node.completed"

_REFERENCES = """
    SELECT a.sha256 FROM runs JOIN asset_refs r USING (run_no) JOIN assets a USING (asset_no)
    WHERE runs.partition = ? AND runs.run_id = ?
"""
_COUNTS: Final = {
    "an asset counts its runs wrongly": """
        SELECT asset_no FROM assets
        WHERE refs <> (SELECT count(*) FROM asset_refs r WHERE r.asset_no = assets.asset_no)
    """,
    "a run refers to what is not there": "SELECT * FROM asset_refs WHERE asset_no NOT IN (SELECT asset_no FROM assets)",
    "the usage is wrong": """
        SELECT partition, count(*), sum(size) FROM assets GROUP BY partition
        EXCEPT SELECT partition, count, size FROM asset_usage
    """,
    "a doomed key has a row": "SELECT key FROM assets INTERSECT SELECT key FROM doomed_blobs",
}


def digest_of(name: str) -> str:
    return sha256(name.encode()).hexdigest()


def asset_of(partition: str, digest: str) -> StoredAsset:
    """An asset that nobody holds."""
    return StoredAsset(partition, digest, f"blob-{digest}", len(digest), "image/png", 0, 0)


def expected_references(run_id: str, events: list[Event]) -> set[str]:
    """What a run with this log refers to. A host that goes on with it later names nothing."""
    of_nodes = {
        event.event_id
        for event in events
        if event.type == REFERENCING_EVENT and not event.event_id.startswith("later-")
    }
    return {digest_of(name) for name in (run_id, *of_nodes)}


def with_asset(header: RunHeader) -> RunHeader:
    return replace(header, assets=(digest_of(header.run_id),))


def with_event_assets(batch: Batch) -> Batch:
    digests = tuple(digest_of(event.event_id) for event in batch.events if event.type == REFERENCING_EVENT)
    return replace(batch, assets=digests) if digests else batch


def stored_references(connection: Any, partition: str, run_id: str) -> set[str]:
    return {digest for (digest,) in connection.execute(_REFERENCES, (partition, run_id))}


def check_counts(connection: Any) -> None:
    for wrong, statement in _COUNTS.items():
        assert connection.execute(statement).fetchall() == [], wrong
