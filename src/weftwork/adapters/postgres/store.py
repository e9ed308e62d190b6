"""The store: one schema of a PostgreSQL database that implements every storage port."""

from typing import Any

import msgspec

from weftwork.adapters.postgres.annotations import PostgresAnnotations
from weftwork.adapters.postgres.assets import PostgresAssets
from weftwork.adapters.postgres.child_runs import PostgresChildRuns
from weftwork.adapters.postgres.database.address import DEFAULT_SCHEMA, StoreAddress
from weftwork.adapters.postgres.database.connection import logger
from weftwork.adapters.postgres.database.lost_sessions import LostSessions
from weftwork.adapters.postgres.database.migrations import check_version, load_migrations, migrate, schema_version
from weftwork.adapters.postgres.database.pool import SESSIONS, SessionPool
from weftwork.adapters.postgres.database.writer import PostgresWriter
from weftwork.adapters.postgres.definitions import PostgresDefinitions
from weftwork.adapters.postgres.event_log import PostgresEventLog
from weftwork.adapters.postgres.forks import PostgresForks
from weftwork.adapters.postgres.idempotency import PostgresIdempotencyRecords
from weftwork.adapters.postgres.keys import PostgresKeys, PostgresSigningKeys
from weftwork.adapters.postgres.operation.table_copy import check_copy
from weftwork.adapters.postgres.ownership import PostgresRunOwnership
from weftwork.adapters.postgres.processes.election import ElectionTimes, PostgresElection
from weftwork.adapters.postgres.retention import PostgresRunRetention
from weftwork.adapters.postgres.run_queries import PostgresRunQueries
from weftwork.ports.storage.store import Store


class StoreUse(msgspec.Struct, frozen=True, rename="camel"):
    """Counts since the store was opened."""

    commits: int
    writes: int
    commit_p99_us: int
    """99 % of the last RECENT_COMMITS commits took at most so many microseconds."""
    reconnects: int
    pool_waits: int
    """Calls that had to wait for a session."""


class PostgresStore(Store):
    """A store in one schema of a PostgreSQL database. Several processes may have it open at the same time.

    `url` is that of the database, as in libpq: with sslmode, sslrootcert, several hosts. With `may_migrate`, `open`
    creates or upgrades the schema; without it, `open` raises HostFault for a schema that this release cannot use.
    `sessions` is the size of the pool; the writer, the election and the hints have one session each besides.
    """

    def __init__(
        self,
        url: str,
        schema: str = DEFAULT_SCHEMA,
        may_migrate: bool = False,
        sessions: int = SESSIONS,
        election_times: ElectionTimes | None = None,
    ) -> None:
        self.address = address = StoreAddress(url, schema)
        self._may_migrate = may_migrate
        lost = LostSessions()
        self._pool = pool = SessionPool(address, lost, sessions)
        self._writer = writer = PostgresWriter(address, lost)
        self.log = PostgresEventLog(pool, writer, address)
        self.ownership = PostgresRunOwnership(pool)
        self.election = PostgresElection(pool, address, election_times)
        self.queries = PostgresRunQueries(pool)
        self.child_runs = PostgresChildRuns(pool)
        self.forks = PostgresForks(pool, address)
        self.records = PostgresIdempotencyRecords(pool)
        self.retention = PostgresRunRetention(pool)
        self.definitions = PostgresDefinitions(pool, address)
        self.keys = PostgresKeys(pool)
        self.signing = PostgresSigningKeys(pool)
        self.annotations = PostgresAnnotations(pool, address)
        self.assets = PostgresAssets(pool, address)

    async def open(self) -> None:
        if self.address.sslmode == "disable" and not self.address.is_local:
            logger.warning("the connection to the store is not encrypted: %s", self.address.masked_url)
        migrations = load_migrations()
        if self._may_migrate:
            await migrate(self.address, migrations)
        await self._writer.open()
        try:
            if not self._may_migrate:
                check_version(
                    await schema_version(self._writer.connection, self.address), migrations, may_migrate=False
                )
            await check_copy(self._writer.connection)
            await self._pool.open()
        except BaseException:
            await self.close()
            raise

    def report(self) -> dict[str, Any]:
        """How this process has used the server since it opened the store."""
        writer = self._writer
        commits = sorted(writer.recent_commits) or [0.0]
        p99 = round(commits[int(len(commits) * 0.99)] * 1_000_000)
        return msgspec.to_builtins(StoreUse(writer.batches, writer.writes, p99, writer.reconnects, self._pool.waits))

    async def close(self) -> None:
        """Finish the accepted writes, then end all sessions. The election is released last: until then no other
        process executes runs."""
        await self._writer.close()
        await self._pool.close()
        await self.election.release()
