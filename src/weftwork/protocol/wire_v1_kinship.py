"""Operations on runs that start runs. Part of the table in wire_v1."""

from typing import Final

from weftwork.protocol.kinship import MAX_TREE, TREE
from weftwork.protocol.route import Param, Route

KINSHIP: Final[tuple[Route, ...]] = (
    Route(
        "getRunAncestry",
        "GET",
        "/v1/runs/{runId}/ancestry",
        "Which run started this one.",
        scope="runs:read",
        response="run-ancestry-response",
        errors=("not_found",),
    ),
    Route(
        "getRunTree",
        "GET",
        "/v1/host/weftwork/runs/{runId}/tree",
        "A run and those below it: each parent before its children, siblings in the order of their creation.",
        scope="runs:read",
        response="run-tree",
        params=(
            Param(
                "limit",
                {"type": "integer", "minimum": 1, "maximum": MAX_TREE},
                f"Runs in the answer, {TREE} by default.",
            ),
        ),
        errors=("not_found",),
    ),
)
