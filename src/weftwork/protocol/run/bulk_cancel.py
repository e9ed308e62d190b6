"""Cancelling many runs with one request: its limit, and the result per run. Source: OpenWOP rest-endpoints."""

from typing import Any, Final

from weftwork.protocol.errors import NO_SUCH_RUN, invalid
from weftwork.protocol.json import schema
from weftwork.protocol.json.values import is_array, is_object

MAX_BULK_CANCEL: Final = 100
"""run-09: run ids in one request; the same number is advertised, and the schema of the body says it."""

_REFUSALS: Final[dict[str, str]] = {
    "not_found": NO_SUCH_RUN,
    "run_terminal": "The run has ended already.",
    "validation_error": "No run can have this id.",
}


def check_bulk_cancel(document: Any) -> None:
    """run-09 (OpenWOP rest-endpoints): a list that is too long is told how long it may be."""
    if is_object(document):
        given = document.get("runIds")
        if is_array(given) and len(given) > MAX_BULK_CANCEL:
            raise invalid(f"One request takes at most {MAX_BULK_CANCEL} run ids.", "/runIds", maxRunIds=MAX_BULK_CANCEL)
    schema.require("bulk-cancel", document)


def bulk_cancel_entry(run_id: str, status: str | None, code: str = "not_found") -> dict[str, Any]:
    """run-10 (OpenWOP rest-endpoints): what became of one run; `status` None stands for the refusal `code`.

    A run that is cancelled already is as good as cancelled now; one that ended otherwise is refused.
    """
    if status in ("cancelling", "cancelled"):
        return {"runId": run_id, "ok": True, "status": status}
    if status is not None:
        code = "run_terminal"
    return {"runId": run_id, "ok": False, "error": {"code": code, "message": _REFUSALS[code]}}
