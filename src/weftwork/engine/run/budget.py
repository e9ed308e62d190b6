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

    state_limit: int
    log_limit: int
    reserve: int
    """The part of the log limit that the nodes of the run cannot use."""
    log_bytes: int = 0
    """Size of the committed log."""
    tenant: TenantLogs | None = None
    """The logs of the tenant, if they are limited."""
    partition: str = ""

    def room(self, state: RunState) -> int:
        """The bytes of events that a batch may add without exceeding a limit. May be negative."""
        if self.tenant is not None:
            # Every decision is examined, because the other runs of the tenant use the same quota.
            return -1
        in_state, in_log = self.state_limit - state.live_bytes, self.log_limit - self.reserve - self.log_bytes
        return in_state if in_state < in_log else in_log

    def find_breach(self, state: RunState, drafts: tuple[Draft, ...], batch_bytes: int) -> Breach | None:
        """size-01, size-02, size-03 (host): the limit that these events would exceed; None if they fit.

        `batch_bytes` is the size of the batch so far. Encodes no more than the limits allow, and keeps nothing.
        """
        log_bytes, live_bytes, total = self.log_bytes + batch_bytes, state.live_bytes, 0
        for draft in drafts:
            size = len(encode_stored(draft.payload))
            total += size + DOCUMENT_OVERHEAD
            if (needed := log_bytes + total + self.reserve) > self.log_limit:
                return Breach(LOG_TOO_LARGE, self.log_limit, needed, needed - self.reserve <= self.log_limit)
            if draft.type not in HELD_TYPES or (draft.type in ERROR_TYPES and size <= SMALL_ERROR):
                continue
            live_bytes += size
            if draft.type == RELEASING_TYPE and (node := state.nodes.get(draft.node_id or "")) is not None:
                live_bytes -= sum(node.held.values())
            if live_bytes > self.state_limit:
                limit = self.state_limit
                return Breach(STATE_TOO_LARGE, limit, live_bytes, live_bytes <= limit + reserve_of(limit))
        if self.tenant is not None and not self.tenant.reserve(self.partition, total):
            return Breach(QUOTA_EXCEEDED, self.tenant.quota, self.tenant.used(self.partition) + total)
        return None


def budget_of(limits: Limits, partition: str, tenant: TenantLogs | None, log_bytes: int = 0) -> RunBudget:
    """The budget of a run whose log has this size."""
    log_limit = limits.max_run_log_bytes
    return RunBudget(limits.max_run_state_bytes, log_limit, reserve_of(log_limit), log_bytes, tenant, partition)


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
