"""Ended runs by their end. The index has them by partition, so a search over all of them hops from one to the next."""

from weftwork.adapters.sqlite.driver import Connection
from weftwork.protocol.run import RunKey

# One that its parent has not heard of cannot be deleted yet.
_HEARD = "NOT EXISTS (SELECT 1 FROM news n WHERE n.run_no = r.run_no)"
OF_ONE = f"""
    SELECT partition, run_id FROM runs r WHERE partition = ? AND completed_at < ? AND {_HEARD}
    ORDER BY completed_at LIMIT ?
"""  # noqa: S608 - nothing but constants
COUNT_OF_ONE = f"SELECT count(*) FROM runs r WHERE partition = ? AND completed_at < ? AND {_HEARD}"  # noqa: S608

_PARTITIONS = """
    WITH RECURSIVE partitions (name) AS (
      SELECT min(partition) FROM runs
      UNION ALL
      SELECT (SELECT min(partition) FROM runs WHERE partition > name) FROM partitions WHERE name IS NOT NULL
    )
"""
OF_ALL = f"""
    {_PARTITIONS} SELECT r.partition, r.run_id FROM partitions CROSS JOIN runs r
    ON r.partition = name AND r.completed_at < ? AND {_HEARD} LIMIT ?
"""  # noqa: S608 - nothing but constants
COUNT_OF_ALL = f"""
    {_PARTITIONS} SELECT count(*) FROM partitions CROSS JOIN runs r
    ON r.partition = name AND r.completed_at < ? AND {_HEARD}
"""  # noqa: S608 - nothing but constants


def ended_before(completed_before: int, limit: int, partition: str | None, connection: Connection) -> list[RunKey]:
    """EventLog.ended_before."""
    most = max(limit, 0)
    if partition is None:
        found = connection.execute(OF_ALL, (completed_before, most))
    else:
        found = connection.execute(OF_ONE, (partition, completed_before, most))
    return [RunKey(*row) for row in found.fetchall()]


def count_ended(completed_before: int, partition: str | None, connection: Connection) -> int:
    """EventLog.count_ended."""
    if partition is None:
        found = connection.execute(COUNT_OF_ALL, (completed_before,))
    else:
        found = connection.execute(COUNT_OF_ONE, (partition, completed_before))
    return found.fetchall()[0][0]
