"""Routes about the host: discovery, OpenAPI, health, readiness, schemas, node types, and the logo for its pages."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import msgspec

from weftwork.adapters.http.host_errors import shutting_down
from weftwork.adapters.http.message import JSON, Request, Response, json_response
from weftwork.engine.api.runs import Runs
from weftwork.protocol.envelopes.kinds import KindSet
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.wire.capabilities import document_etag
from weftwork.protocol.wire.v1.test_endpoints import SCHEMA_FILE_SUFFIX, SCHEMA_MEDIA_TYPE, SERVED_SCHEMAS
from weftwork.protocol.workflow.node_types import NodeDeclaration, describe_node_type, describe_node_types

_PUBLIC_CACHE_HEADER = (b"cache-control", b"public, max-age=300")


_LOGO_HEADERS: Final = (
    (b"cache-control", b"public, max-age=3600"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; sandbox"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Image(Protocol):
    """An image with its media type."""

    @property
    def body(self) -> bytes: ...

    @property
    def media_type(self) -> str: ...


class OrganisationRoutes:
    """getOrganisationLogo."""

    def __init__(self, logo: Image | None) -> None:
        self._logo = logo

    async def logo(self, request: Request) -> Response:
        if self._logo is None:
            raise ClientFault("not_found", "The settings of this host name no logo.")
        return Response(200, self._logo.body, list(_LOGO_HEADERS), self._logo.media_type.encode())


class StaticDocument:
    """A document that does not change while the host runs, served with an ETag. `extra` headers repeat the ETag."""

    def __init__(self, content: dict[str, Any], *extra: bytes, content_type: bytes = JSON) -> None:
        self._body = msgspec.json.encode(content)
        self._content_type = content_type
        self._etag = document_etag(self._body).encode()
        self._headers = [_PUBLIC_CACHE_HEADER, (b"etag", self._etag), *((name, self._etag) for name in extra)]

    async def serve(self, request: Request) -> Response:
        tags = {tag.strip().removeprefix(b"W/") for tag in request.headers.get(b"if-none-match", b"").split(b",")}
        if self._etag in tags or b"*" in tags:
            return Response(304, b"", list(self._headers))
        return Response(200, self._body, list(self._headers), self._content_type)


class HostInfoRoutes:
    """getHealth, getReadiness, getSchema, getEnvelopeSchema, listNodeTypes, getNodeType.

    Schemas and node types are public, the same for every tenant, and do not change while the host runs.
    """

    def __init__(
        self,
        service: Runs,
        draining: Callable[[], bool],
        recovery: Callable[[], msgspec.Struct],
        kinds: KindSet,
        declarations: Mapping[str, NodeDeclaration],
    ) -> None:
        self._runs = service
        self._draining = draining
        self._recovery = recovery
        self._wire = {name: _document(schema.document(name)) for name in SERVED_SCHEMAS}
        self._kinds = {name: _document(kind.schema) for name in kinds.names if (kind := kinds.find(name))}
        self._declarations = declarations

    async def health(self, request: Request) -> Response:
        return json_response(200, {"status": "ok"})

    async def readiness(self, request: Request) -> Response:
        if self._draining():
            raise shutting_down()
        await self._runs.check_ready()
        # Also while runs are being resumed: requests are served, and load the runs that they need.
        return json_response(200, {"status": "ready", "recovery": msgspec.structs.asdict(self._recovery())})

    async def wire_schema(self, request: Request) -> Response:
        return await _serve_document(self._wire, request)

    async def envelope_schema(self, request: Request) -> Response:
        return await _serve_document(self._kinds, request)

    async def list_node_types(self, request: Request) -> Response:
        return json_response(200, {"nodeTypes": describe_node_types(self._declarations.values())})

    async def get_node_type(self, request: Request) -> Response:
        declaration = self._declarations.get(request.params["typeId"])
        if declaration is None:
            raise ClientFault("not_found", "This host has no such node type.")
        return json_response(200, describe_node_type(declaration))


def _document(content: dict[str, object]) -> StaticDocument:
    return StaticDocument(content, content_type=SCHEMA_MEDIA_TYPE.encode())


async def _serve_document(documents: dict[str, StaticDocument], request: Request) -> Response:
    document = documents.get(request.params["schemaFile"].removesuffix(SCHEMA_FILE_SUFFIX))
    if document is None:
        raise ClientFault("not_found", "This host has no such schema.")
    return await document.serve(request)
