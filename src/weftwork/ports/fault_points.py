"""Fault points: named places in the code where a host can be made to fail, to prove that nothing is lost there.

Theory. A call of `fault_point` does nothing unless the process has armed points at its start. Then the armed action
runs when the point of that name is reached for the n-th time. No request can arm a point. Each point is reached by one
thread only, so counting needs no lock.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from weftwork.ports.storage.event_log import OutcomeUnknown, StoreUnavailable


class FaultPoint(msgspec.Struct, frozen=True):
    """When a point is reached, and the error that can occur there; None where no error can be raised."""

    description: str
    fault: type[Exception] | None = None


POINTS: Final[Mapping[str, FaultPoint]] = {
    "boot.seated": FaultPoint("The process holds the lock of the data folder. The store is not open yet."),
    "migration.applied": FaultPoint("A migration has run. The schema version is not written yet.", OSError),
    "migration.stamped": FaultPoint("A migration and its schema version are written, but not committed.", OSError),
    "recover.run": FaultPoint("An unfinished run is about to be loaded after the start.", StoreUnavailable),
    "boot.ready": FaultPoint("The store is open and workflows are registered. The host does not listen yet."),
    "sweep.begin": FaultPoint("Expired idempotency records are about to be deleted.", StoreUnavailable),
    "writer.begin": FaultPoint("Writes are queued. Their transaction has not begun.", OSError),
    "writer.commit": FaultPoint("All writes of a transaction are done, but not committed.", OSError),
    "writer.committed": FaultPoint("A transaction is committed. The callers have no result yet.", OSError),
    "writer.checkpoint": FaultPoint("The write-ahead log is about to be copied into the database.", OSError),
    "writer.checkpointed": FaultPoint(
        "The write-ahead log has been copied. The next write overwrites it from its beginning.", OSError
    ),
    "create.checked": FaultPoint("A new run has passed all checks. It is not stored yet.", StoreUnavailable),
    "create.durable": FaultPoint(
        "A new run is stored. It is not executing yet, and the client has no response.", StoreUnavailable
    ),
    "create.started": FaultPoint("A new run is stored and executing. The client has no response yet."),
    "fork.checked": FaultPoint("A fork has passed all checks. It is not stored yet.", StoreUnavailable),
    "fork.copied": FaultPoint("The prefix of a fork is copied, in a transaction that is not committed yet.", OSError),
    "fork.durable": FaultPoint(
        "A fork is stored. It is not executing yet, and the client has no response.", StoreUnavailable
    ),
    "cancel.durable": FaultPoint("A cancel is stored. The client has no response yet.", StoreUnavailable),
    "answer.durable": FaultPoint("An answer or a vote is stored. The client has no response yet.", StoreUnavailable),
    "delete.durable": FaultPoint("A run is deleted. The client has no response yet.", StoreUnavailable),
    "purge.piece": FaultPoint("A batch of rows of a deleted run is removed. More rows remain.", StoreUnavailable),
    "append.begin": FaultPoint("A run has decided on new events. They are not stored yet.", StoreUnavailable),
    "append.durable": FaultPoint(
        "New events are stored. The run and its readers have not received them yet.", OutcomeUnknown
    ),
    "append.published": FaultPoint(
        "Readers have received new events. The nodes that these events start are not running yet."
    ),
    "node.launch": FaultPoint("The start of a node is stored. The node is not running yet."),
    "effect.claimed": FaultPoint("The claim of an effect is stored. The effect has not begun."),
    "node.ended": FaultPoint("A node has ended. Its outcome is not stored yet."),
    "run.ended": FaultPoint("The last event of a run is stored. The host still counts the run as live."),
    "run.parked": FaultPoint(
        "A run that only waits or is paused has been unloaded from memory. Its timer is not set yet."
    ),
    "alarm.ring": FaultPoint(
        "A deadline or reminder of waiting runs is due. The runs are not loaded yet.", StoreUnavailable
    ),
    "kin.related": FaultPoint("A message of a run to its parent or children is stored. It is not delivered yet."),
    "kin.deliver": FaultPoint("Messages of child runs are about to be delivered to their parent.", StoreUnavailable),
    "kin.order": FaultPoint("Child runs are about to be cancelled on behalf of their parent.", StoreUnavailable),
    "stream.begin": FaultPoint("A stream is accepted. Its first byte is not sent yet.", StoreUnavailable),
    "stream.frame": FaultPoint("Frames are about to be sent to a reader.", StoreUnavailable),
    "stream.piece": FaultPoint("A part of a large frame is sent. The rest is not."),
    "response.piece": FaultPoint("A part of a large response is sent. The rest is not."),
    "blob.partial": FaultPoint(
        "The first bytes of an asset are written. The file does not have its final path yet.", StoreUnavailable
    ),
    "blob.synced": FaultPoint(
        "All bytes of an asset are durable. The file does not have its final path yet.", StoreUnavailable
    ),
    "blob.renamed": FaultPoint(
        "The file of an asset has its final path and is durable. The caller has no result yet.", StoreUnavailable
    ),
    "blob.deleted": FaultPoint("The file of an asset is deleted. The caller has no result yet.", StoreUnavailable),
    "asset.kept": FaultPoint(
        "The bytes of an asset are durable. The asset has no row in the database yet.", StoreUnavailable
    ),
    "asset.written": FaultPoint(
        "An asset has its row. The caller has no result yet, and no run refers to the asset.", StoreUnavailable
    ),
    "asset.doomed": FaultPoint(
        "Rows of unused assets are deleted and tombstones are written. The bytes still exist.", StoreUnavailable
    ),
    "asset.deleted": FaultPoint(
        "The bytes of an unused asset are deleted. Its tombstone still exists.", StoreUnavailable
    ),
    "asset.buried": FaultPoint("The bytes and the tombstones of unused assets are deleted.", StoreUnavailable),
    "key.stored": FaultPoint("A new API key is stored. It has not been shown yet.", StoreUnavailable),
    "admin.answer": FaultPoint(
        "A request on the administration socket is carried out. The response is not sent yet.", ConnectionError
    ),
    "drain.begin": FaultPoint("The host has received the signal to shut down. Everything still runs."),
    "drain.close": FaultPoint("All runs are stopped. The store is still open."),
}
"""All points."""

_armed: dict[tuple[str, int], Callable[[], None]] = {}
_pass_counts: dict[str, int] = {}


def fault_point(name: str) -> None:
    """Reach the point of this name. Runs the action that is armed for this occurrence, if there is one."""
    if _armed:
        _run_armed(name)


def arm(actions: Mapping[tuple[str, int], Callable[[], None]]) -> None:
    """Arm actions, by the name of the point and the occurrence: the first time that it is reached is 1."""
    _armed.update(actions)


def _run_armed(name: str) -> None:
    times = _pass_counts[name] = _pass_counts.get(name, 0) + 1
    action = _armed.get((name, times))
    if action is not None:
        action()
