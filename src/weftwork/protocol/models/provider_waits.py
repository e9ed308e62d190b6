"""How long a node waits for a model provider that is down."""

from typing import Final

MIN_PROVIDER_WAIT_MS: Final = 1_000
MAX_PROVIDER_WAIT_MS: Final = 600_000
"""The bounds of one wait. A shorter one would load the run from the store more often than the provider can recover."""
MAX_PROVIDER_WAITS_MS: Final = 3_600_000
"""All waits of a node for providers, in all attempts of one loop round."""


def next_provider_wait(wanted_ms: int, waited_ms: int) -> int | None:
    """park-04 (host): the length of the next wait of a node that has waited for `waited_ms`, if the provider wants a
    wait of `wanted_ms`; None if the node has waited long enough and fails.

    The last wait is cut off at the limit, so that the provider is called once more before the node fails.
    """
    left = MAX_PROVIDER_WAITS_MS - waited_ms
    if left < MIN_PROVIDER_WAIT_MS:
        return None
    return min(max(wanted_ms, MIN_PROVIDER_WAIT_MS), MAX_PROVIDER_WAIT_MS, left)
