"""Versions that a run pins, so that a run goes on with the behaviour that it started with when code has changed.

Source: OpenWOP version-negotiation (getVersion).
"""

from typing import Any, Final

from weftwork.protocol.json.decoder import MAX_INTEGER

MAX_CHANGE_ID: Final = 256
DEFAULT_VERSION: Final = -1
"""The version of code from before the change."""


def version_error(change_id: str, least: Any, most: Any, pinned: int | None) -> tuple[str, str] | None:
    """ver-02 (OpenWOP version-negotiation): code and message if the range is none, or does not hold what is pinned.

    The first to ask in a run pins the greatest version; `pinned` is None before that.
    """
    if not change_id or len(change_id) > MAX_CHANGE_ID:
        return "validation_error", f"The id of a change takes 1 to {MAX_CHANGE_ID} characters."
    if not (_is_version(least) and _is_version(most) and least <= most):
        return (
            "validation_error",
            f"The versions of a change are whole numbers from {DEFAULT_VERSION} on, the lesser one first.",
        )
    if pinned is not None and not least <= pinned <= most:
        return (
            "version_out_of_range",
            f"The run has pinned version {pinned} of {change_id}, and the node knows {least} to {most}.",
        )
    return None


def _is_version(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and DEFAULT_VERSION <= value <= MAX_INTEGER


ENGINE_VERSION: Final = 1
EVENT_LOG_SCHEMA_VERSION: Final = 2


EVENT_SCHEMA_VERSION: Final = 1
