"""Sessions that were lost after a commit was sent: the server may still be executing it, because it has not noticed.

A caller whose write has an unknown outcome reads it back, and repeats it if it is not there. So what is not there must
not happen afterwards. The server therefore ends these sessions before a session of this process reads or writes again.
"""

from typing import Final

from weftwork.adapters.postgres.database.connection import PostgresConnection
from weftwork.ports.storage.event_log import StoreUnavailable

# A process id may have been given to another session since then; one of another program is left alone.
_END: Final = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE pid = $1 AND pid <> pg_backend_pid() AND datname = current_database() AND application_name LIKE 'weftwork%'
"""


class LostSessions:
    """The lost sessions of one store, which its pool and its writer share. False if there are none."""

    def __init__(self) -> None:
        self._process_ids: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._process_ids)

    def add(self, connection: PostgresConnection) -> None:
        self._process_ids.add(connection.get_server_pid())

    async def end(self, connection: PostgresConnection) -> None:
        """End them, through this session. Raises StoreUnavailable if the server does not end one in time."""
        for process_id in list(self._process_ids):
            if await connection.fetchval(_END, process_id) is False:
                raise StoreUnavailable("the server still executes a write of a connection that was lost")
            self._process_ids.discard(process_id)
