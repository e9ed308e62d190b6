"""Routes of runs that start runs."""

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.engine.kinship import Kinship
from weftwork.protocol.kinship import MAX_TREE, TREE


class KinshipRoutes:
    """getRunAncestry, getRunTree."""

    def __init__(self, kinship: Kinship) -> None:
        self._kinship = kinship

    async def ancestry(self, request: Request) -> Response:
        return json_response(200, await self._kinship.ancestry(request.caller, request.params["runId"]))

    async def tree(self, request: Request) -> Response:
        limit = request.integer("limit", 1, MAX_TREE, TREE)
        return json_response(200, await self._kinship.tree(request.caller, request.params["runId"], limit))
