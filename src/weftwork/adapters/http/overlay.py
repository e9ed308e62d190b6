"""The overlay: capabilities that the seams are to see as present or missing, whatever the host has."""

from collections import OrderedDict
from typing import Final

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.protocol import schema

NAMES_KEPT: Final = 256
"""Of one partition; the oldest go first."""


class Overlay:
    """toggleCapability. Only seams look here; every partition has its own."""

    def __init__(self) -> None:
        self._values: dict[str, OrderedDict[str, bool]] = {}

    def get(self, partition: str, name: str) -> bool | None:
        """What is to be seen; None: what is there."""
        values = self._values.get(partition)
        return None if values is None else values.get(name)

    def reset(self, partition: str) -> None:
        """Forget everything of a partition."""
        self._values.pop(partition, None)

    async def toggle(self, request: Request) -> Response:
        """env-34 (RFC 0021, conformance): null takes a name out, and reset all of them; the answer is what is left."""
        body = await request.document()
        schema.require("capability-toggle", body)
        values = self._values.setdefault(request.caller.partition, OrderedDict())
        if body.get("reset"):
            values.clear()
        if "name" in body:
            values.pop(body["name"], None)
            if body.get("value") is not None:
                values[body["name"]] = body["value"]
                if len(values) > NAMES_KEPT:
                    values.popitem(last=False)
        return json_response(200, {"overlay": dict(values)})
