"""Routes of node types."""

from collections.abc import Mapping

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.node_listing import describe, describe_all
from weftwork.protocol.node_type import NodeDeclaration


class NodeTypeRoutes:
    """listNodeTypes and getNodeType. What a host has stays the same while it runs, for every tenant."""

    def __init__(self, declarations: Mapping[str, NodeDeclaration]) -> None:
        self._declarations = declarations

    async def list_node_types(self, request: Request) -> Response:
        return json_response(200, {"nodeTypes": describe_all(self._declarations.values())})

    async def get_node_type(self, request: Request) -> Response:
        found = self._declarations.get(request.params["typeId"])
        if found is None:
            raise ClientFault("not_found", "This host has no such node type.")
        return json_response(200, describe(found))
