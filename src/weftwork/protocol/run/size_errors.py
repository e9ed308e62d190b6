"""Errors about the size of a run: of runs and nodes at a limit, and of runs that are too large to be loaded.

The error of a run that is set aside is in its event and in its projection, and is read again to compare it with the
limits of the host.
"""

from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.canonical import encode_recorded
from weftwork.protocol.limits import LOG_TOO_LARGE, QUOTA_EXCEEDED, STATE_TOO_LARGE, Limits
from weftwork.protocol.run.header import TERMINAL_STATUSES
from weftwork.protocol.run.projection import Projection, StateRow

_AT_LIMIT: Final = {
    STATE_TOO_LARGE: "The values that the run holds would exceed its limit. Keep large values in assets, or raise "
    "`max_run_state_bytes`.",
    LOG_TOO_LARGE: "The event log of the run would exceed its limit. Divide the work among several runs, or raise "
    "`max_run_log_bytes`.",
    QUOTA_EXCEEDED: "The event logs of the tenant would exceed their limit. Delete runs that are not needed, or raise "
    "`max_log_bytes_per_tenant`.",
}
_SET_ASIDE: Final = {
    LOG_TOO_LARGE: "The run is set aside: its event log has {observed:,} bytes, and the limit is {limit:,}. Cancel the "
    "run, or raise `max_run_log_bytes` and restart the host.",
    STATE_TOO_LARGE: "The run is set aside: it holds values of {observed:,} bytes or more, and the limit is {limit:,}. "
    "Cancel the run, or raise `max_run_state_bytes` and restart the host.",
}


class Sizes(msgspec.Struct, frozen=True):
    """The details of an error about size."""

    limit: int
    observed: int


class SizeError(msgspec.Struct, frozen=True):
    """An error about size, as events and projections have it."""

    code: str
    message: str
    details: Sizes

    @property
    def document(self) -> dict[str, Any]:
        return msgspec.to_builtins(self)


def limit_error(code: str, limit: int, observed: int) -> SizeError:
    """The error of a run or node that would exceed a limit."""
    return SizeError(code, _AT_LIMIT[code], Sizes(limit, observed))


def set_aside_error(code: str, limits: Limits, observed: int) -> SizeError:
    """The error of a run that is too large to be loaded."""
    limit = limits.max_run_log_bytes if code == LOG_TOO_LARGE else limits.max_run_state_bytes
    return SizeError(code, _SET_ASIDE[code].format(limit=limit, observed=observed), Sizes(limit, observed))


def find_set_aside_error(projection: Projection) -> SizeError | None:
    """Why a run is set aside; None if it is not. Only such a run has an error before it ends."""
    if projection.error is None or projection.status in TERMINAL_STATUSES:
        return None
    return msgspec.json.decode(projection.error, type=SizeError)


def refusal(status: str, error: SizeError) -> ClientFault:
    """The error of a request that is refused because of the size of the run."""
    return ClientFault("conflict", error.message, {"runStatus": status, "reason": error.code})


def cancelled_interrupt(interrupt_id: str, row: bytes) -> StateRow:
    """The row of an interrupt of a run that was cancelled, from its row while it was open."""
    document = {**msgspec.json.decode(row), "status": "cancelled"}
    return StateRow("interrupt", interrupt_id, encode_recorded(document))
