"""Routes of surfaces: read a form and press one of its buttons, with an API key or with the token of a link."""

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.adapters.http.routes.interrupts import resolution_response
from weftwork.engine.api.interrupts import Interrupts
from weftwork.engine.api.surfaces import Surfaces


class SurfaceRoutes:
    """getSurface, actOnSurface, getSurfaceByToken, actOnSurfaceByToken."""

    def __init__(self, surfaces: Surfaces, interrupts: Interrupts) -> None:
        self._surfaces = surfaces
        self._interrupts = interrupts

    async def get(self, request: Request) -> Response:
        params = request.params
        return json_response(200, await self._surfaces.read(request.caller, params["runId"], params["surfaceId"]))

    async def act(self, request: Request) -> Response:
        document, key, params = await request.json(), request.idempotency_key, request.params
        place = params["runId"], params["surfaceId"], params["actionId"]
        return resolution_response(await self._surfaces.act(request.caller, *place, document, key))

    async def get_by_token(self, request: Request) -> Response:
        return json_response(200, await self._surfaces.inspect(request.params["token"]))

    async def act_by_token(self, request: Request) -> Response:
        token, action_id = request.params["token"], request.params["actionId"]
        # An invalid token is reported before any error in the body.
        self._interrupts.check_token(token, "resolve")
        document, key = await request.json(), request.idempotency_key
        return resolution_response(await self._surfaces.act_by_token(token, action_id, document, key))
