"""The size limits of one run: how much its state and its log may still grow.

The size of the state is known from the fold (`fold.live_size`), and that of the log from its commits. So a batch gets
one number, the bytes that it may add with no limit exceeded, and `BatchBuilder.add` compares it with the events that it
has encoded anyway. Only a decision beyond that room is examined: the room of a batch ignores that values replace other
values, and that many events leave nothing in the state.

The last part of a log is reserved for the end of the run and for the answers of people (`reserve_of`).
"""

from typing import Final

import msgspec

from weftwork.engine.decide.decision import Decision
from weftwork.engine.decide.inputs import Input
from weftwork.engine.decide.size_limits import Breach, decide_breach
from weftwork.engine.run.append import UNLIMITED, BatchBuilder
from weftwork.engine.tenant_logs import TenantLogs
from weftwork.protocol.fold.live_size import ERROR_TYPES, HELD_TYPES, RELEASING_TYPE
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.limits import LOG_TOO_LARGE, QUOTA_EXCEEDED, STATE_TOO_LARGE, Limits
from weftwork.protocol.run.events import DOCUMENT_OVERHEAD, Draft

RESERVE_BYTES: Final = 4 * 2**20
"""Enough for the events that cancel 10,000 nodes and end the run."""


SMALL_ERROR: Final = 4096
"""Size of an error that a node may always add to the state, so that a failure keeps its own code."""


def reserve_of(limit: int) -> int:
    """The part of a limit that the nodes of a run cannot use."""
    return min(RESERVE_BYTES, limit // 8)


class RunBudget(msgspec.Struct, eq=False):
    """The size limits of one run."""

    limits: Limits
    tenant: TenantLogs | None = None
    """The logs of the tenant, if they are limited."""
    partition: str = ""
    log_bytes: int = 0
    """Size of the committed log."""

    def room(self, state: RunState) -> int:
        """The bytes of events that a batch may add without exceeding a limit. May be negative."""
        if self.tenant is not None:
            # Every decision is examined, because the other runs of the tenant use the same quota.
            return -1
        limits = self.limits
        in_state, log_limit = limits.max_run_state_bytes - state.live_bytes, limits.max_run_log_bytes
        # As `reserve_of`, without calls: every commit computes it.
        in_log = log_limit - self.log_bytes - (RESERVE_BYTES if log_limit >= 8 * RESERVE_BYTES else log_limit // 8)
        return in_state if in_state < in_log else in_log

    def find_breach(self, state: RunState, drafts: tuple[Draft, ...], batch_bytes: int) -> Breach | None:
        """size-01, size-02, size-03 (host): the limit that these events would exceed; None if they fit.

        `batch_bytes` is the size of the batch so far. Encodes no more than the limits allow, and keeps nothing.
        """
        log_limit, state_limit = self.limits.max_run_log_bytes, self.limits.max_run_state_bytes
        log_bytes, live_bytes, total = self.log_bytes + batch_bytes, state.live_bytes, 0
        reserve = reserve_of(log_limit)
        for draft in drafts:
            size = len(encode_stored(draft.payload))
            total += size + DOCUMENT_OVERHEAD
            if (needed := log_bytes + total + reserve) > log_limit:
                return Breach(LOG_TOO_LARGE, log_limit, needed, needed - reserve <= log_limit)
            if draft.type not in HELD_TYPES or (draft.type in ERROR_TYPES and size <= SMALL_ERROR):
                continue
            live_bytes += size
            if draft.type == RELEASING_TYPE and (node := state.nodes.get(draft.node_id or "")) is not None:
                live_bytes -= sum(node.held.values())
            if live_bytes > state_limit:
                return Breach(
                    STATE_TOO_LARGE, state_limit, live_bytes, live_bytes <= state_limit + reserve_of(state_limit)
                )
        if self.tenant is not None and not self.tenant.reserve(self.partition, total):
            return Breach(QUOTA_EXCEEDED, self.tenant.quota, self.tenant.used(self.partition) + total)
        return None


def add_within_limits(
    append: BatchBuilder, state: RunState, input_: Input, decision: Decision, budget: RunBudget
) -> Decision:
    """Add the events of a decision beyond the room of the batch if they exceed no limit, else those that follow from
    the breach. Returns the decision whose events were added."""
    breach = budget.find_breach(state, decision.events, append.size)
    if breach is not None and (instead := decide_breach(state, input_, breach)) is not None:
        decision = instead
    append.add(decision.events, room=UNLIMITED)
    return decision
