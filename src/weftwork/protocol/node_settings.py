"""Settings of a node: how long it may take, and how often it is tried again."""

from typing import Any, Final

from weftwork.protocol.definition import Retry

NODE_SETTINGS: Final[dict[str, Any]] = {
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


def retry_of(settings: dict[str, Any], most: int) -> Retry:
    """How often a node is tried again; `most` is what the workflow says."""
    if not most and "maxRetries" not in settings:
        return Retry()
    plain = Retry()
    return Retry(
        most=settings.get("maxRetries", most),
        delay_ms=settings.get("retryDelayMs", plain.delay_ms),
        factor=settings.get("retryBackoff", plain.factor),
        max_delay_ms=settings.get("retryMaxDelayMs", plain.max_delay_ms),
    )
