"""A host on PostgreSQL with one guard taken away, so that a proof can show that it would notice, or with less time."""

import asyncio
from typing import Any

from weftwork.adapters.postgres import array_statements
from weftwork.adapters.postgres.database import connection
from weftwork.adapters.postgres.processes.election import PostgresElection
from weftwork.engine.api import store_changes
from weftwork.engine.host import executor
from weftwork.engine.host.executor import Executor
from weftwork.engine.nodes import effect_ledger
from weftwork.ports.storage.event_log import RunCreated, StoreUnavailable

FENCE = "({g}.fence IS NULL OR r.fence = {g}.fence)"


def skip_fence_check() -> None:
    for name, letter in (("_LOCATE", "g"), ("_UPDATE_RUN", "w")):
        text = getattr(array_statements, name)
        assert FENCE.format(g=letter) in text
        setattr(array_statements, name, text.replace(FENCE.format(g=letter), "true"))
    effect_ledger.MAX_PROOF_AGE_NS = 10**18  # type: ignore[misc]
    regain = PostgresElection._regain

    async def regain_later(self: PostgresElection) -> bool:
        # The host finds out in milliseconds that it was replaced, which is about as long as an effect takes to begin.
        await asyncio.sleep(1)
        return await regain(self)

    PostgresElection._regain = regain_later  # type: ignore[method-assign]


def skip_reading_back() -> None:
    async def unknown(*_: Any) -> RunCreated:
        raise StoreUnavailable("nobody has looked whether the run is stored")

    executor.confirm_created = unknown


def skip_look_for_work() -> None:
    shorten_times()

    async def nothing(self: Executor) -> None: ...

    Executor.find_work = nothing  # type: ignore[method-assign]


def shorten_times() -> None:
    connection.SESSION["idle_in_transaction_session_timeout"] = "300ms"  # type: ignore[index]
    store_changes.POLL_MS //= 10  # type: ignore[misc]


def allow_idle_transactions() -> None:
    connection.SESSION["idle_in_transaction_session_timeout"] = "0"  # type: ignore[index]
