"""Settings of a node: its time limit, how often it is retried, and the delay before each retry."""

from typing import Any, Final

import msgspec


class RetryPolicy(msgspec.Struct, frozen=True):
    """How often a failed node is tried again, and how long the host waits before it does."""

    max_retries: int = 0
    delay_ms: int = 500
    backoff: float = 2.0
    max_delay_ms: int = 60_000


NODE_SETTINGS_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "maxRetries": {"type": "integer", "minimum": 0, "maximum": 100},
        "retryDelayMs": {"type": "integer", "minimum": 0, "maximum": 86_400_000},
        "retryBackoff": {"type": "number", "minimum": 1, "maximum": 10},
        "retryMaxDelayMs": {"type": "integer", "minimum": 0, "maximum": 86_400_000},
        "timeoutMs": {"type": "integer", "minimum": 0, "maximum": 31_536_000_000},
    },
}
"""wf-13 (readings, Node settings): the text leaves a node's settings open; these are ours."""


def parse_retry_policy(settings: dict[str, Any], most: int) -> RetryPolicy:
    """How often a node is tried again; `most` is what the workflow says."""
    if not most and "maxRetries" not in settings:
        return RetryPolicy()
    plain = RetryPolicy()
    return RetryPolicy(
        max_retries=settings.get("maxRetries", most),
        delay_ms=settings.get("retryDelayMs", plain.delay_ms),
        backoff=settings.get("retryBackoff", plain.backoff),
        max_delay_ms=settings.get("retryMaxDelayMs", plain.max_delay_ms),
    )


def retry_delay(retry: RetryPolicy, failures: int, jitter: float) -> int:
    """node-12 (readings, Retries): exponential backoff up to `max_delay_ms`, jittered between 50 % and 100 %.

    `jitter` is a random number from 0 to 1. It keeps nodes that failed together from retrying together.
    """
    # Capped in every step: a power of a large factor would overflow.
    full = retry.delay_ms
    for _ in range(failures):
        full = min(full * retry.backoff, retry.max_delay_ms)
    return int(min(full, retry.max_delay_ms) * (0.5 + 0.5 * jitter))
