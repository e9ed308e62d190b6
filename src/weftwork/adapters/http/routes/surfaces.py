"""Routes of surfaces: read a form and press one of its buttons, with an API key or with the token of a link.

The body of an action is closed: values by field id, and nothing that could name another button, interrupt or target.
"""

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.adapters.http.routes.interrupts import resolution_response
from weftwork.engine.api.interrupts import Interrupts
from weftwork.engine.api.surfaces import Surfaces


class SurfaceRoutes:
    """getSurface, actOnSurface, getSurfaceByToken, actOnSurfaceByToken.

    The parameters of a path are in the order of the path: the run, the surface, the action; or the token, the action.
    """

    def __init__(self, surfaces: Surfaces, interrupts: Interrupts) -> None:
        self._surfaces = surfaces
        self._interrupts = interrupts

    async def get(self, request: Request) -> Response:
        run_id, surface_id = request.params.values()
        return json_response(200, await self._surfaces.read(request.caller, run_id, surface_id))

    async def act(self, request: Request) -> Response:
        run_id, surface_id, action_id = request.params.values()
        document, key = await request.json(), request.idempotency_key
        outcome = await self._surfaces.act(request.caller, run_id, surface_id, action_id, document, key)
        return resolution_response(outcome)

    async def get_by_token(self, request: Request) -> Response:
        (token,) = request.params.values()
        return json_response(200, await self._surfaces.inspect(token))

    async def act_by_token(self, request: Request) -> Response:
        token, action_id = request.params.values()
        # An invalid token is reported before any error in the body.
        self._interrupts.check_token(token, "resolve")
        document, key = await request.json(), request.idempotency_key
        return resolution_response(await self._surfaces.act_by_token(token, action_id, document, key))
