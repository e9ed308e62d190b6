"""Word of children that their parents have not heard, one per child, in the order in which the children were made."""

from weftwork.adapters.sqlite.driver import Connection
from weftwork.adapters.sqlite.listing import number_of
from weftwork.adapters.sqlite.reader import snapshot
from weftwork.ports.eventlog import News, Told
from weftwork.protocol.run import RunKey

_TELL = """
    INSERT INTO news (run_no, parent_no, node_id, key, sequence, status, outcome)
    SELECT k.run_no, k.parent_no, ?, ?, ?, ?, ?
    FROM kinship k CROSS JOIN runs p ON p.run_no = k.parent_no AND p.completed_at IS NULL WHERE k.run_no = ?
    ON CONFLICT (run_no) DO UPDATE SET node_id = excluded.node_id, key = excluded.key, sequence = excluded.sequence,
      status = excluded.status, outcome = excluded.outcome
"""
_UNHEARD = "SELECT 1 FROM news WHERE run_no = ?"
_HEAR = """
    DELETE FROM news WHERE run_no = (SELECT run_no FROM runs WHERE partition = ? AND run_id = ?) AND sequence <= ?
"""
_DROP = "DELETE FROM news WHERE parent_no = ?"
PAGE = """
    SELECT p.partition, p.run_id, c.run_id, n.node_id, n.key, n.sequence, n.status, n.outcome
    FROM news n CROSS JOIN runs c ON c.run_no = n.run_no CROSS JOIN runs p ON p.run_no = n.parent_no
    WHERE n.run_no > ? ORDER BY n.run_no LIMIT ?
"""


def tell(connection: Connection, run_no: int, told: Told) -> None:
    """Keep the word of a child instead of its last one, if its parent is there and has not ended."""
    connection.execute(_TELL, (told.node_id, told.key, told.sequence, told.status, told.outcome, run_no))


def is_unheard(connection: Connection, run_no: int) -> bool:
    """Whether there is word of this child."""
    return bool(connection.execute(_UNHEARD, (run_no,)).fetchall())


def drop(connection: Connection, parent_no: int) -> None:
    """A parent has ended: nobody will hear of its children."""
    connection.execute(_DROP, (parent_no,))


def news(after: News | None, limit: int, connection: Connection) -> list[News]:
    """EventLog.news; behind an unknown child there is nothing."""
    with snapshot(connection):
        number = -1
        if after is not None:
            known = number_of(connection, RunKey(after.parent.partition, after.told.child))
            if known is None:
                return []
            number = known
        found = connection.execute(PAGE, (number, max(limit, 0))).fetchall()
    return [News(RunKey(partition, parent), Told(*told)) for partition, parent, *told in found]


def hear(heard: tuple[News, ...], connection: Connection) -> None:
    """EventLog.hear."""
    values = [(each.parent.partition, each.told.child, each.told.sequence) for each in heard]
    connection.executemany(_HEAR, values)
