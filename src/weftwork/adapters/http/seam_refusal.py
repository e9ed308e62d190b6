"""The refusal of some seams, which has a form of its own: the code stands one level lower than elsewhere."""

from weftwork.adapters.http.message import Response, json_response


def seam_refusal(code: str, message: str) -> Response:
    """env-35 (readings, Errors of seams): what checks of hosts read. Never repeats what was sent."""
    return json_response(400, {"error": {"code": code, "message": message}})
