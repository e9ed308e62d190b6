"""Operations on node types. Part of the table in wire_v1."""

from typing import Final

from weftwork.protocol.route import Route

NODES: Final[tuple[Route, ...]] = (
    Route(
        "listNodeTypes",
        "GET",
        "/v1/host/weftwork/node-types",
        "The node types that definitions can use, by id.",
        scope="manifest:read",
        response="node-type-list",
    ),
    Route(
        "getNodeType",
        "GET",
        "/v1/host/weftwork/node-types/{typeId}",
        "One node type, with its schemas.",
        scope="manifest:read",
        response="node-type",
    ),
)
