"""Parked runs by the instant at which they have something to do."""

from weftwork.adapters.sqlite.driver import Connection
from weftwork.protocol.run import RunKey

NEXT = "SELECT wake_at FROM runs WHERE parked = 1 AND wake_at IS NOT NULL AND wake_at > ? ORDER BY wake_at LIMIT 1"
DUE = """
    SELECT partition, run_id FROM runs WHERE parked = 1 AND wake_at IS NOT NULL AND wake_at <= ?
    ORDER BY wake_at, run_no LIMIT ?
"""


def next_wake(after: int, connection: Connection) -> int | None:
    """EventLog.next_wake."""
    found = connection.execute(NEXT, (after,)).fetchall()
    return found[0][0] if found else None


def due(until: int, limit: int, connection: Connection) -> list[RunKey]:
    """EventLog.due."""
    return [RunKey(*row) for row in connection.execute(DUE, (until, max(limit, 0))).fetchall()]
