"""Which run is whose child, and how many a tree has."""

from weftwork.adapters.sqlite.driver import Connection
from weftwork.adapters.sqlite.head import Heads
from weftwork.adapters.sqlite.listing import number_of
from weftwork.adapters.sqlite.reader import snapshot
from weftwork.adapters.sqlite.run import find_numbered
from weftwork.ports.eventlog import Stored
from weftwork.protocol.run import Parent, RunKey

_ADOPT = "INSERT INTO kinship (run_no, parent_no, partition, root, awaited, cascades) VALUES (?, ?, ?, ?, ?, ?)"
_HAS_CHILDREN = "UPDATE runs SET has_children = 1 WHERE run_no = ?"
_LEAVE = "DELETE FROM kinship WHERE run_no = ?"
CHILDREN = """
    SELECT k.run_no FROM runs p CROSS JOIN kinship k ON k.parent_no = p.run_no AND k.run_no > ?
    WHERE p.partition = ? AND p.run_id = ? ORDER BY k.run_no LIMIT ?
"""
COUNT = "SELECT count(*) FROM kinship WHERE partition = ? AND root = ?"


def adopt(connection: Connection, run_no: int, parent_no: int, partition: str, parent: Parent) -> None:
    """Note a new run as the child of another one."""
    values = (run_no, parent_no, partition, parent.root, int(parent.awaited), int(parent.cascade))
    connection.execute(_ADOPT, values)


def has_children(connection: Connection, run_no: int) -> None:
    """Note that a run has started others."""
    connection.execute(_HAS_CHILDREN, (run_no,))


def join(connection: Connection, heads: Heads, run_no: int, partition: str, parent: Parent) -> None:
    """Note a run that was created by itself as the child that it says it is; its parent may be gone."""
    key = RunKey(partition, parent.run_id)
    head = heads.find(connection, key)
    adopt(connection, run_no, 0 if head is None else head.run_no, partition, parent)
    if head is not None and not head.has_children:
        has_children(connection, head.run_no)
        heads.keep(key, head._replace(has_children=True))


def leave(connection: Connection, run_no: int) -> None:
    """A child is deleted."""
    connection.execute(_LEAVE, (run_no,))


def children(run: RunKey, after: str | None, limit: int, connection: Connection) -> list[Stored]:
    """EventLog.children; behind an unknown run there is nothing."""
    with snapshot(connection):
        number = -1 if after is None else number_of(connection, RunKey(run.partition, after))
        if number is None:
            return []
        found = connection.execute(CHILDREN, (number, run.partition, run.run_id, max(limit, 0))).fetchall()
        return list(find_numbered(connection, run.partition, [row[0] for row in found]))


def descendants(run: RunKey, connection: Connection) -> int:
    """EventLog.descendants."""
    return connection.execute(COUNT, (run.partition, run.run_id)).fetchall()[0][0]
