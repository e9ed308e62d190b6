"""Routes of schemas: the documents of the wire and the payloads of envelopes, for whoever wants to check their own."""

from weftwork.adapters.http.message import Request, Response
from weftwork.adapters.http.meta import Document
from weftwork.protocol import schema
from weftwork.protocol.envelope.kind import Kinds
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.wire_v1_envelopes import SCHEMA_FILE, SCHEMA_JSON, SERVED


class SchemaRoutes:
    """getSchema and getEnvelopeSchema. What a host has stays the same while it runs, and is no secret."""

    def __init__(self, kinds: Kinds) -> None:
        self._wire = {name: _document(schema.document(name)) for name in SERVED}
        self._kinds = {name: _document(kind.schema) for name in kinds.names if (kind := kinds.find(name))}

    async def of_wire(self, request: Request) -> Response:
        return await _found(self._wire, request)

    async def of_kind(self, request: Request) -> Response:
        return await _found(self._kinds, request)


def _document(content: dict[str, object]) -> Document:
    return Document(content, content_type=SCHEMA_JSON.encode())


async def _found(documents: dict[str, Document], request: Request) -> Response:
    found = documents.get(request.params["schemaFile"].removesuffix(SCHEMA_FILE))
    if found is None:
        raise ClientFault("not_found", "This host has no such schema.")
    return await found.serve(request)
