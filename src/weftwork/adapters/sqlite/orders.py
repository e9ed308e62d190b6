"""Orders for children to end, one per child, in the order in which the children were made."""

from typing import Final

from weftwork.adapters.sqlite.driver import Connection
from weftwork.adapters.sqlite.listing import number_of
from weftwork.adapters.sqlite.reader import snapshot
from weftwork.ports.eventlog import Cascade, Instruction, Order
from weftwork.protocol.run import RunKey

_ORDER = """
    INSERT INTO orders (run_no, parent, reason)
    SELECT c.run_no, ?, ? FROM runs c CROSS JOIN kinship k ON k.run_no = c.run_no AND k.parent_no = ?
    WHERE c.partition = ? AND c.run_id = ? AND c.completed_at IS NULL ON CONFLICT (run_no) DO NOTHING
"""
_CASCADE: Final = """
    INSERT INTO orders (run_no, parent, reason)
    SELECT c.run_no, ?, ? FROM kinship k CROSS JOIN runs c ON c.run_no = k.run_no AND c.completed_at IS NULL
    WHERE k.parent_no = ? AND k.{which} = 1 ON CONFLICT (run_no) DO NOTHING
"""
CANCELLED_WITH_IT = _CASCADE.format(which="cascades")
WAITED_FOR = _CASCADE.format(which="awaited")
_DROP = "DELETE FROM orders WHERE run_no = ?"
PAGE = """
    SELECT c.partition, c.run_id, o.parent, o.reason FROM orders o CROSS JOIN runs c ON c.run_no = o.run_no
    WHERE o.run_no > ? ORDER BY o.run_no LIMIT ?
"""


def order(connection: Connection, run: RunKey, run_no: int, orders: tuple[Order, ...]) -> None:
    """Keep the orders of a run for those children of it that have not ended."""
    values = [(run.run_id, each.reason, run_no, run.partition, each.child) for each in orders]
    connection.executemany(_ORDER, values)


def cascade(connection: Connection, run: RunKey, run_no: int, given: Cascade) -> None:
    """Keep an order for all children of a run that this is about."""
    statement = WAITED_FOR if given.awaited else CANCELLED_WITH_IT
    connection.execute(statement, (run.run_id, given.reason, run_no))


def drop(connection: Connection, run_no: int) -> None:
    """A child has ended: there is nothing to follow."""
    connection.execute(_DROP, (run_no,))


def instructions(after: RunKey | None, limit: int, connection: Connection) -> list[Instruction]:
    """EventLog.instructions; behind an unknown child there is nothing."""
    with snapshot(connection):
        number = -1 if after is None else number_of(connection, after)
        if number is None:
            return []
        found = connection.execute(PAGE, (number, max(limit, 0))).fetchall()
    return [Instruction(RunKey(partition, run_id), parent, reason) for partition, run_id, parent, reason in found]
