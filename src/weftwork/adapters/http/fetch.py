"""The route of the guarded client's seam."""

from collections.abc import Callable
from typing import Any

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.ports import outbound
from weftwork.protocol import schema


class FetchRoutes:
    """safeFetch. `moved` makes a client for which every name has moved to the given address."""

    def __init__(self, client: outbound.Outbound, moved: Callable[[str], outbound.Outbound]) -> None:
        self._client = client
        self._moved = moved

    async def safe_fetch(self, request: Request) -> Response:
        document = await request.document()
        schema.require("safe-fetch", document)
        address = document.get("simulateRebindTo")
        client = self._client if address is None else self._moved(address)
        return json_response(200, await _tried(client, document["url"], document.get("init", {})))


async def _tried(client: outbound.Outbound, url: str, init: dict[str, Any]) -> dict[str, Any]:
    headers = tuple(init.get("headers", {}).items())
    wanted = outbound.Request(url, init.get("method", "GET"), headers, init.get("body", "").encode())
    try:
        return {"outcome": "fetched", "status": (await client.fetch(wanted)).status}
    except outbound.FetchRefused as refused:
        return {"outcome": "blocked", "blocked": refused.blocked}
    except outbound.FetchFailed:
        return {"outcome": "failed"}
