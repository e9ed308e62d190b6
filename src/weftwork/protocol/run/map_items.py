"""Items of a map: what is recorded for each item, and the results of a map that collects errors.

A map that collects errors runs all items. An item that fails is recorded like one that completes, so it does not run
again after a restart. The results contain one entry for each item, in the order of the items.
"""

from typing import Any, Final

import msgspec

ON_ERROR: Final = "onError"
"""The member of a map's config with one of ERROR_MODES."""
ERROR_MODES: Final = ("fail", "collect")
"""What an item that fails does: `fail` ends the map, `collect` becomes an entry of the results. The first is the
default."""
MAX_ERROR_CHARACTERS: Final = 1_000
"""The length of the message of a collected error, because a map can have many of them."""


class ItemError(msgspec.Struct, frozen=True):
    """The error of an item, recorded in place of its output."""

    error: dict[str, Any]


def item_error(code: str, message: str, child_error: dict[str, Any] | None = None) -> ItemError:
    """node-16: the error of an item as it is recorded: without details, and with a bounded message. The error of a
    child run takes precedence."""
    if child_error is not None:
        code, message = child_error["code"], child_error["message"]
    if len(message) > MAX_ERROR_CHARACTERS:
        message = f"{message[: MAX_ERROR_CHARACTERS - 3]}..."
    return ItemError({"code": code, "message": message})


def collected_entry(ended: Any, child_run_id: str | None = None) -> dict[str, Any]:
    """node-16 (host): the entry of an item that has ended: its output, or its error and the child run that failed."""
    if not isinstance(ended, ItemError):
        return {"status": "completed", "output": ended}
    entry = {"status": "failed", "error": ended.error}
    return entry if child_run_id is None else {**entry, "childRunId": child_run_id}


def collected_outputs(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """node-16: the outputs of a map that collects errors."""
    failed = sum(each["status"] == "failed" for each in entries)
    return {"results": entries, "count": len(entries), "failed": failed}
