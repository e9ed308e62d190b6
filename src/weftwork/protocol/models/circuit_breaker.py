"""The circuit breaker of a model provider: when calls are let through, and how long they wait otherwise. Pure.

The circuit is closed at first. Failed calls in a row open it, and while it is open no call goes through. After its
time, one call is let through as a probe: if it succeeds, the circuit closes, else it is open again for longer. Every
time is in milliseconds on a clock that only moves forward.
"""

from typing import Final

import msgspec

FAILURES_TO_OPEN: Final = 5
BASE_WAIT_MS: Final = 5_000
"""The wait after the first failed call. It doubles with each further failure in a row."""
MAX_WAIT_MS: Final = 300_000
PROBE_WAIT_MS: Final = 5_000
"""The wait of a call that arrives while a probe is in progress."""


class Circuit(msgspec.Struct, frozen=True):
    failures: int = 0
    """Failed calls in a row."""
    open_until: int | None = None
    """None: the circuit is closed."""
    is_probing: bool = False


class Admission(msgspec.Struct, frozen=True):
    """Whether a call is let through. `wait_ms` is set if it is not."""

    circuit: Circuit
    wait_ms: int | None = None
    is_probe: bool = False


def admit(circuit: Circuit, now: int) -> Admission:
    """model-52 (host): let a call through, or say how long it has to wait."""
    if circuit.open_until is None:
        return Admission(circuit)
    if now < circuit.open_until:
        return Admission(circuit, circuit.open_until - now)
    if circuit.is_probing:
        return Admission(circuit, PROBE_WAIT_MS)
    return Admission(msgspec.structs.replace(circuit, is_probing=True), is_probe=True)


def after_failure(circuit: Circuit, now: int, wait_ms: int, is_probe: bool) -> Circuit:
    """model-52 (host): a call has failed, and the provider is to be called again after `wait_ms`."""
    failures = circuit.failures + 1
    until = circuit.open_until
    if until is not None or is_probe or failures >= FAILURES_TO_OPEN:
        until = max(until or 0, now + wait_ms)
    return Circuit(failures, until, circuit.is_probing and not is_probe)


def after_cancel(circuit: Circuit, is_probe: bool) -> Circuit:
    """model-52 (host): a call has ended without a result. If it was the probe, the next call is one."""
    return msgspec.structs.replace(circuit, is_probing=False) if is_probe else circuit


def down_wait_ms(failures: int, fraction: float) -> int:
    """model-52 (host): how long to wait after that many failed calls in a row, if the provider does not say it.
    `fraction`, from 0 to 1, makes the wait 50 % to 100 % of its length, so that waiting nodes do not all call at the
    same time."""
    whole = min(BASE_WAIT_MS * 2 ** min(max(failures - 1, 0), 16), MAX_WAIT_MS)
    return int(whole * (0.5 + 0.5 * fraction))
