"""The routes of the seam that programs the scripted provider."""

from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.protocol import schema
from weftwork.protocol.errors import invalid
from weftwork.protocol.wire_v1_models import MAX_NODE_ID


class Programmable(Protocol):
    """What the seam is a window on."""

    def program(self, partition: str, node_id: str, entries: Iterable[Any]) -> int:
        """Raises msgspec.ValidationError."""
        ...

    def last_budget(self, partition: str, node_id: str) -> int | None: ...


class MockAiRoutes:
    """programMockAi, getMockAiBudget. A tenant programs its own runs, and sees its own."""

    def __init__(self, programs: Programmable) -> None:
        self._programs = programs

    async def program(self, request: Request) -> Response:
        """model-19 (host): replaces what is left of the node's program."""
        document = await request.document()
        schema.require("mock-ai-program", document)
        try:
            count = self._programs.program(request.caller.partition, document["nodeId"], _known(document["program"]))
        except msgspec.ValidationError:
            raise invalid("An entry does not say one thing.", "/program") from None
        return json_response(200, {"ok": True, "count": count})

    async def budget(self, request: Request) -> Response:
        node_id = request.query("nodeId")
        if node_id is None or not 0 < len(node_id) <= MAX_NODE_ID:
            raise invalid(f"nodeId names the node, in {MAX_NODE_ID} or fewer characters.", parameter="nodeId")
        return json_response(200, {"maxTokens": self._programs.last_budget(request.caller.partition, node_id)})


def _known(program: list[dict[str, Any]]) -> list[dict[str, Any]]:
    members = schema.document("mock-ai-program")["$defs"]["Entry"]["properties"]
    return [{name: value for name, value in entry.items() if name in members} for entry in program]
