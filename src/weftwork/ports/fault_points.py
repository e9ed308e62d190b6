"""Fault points: named places where a host can be made to break, to prove that nothing is lost there.

Theory. A point costs one call and does nothing. A process that is told so at its start arms some of them; then
the n-th time that a place of that name is passed, what was armed there happens. Nothing that the host serves can
arm a point. Each place is passed by one thread only, so counting needs no lock.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from weftwork.ports.storage.event_log import StoreUnavailable


class FaultPoint(msgspec.Struct, frozen=True):
    """Where a point stands, and what may go wrong there by nature; None where nothing can be raised."""

    description: str
    fault: type[Exception] | None = None


POINTS: Final[Mapping[str, FaultPoint]] = {
    "boot.seated": FaultPoint("The process holds the lock of the data folder; the store is not open."),
    "migration.applied": FaultPoint("A migration has run; the store's version does not say so yet.", OSError),
    "migration.stamped": FaultPoint("A migration and its version are written, not committed.", OSError),
    "recover.run": FaultPoint("An unfinished run is about to be loaded at start.", StoreUnavailable),
    "boot.ready": FaultPoint("Runs are recovered and workflows registered; nobody can connect yet."),
    "sweep.begin": FaultPoint("Old idempotency records are about to be deleted.", StoreUnavailable),
    "writer.begin": FaultPoint("Writes are queued; their transaction has not begun.", OSError),
    "writer.commit": FaultPoint("Every write of a transaction is done; it is not committed.", OSError),
    "writer.committed": FaultPoint("A transaction is committed; nobody has been told.", OSError),
    "writer.checkpoint": FaultPoint("The write-ahead log is about to be copied into the database.", OSError),
    "writer.checkpointed": FaultPoint("The write-ahead log has been copied; the next write starts it anew.", OSError),
    "create.checked": FaultPoint("A new run has passed every check; it is not stored.", StoreUnavailable),
    "create.durable": FaultPoint("A new run is stored; it does not go on and nobody has been told.", StoreUnavailable),
    "create.started": FaultPoint("A new run is stored and goes on; its caller has not been told."),
    "cancel.durable": FaultPoint("A cancel is stored; its caller has not been told.", StoreUnavailable),
    "answer.durable": FaultPoint("An answer or a vote is stored; its caller has not been told.", StoreUnavailable),
    "delete.durable": FaultPoint("A run is deleted; its caller has not been told.", StoreUnavailable),
    "purge.piece": FaultPoint("A piece of what a deleted run left is gone; the rest of it is not.", StoreUnavailable),
    "append.begin": FaultPoint("A run has decided on events; they are not stored.", StoreUnavailable),
    "append.durable": FaultPoint("Events are stored; the run and its readers do not know.", StoreUnavailable),
    "append.published": FaultPoint("Readers know of new events; the nodes that they start do not run yet."),
    "node.launch": FaultPoint("The start of a node is stored; the node does not run yet."),
    "node.ended": FaultPoint("A node has ended; its outcome is not stored."),
    "run.ended": FaultPoint("The last event of a run is stored; the run is still taken for live."),
    "run.parked": FaultPoint("A run that only waits for people has left the memory; its alarm is not set."),
    "alarm.ring": FaultPoint("Runs that wait for people are due; they are not woken yet.", StoreUnavailable),
    "kin.related": FaultPoint("A run's word to its parent or children is stored; nobody has acted on it."),
    "kin.deliver": FaultPoint("Word of children is about to be given to their parent.", StoreUnavailable),
    "kin.order": FaultPoint("Children are about to be cancelled because their parent wants it.", StoreUnavailable),
    "stream.begin": FaultPoint("A reader is let in; the first byte of its stream is not sent.", StoreUnavailable),
    "stream.frame": FaultPoint("Frames are about to be sent to a reader.", StoreUnavailable),
    "stream.piece": FaultPoint("A piece of a stream is sent; the rest of a large frame is not."),
    "response.piece": FaultPoint("A piece of a large answer is sent; the rest of it is not."),
    "blob.partial": FaultPoint("The first bytes of an asset are written; the file has no key yet.", StoreUnavailable),
    "blob.synced": FaultPoint("All bytes of an asset are durable; the file has no key yet.", StoreUnavailable),
    "blob.renamed": FaultPoint("An asset's file has its key and is durable; nobody has been told.", StoreUnavailable),
    "blob.deleted": FaultPoint("An asset's file is deleted; whoever asked for it has not been told.", StoreUnavailable),
    "asset.kept": FaultPoint("The bytes of an asset are durable; no row tells of them.", StoreUnavailable),
    "asset.written": FaultPoint("An asset has its row; nobody has been told, and nothing names it.", StoreUnavailable),
    "asset.doomed": FaultPoint("Rows of assets that nobody needs are gone; their bytes are not.", StoreUnavailable),
    "asset.deleted": FaultPoint("The bytes of such an asset are gone; the note of their key is not.", StoreUnavailable),
    "asset.buried": FaultPoint("Bytes and notes of such assets are gone.", StoreUnavailable),
    "key.stored": FaultPoint("A new key is stored; nobody has seen it.", StoreUnavailable),
    "admin.answer": FaultPoint("A request on the administration socket is carried out, not answered.", ConnectionError),
    "drain.begin": FaultPoint("The host is told to end; everything still runs."),
    "drain.close": FaultPoint("Runs are left where they are; the store is still open."),
}
"""Every point there is."""

_armed: dict[tuple[str, int], Callable[[], None]] = {}
_pass_counts: dict[str, int] = {}


def fault_point(name: str) -> None:
    """Pass the place of this name. Does what is armed there for this time, if anything."""
    if _armed:
        _run_armed(name)


def arm(actions: Mapping[tuple[str, int], Callable[[], None]]) -> None:
    """From now on, do these things: (name of a point, how many times it has been passed then) -> action."""
    _armed.update(actions)


def _run_armed(name: str) -> None:
    times = _pass_counts[name] = _pass_counts.get(name, 0) + 1
    action = _armed.get((name, times))
    if action is not None:
        action()
