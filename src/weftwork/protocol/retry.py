"""Retries: how long a host waits before it tries a failed node again."""

from weftwork.protocol.definition import Retry


def retry_delay(retry: Retry, failures: int, chance: float) -> int:
    """node-12 (readings, Retries): doubled, or as configured, with each failure, up to a bound; then somewhere in
    the upper half of that, so that nodes that failed together do not come back together."""
    # A large factor overflows long before anybody could wait for it.
    full = retry.delay_ms
    for _ in range(failures):
        full = min(full * retry.factor, retry.max_delay_ms)
    return int(min(full, retry.max_delay_ms) * (0.5 + 0.5 * chance))
