"""Routes of surfaces: read a form and press one of its buttons, with an API key or with the token of a link.

The body of an action is closed: values by field id, and nothing that could name another button, interrupt or target.
A client of A2UI reads and answers a form in messages of A2UI, which name the media type application/a2ui+json.
"""

from typing import Any, Final

import msgspec

from weftwork.adapters.http.message import JSON, Request, Response, json_response
from weftwork.adapters.http.routes.interrupts import prefers, resolution_response
from weftwork.engine.api.interrupts import Interrupts
from weftwork.engine.api.surfaces import Surfaces
from weftwork.protocol.forms.surface_form import a2ui_messages
from weftwork.protocol.surfaces.a2ui import MEDIA_TYPE

_A2UI: Final = MEDIA_TYPE.encode()


class SurfaceRoutes:
    """getSurface, actOnSurface, getSurfaceByToken, actOnSurfaceByToken.

    The parameters of a path are in the order of the path: the run, the surface, the action; or the token, the action.
    """

    def __init__(self, surfaces: Surfaces, interrupts: Interrupts) -> None:
        self._surfaces = surfaces
        self._interrupts = interrupts

    async def get(self, request: Request) -> Response:
        run_id, surface_id = request.params.values()
        return _surface_response(request, await self._surfaces.read(request.caller, run_id, surface_id))

    async def act(self, request: Request) -> Response:
        run_id, surface_id, action_id = request.params.values()
        document, key = await _action(request), request.idempotency_key
        is_a2ui = request.media_type == _A2UI
        outcome = await self._surfaces.act(request.caller, run_id, surface_id, action_id, document, key, is_a2ui)
        return resolution_response(outcome)

    async def get_by_token(self, request: Request) -> Response:
        (token,) = request.params.values()
        return _surface_response(request, await self._surfaces.inspect(token))

    async def act_by_token(self, request: Request) -> Response:
        token, action_id = request.params.values()
        # An invalid token is reported before any error in the body.
        self._interrupts.check_token(token, "resolve")
        document, key = await _action(request), request.idempotency_key
        is_a2ui = request.media_type == _A2UI
        return resolution_response(await self._surfaces.act_by_token(token, action_id, document, key, is_a2ui))


async def _action(request: Request) -> Any:
    return await request.json(media_types=(JSON, _A2UI))


def _surface_response(request: Request, document: dict[str, Any]) -> Response:
    """The surface as JSON, or as a list of A2UI messages if the client prefers them and the surface is rendered."""
    messages = a2ui_messages(document) if prefers(request.header(b"accept"), MEDIA_TYPE) else None
    if messages is None:
        return json_response(200, document)
    return Response(200, msgspec.json.encode(messages), content_type=_A2UI)
