"""Child runs that come into being with an append of their parent."""

from weftwork.adapters.sqlite import kinship
from weftwork.adapters.sqlite.create import PENDING, insert_run
from weftwork.adapters.sqlite.driver import Connection
from weftwork.adapters.sqlite.head import Head, Heads
from weftwork.ports.eventlog import Spawn
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run import RunKey

Brood = tuple[tuple[Spawn, bytes], ...]
"""Children to make, each with its encoded header."""

_IN_USE = "SELECT 1 FROM runs WHERE partition = ? AND run_id = ?"


def check_free(connection: Connection, brood: Brood) -> None:
    """Raises HostFault, before anything is written, if a run id is in use."""
    asked: set[RunKey] = set()
    for spawn, _ in brood:
        run = spawn.header.key
        if run in asked or connection.execute(_IN_USE, (run.partition, run.run_id)).fetchall():
            raise HostFault(f"the run id {run.run_id} is in use")
        asked.add(run)


def spawn_all(connection: Connection, heads: Heads, parent: Head, brood: Brood) -> None:
    """Make the children of a run, pending."""
    for spawn, document in brood:
        header = spawn.header
        run_no = insert_run(connection, heads, header, document, spawn.hidden, PENDING)
        assert header.parent is not None, "the batch was checked"
        kinship.adopt(connection, run_no, parent.run_no, header.partition, header.parent)
    if not parent.has_children:
        kinship.has_children(connection, parent.run_no)
