"""Routes about the host: discovery, OpenAPI, health, readiness, schemas, node types, and the files of its pages."""

from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any, Final, Protocol

import msgspec

from weftwork.adapters.http.host_errors import shutting_down
from weftwork.adapters.http.message import JSON, Request, Response, json_response
from weftwork.engine.api.runs import Runs
from weftwork.protocol.envelopes.kinds import KindSet
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.wire.capabilities import document_etag
from weftwork.protocol.wire.route import JAVASCRIPT_TYPE
from weftwork.protocol.wire.v1.test_endpoints import SCHEMA_FILE_SUFFIX, SCHEMA_MEDIA_TYPE, SERVED_SCHEMAS
from weftwork.protocol.workflow.node_types import NodeDeclaration, describe_node_type, describe_node_types

_PUBLIC_CACHE_HEADER = (b"cache-control", b"public, max-age=300")
_IMMUTABLE_CACHE_HEADER = (b"cache-control", b"public, max-age=31536000, immutable")
_ANY_ORIGIN_HEADERS = [(b"access-control-allow-origin", b"*"), (b"cross-origin-resource-policy", b"cross-origin")]
SURFACE_MODULE: Final = resources.files("weftwork.adapters.http").joinpath("static", "weftwork-surface.js")
"""The renderer of surfaces for pages. `tools/surface_module.py` writes its constants.

surf-60 (RFC 0102, closed catalogue): it checks a payload with the tables of the host, and
renders all of it or a notice.
surf-61 (RFC 0102, renderer invariants): nothing in a surface runs, is fetched, or becomes markup.
surf-63 (RFC 0102, action confinement): a pressed button is one action, with the values of the fields.
"""


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

    def __init__(self, content: dict[str, Any] | bytes, *extra: bytes, content_type: bytes = JSON) -> None:
        self._body = content if isinstance(content, bytes) else msgspec.json.encode(content)
        self._content_type = content_type
        self.etag = document_etag(self._body).encode()
        self._headers = [(b"etag", self.etag), *((name, self.etag) for name in extra)]

    async def serve(self, request: Request) -> Response:
        return self.respond(request, _PUBLIC_CACHE_HEADER)

    def respond(self, request: Request, *headers: tuple[bytes, bytes]) -> Response:
        """The document, or 304 if the client has it."""
        tags = {tag.strip().removeprefix(b"W/") for tag in request.headers.get(b"if-none-match", b"").split(b",")}
        if self.etag in tags or b"*" in tags:
            return Response(304, b"", [*headers, *self._headers])
        return Response(200, self._body, [*headers, *self._headers], self._content_type)


class SurfaceModuleRoute:
    """getSurfaceModule: the module that renders surfaces, which pages of every origin may import."""

    def __init__(self) -> None:
        self._document = StaticDocument(
            SURFACE_MODULE.read_bytes(), content_type=f"{JAVASCRIPT_TYPE}; charset=utf-8".encode()
        )
        self._version = self._document.etag.strip(b'"').decode()

    async def serve(self, request: Request) -> Response:
        """surf-62 (host): a URL with the version of this module never changes its content."""
        is_pinned = request.query("v") == self._version
        cache = _IMMUTABLE_CACHE_HEADER if is_pinned else _PUBLIC_CACHE_HEADER
        return self._document.respond(request, cache, *_ANY_ORIGIN_HEADERS)


class HostInfoRoutes:
    """getHealth, getReadiness, getSchema, getEnvelopeSchema, listNodeTypes, getNodeType.

    Schemas and node types are public, the same for every tenant, and do not change while the host runs.
    """

    def __init__(
        self,
        service: Runs,
        draining: Callable[[], bool],
        recovery: Callable[[], msgspec.Struct],
        component_states: Callable[[], dict[str, str]],
        kinds: KindSet,
        declarations: Mapping[str, NodeDeclaration],
    ) -> None:
        self._runs = service
        self._draining = draining
        self._recovery = recovery
        self._component_states = component_states
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
        recovery = msgspec.structs.asdict(self._recovery())
        return json_response(200, {"status": "ready", "recovery": recovery, **self._component_states()})

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
