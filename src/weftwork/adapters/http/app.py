"""The ASGI application: routes a request, authenticates the caller, calls the handler, and renders errors."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import msgspec

from weftwork.adapters.http.asgi import Headers, Receive, Scope, Send
from weftwork.adapters.http.host_errors import DOCTOR, shutting_down, store_damaged, store_unavailable
from weftwork.adapters.http.message import ClientDisconnected, Request, Response, decode_segment, json_response
from weftwork.adapters.http.response_writer import ResponseAborted
from weftwork.adapters.http.router import Router
from weftwork.adapters.http.server.limits import BodyMemory
from weftwork.adapters.http.server.request_turns import MAX_IN_PROGRESS, RequestTurns
from weftwork.adapters.http.shared_bodies import LargeBody
from weftwork.engine.api.keyring import Keyring, require_scope
from weftwork.ports.ids import Ids
from weftwork.ports.storage.event_log import StoreDamaged, StoreUnavailable
from weftwork.protocol.errors import ClientFault, error_document, invalid
from weftwork.protocol.ids import is_path_id
from weftwork.protocol.media.asset_headers import ERROR_HEADERS
from weftwork.protocol.people.interrupt_tokens import mask_tokens
from weftwork.protocol.review.spans import format_traceparent, parse_traceparent
from weftwork.protocol.wire.embedding import embedding_headers
from weftwork.protocol.wire.route import Route
from weftwork.protocol.wire.served_hosts import is_served
from weftwork.protocol.wire.v1.assets import ASSET_PREFIXES
from weftwork.protocol.wire.v1.interrupts import TOKEN_PREFIXES
from weftwork.protocol.wire.v1.paths import PROBE_PATHS, VERSION_PREFIX
from weftwork.protocol.wire.v1.routes import LONG_POLLS, ROUTES, SEGMENT_CHECKS, UNOFFERED_PATHS, UNVERSIONED_NAMES

log = logging.getLogger("weftwork.http")

Handler = Callable[[Request], Awaitable[Response | None]]
"""Handles a request. None means that the handler has sent the response itself, as a stream."""

_VERSIONED = f"{VERSION_PREFIX}/"
_NO_STORE = (b"cache-control", b"no-store")
_NO_REFERRER = (b"referrer-policy", b"no-referrer")
_NOSNIFF = (b"x-content-type-options", b"nosniff")


class App:
    """OpenWOP v1 on ASGI. `handlers` has one entry per mounted operation."""

    def __init__(
        self,
        keyring: Keyring,
        ids: Ids,
        handlers: Mapping[str, Handler],
        max_body_bytes: int,
        body_memory: BodyMemory,
        turns: RequestTurns,
        hosts: frozenset[str] | None = None,
        embed_origins: frozenset[str] = frozenset(),
    ) -> None:
        self._keyring = keyring
        self._hosts = hosts
        """The names for which requests are answered; None for every name."""
        self._embed_origins = embed_origins
        """Origins of pages that may call the operations of links to surfaces."""
        self._ids = ids
        self._handlers = handlers
        self._max_body_bytes = max_body_bytes
        self._body_memory = body_memory
        self.turns = turns
        self.routes: tuple[Route, ...] = tuple(route for route in ROUTES if route.operation_id in handlers)
        self._router = Router(self.routes, UNOFFERED_PATHS)
        self._counted_at_once = frozenset(route.operation_id for route in self.routes if _is_counted_at_once(route))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive, send, self._max_body_bytes, self._body_memory, self.turns)
        self._set_traceparent(request)
        try:
            response = await self._call_handler(request)
            if self._embed_origins and response is not None:
                response.headers.extend(self._embedding_headers(request))
            if request.writer.has_started:
                # A stream that its handler ended, or that failed after its start. The client can resume it.
                await request.writer.end()
            elif response is not None:
                await _send(request, response)
        except ClientDisconnected:
            return
        except ResponseAborted:
            log.info("client stopped reading, connection closed", extra={"path": loggable_path(request)})
            await request.abort()
        except asyncio.CancelledError:
            # The server cancels requests only when they do not finish within the grace period of a shutdown.
            task = asyncio.current_task()
            if task is not None:
                # Otherwise asyncio.timeout, used below, would treat this cancellation as its own.
                task.uncancel()
            await _end_on_shutdown(request)
        finally:
            if request.held_body_bytes:
                request.release_body()

    def _embedding_headers(self, request: Request, methods: Mapping[str, Route | None] | None = None) -> Headers:
        """The headers for a page of another origin. With `methods`, those of a preflight request for their path."""
        routes = [request.route] if methods is None else methods.values()
        operations = frozenset(route.operation_id for route in routes if route is not None)
        origin = request.header(b"origin")
        return embedding_headers(self._embed_origins, operations, origin, is_preflight=methods is not None)

    def _set_traceparent(self, request: Request) -> None:
        """trace-02: every response has a traceparent, in the caller's trace if the request has a valid one."""
        new_id = self._ids.trace_id()
        header = request.header(b"traceparent")
        caller = parse_traceparent(header)
        request.caller_traceparent = header if caller else None
        request.traceparent = format_traceparent(caller.trace_id if caller else new_id, new_id[:16])

    async def _call_handler(self, request: Request) -> Response | None:
        try:
            request.check_headers()
            if self._hosts is not None:
                _check_host(self._hosts, request)
            handler = self._resolve(request)
            route = request.route
            if route is not None and route.operation_id in self._counted_at_once:
                if self.turns.in_progress < MAX_IN_PROGRESS:
                    self.turns.in_progress += 1
                    request.has_turn = True
                else:
                    await request.wait_for_turn()
            return await handler(request)
        except ClientFault as fault:
            return render_fault(request, fault)
        except StoreDamaged as error:
            return _render_damage(request, error)
        except StoreUnavailable as error:
            log.warning("store unavailable", extra={"path": loggable_path(request), "reason": str(error)})
            return render_fault(request, store_unavailable())
        except (ClientDisconnected, ResponseAborted):
            raise
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            # Text of a client is decoded with its own errors, so this is stored data, such as the payload of an event.
            return _render_damage(request, error)
        except Exception:
            correlation = request.traceparent.split("-")[1]
            log.exception("request failed", extra={"correlationId": correlation, "path": loggable_path(request)})
            message = "The host failed to process the request. Its log has the details under this correlationId."
            return render_fault(request, ClientFault("internal_error", message, {"correlationId": correlation}))
        finally:
            # Before the response is sent, because a client may read it slowly.
            if request.has_turn:
                if self.turns.waiting:
                    self.turns.end()
                else:
                    self.turns.in_progress -= 1

    def _resolve(self, request: Request) -> Handler:
        """auth-05 (readings, Paths): below VERSION_PREFIX the key is checked first, and then the path.

        A caller without a valid key therefore cannot find out which paths exist.
        """
        raw_path: bytes = request.scope.get("raw_path") or request.path.encode()
        path = raw_path.split(b"?")[0].decode("latin-1")
        method: str = request.scope["method"]
        match = self._router.find(path)
        route = None
        if match is not None:
            route = match[0].get("GET" if method == "HEAD" else method)
            if self._embed_origins and method == "OPTIONS":
                # A browser sends no credentials with it.
                headers = self._embedding_headers(request, match[0])
                if headers:
                    return partial(_answer_preflight, headers)
        if route is None or route.scope is not None:
            if not path.startswith(_VERSIONED) and path != VERSION_PREFIX:
                raise _unversioned_path_fault(path, match[0] if match else None)
            request.principal = self._keyring.authenticate(_bearer(request))
        if match is None:
            raise ClientFault("not_found", "There is nothing at this path.")
        if route is None:
            if "*" in match[0]:
                raise ClientFault("capability_not_provided", "This host does not provide this optional feature.")
            raise _method_not_allowed(match[0])
        if route.stream and method == "HEAD":
            raise _method_not_allowed(match[0])
        if request.principal is not None and route.scope is not None:
            require_scope(request.principal, route.scope)
        request.params = _path_params(match[1])
        request.route = route
        return self._handlers[route.operation_id]


async def _answer_preflight(headers: Headers, request: Request) -> Response:
    return Response(204, b"", headers)


def _is_counted_at_once(route: Route) -> bool:
    """Whether requests of the route count as in progress before they are handled. A request with a JSON body counts
    once its body is complete; streams, polls and uploads do not count, because they may take as long as their client
    wants."""
    has_body = route.request is not None or route.raw_body
    return route.scope is not None and not has_body and not route.stream and route.operation_id not in LONG_POLLS


def loggable_path(request: Request) -> str:
    """tok-07: the path as it may be logged, without tokens and with at most 256 characters."""
    for prefix in ASSET_PREFIXES:
        if request.path.startswith(prefix):
            return f"{prefix}(token)"
    return mask_tokens(request.path)[:256]


def _check_host(hosts: frozenset[str], request: Request) -> None:
    """Refuse a request for a name that the host does not serve. Probes may use any name, such as an address."""
    if request.path not in PROBE_PATHS and not is_served(hosts, request.header(b"host") or ""):
        message = "This host does not serve the name in the Host header. Use its public URL, or set allowed_hosts."
        raise invalid(message, parameter="Host")


def _path_params(segments: dict[str, str]) -> dict[str, str]:
    """The decoded parameters of the path. Text that cannot be an id is `not_found`, like an id that does not exist.

    Tokens are not checked here: the interrupt and asset facades refuse every invalid token with the same message.
    """
    params: dict[str, str] = {}
    for name, text in segments.items():
        if name == "token":
            params[name] = text
            continue
        try:
            params[name] = decode_segment(text)
        except UnicodeDecodeError:
            raise ClientFault("not_found", "There is nothing at this path.") from None
        if not SEGMENT_CHECKS.get(name, is_path_id)(params[name]):
            raise ClientFault("not_found", "There is nothing at this path.")
    return params


def _bearer(request: Request) -> str | None:
    header = request.header(b"authorization") or ""
    kind, _, key = header.partition(" ")
    return key.strip() if kind.lower() == "bearer" else None


def _unversioned_path_fault(path: str, methods: Mapping[str, Route | None] | None) -> ClientFault:
    if methods is not None:
        return _method_not_allowed(methods)
    first = path.partition("/")[2].partition("/")[0].partition(":")[0]
    if first in UNVERSIONED_NAMES:
        # wire-01: the path of a resource without its version prefix gets this hint, even without a key.
        return ClientFault("validation_error", f"Protocol paths start with {VERSION_PREFIX}.")
    return ClientFault("not_found", "There is nothing at this path.")


def _method_not_allowed(methods: Mapping[str, Route | None]) -> ClientFault:
    allowed = sorted(methods)
    get = methods.get("GET")
    if get is not None and not get.stream:
        allowed = sorted([*methods, "HEAD"])
    return ClientFault("method_not_allowed", f"This path allows {', '.join(allowed)}.", {"allow": allowed})


def render_fault(request: Request, fault: ClientFault) -> Response:
    """The fault as JSON, or in the format that the route has set for its client, such as an HTML page."""
    return fault_response(fault) if request.error_renderer is None else request.error_renderer(fault)


def _render_damage(request: Request, error: Exception) -> Response:
    fields = {"path": loggable_path(request), "reason": str(error), "hint": DOCTOR}
    # The traceback tells which data could not be decoded.
    log.error("the store is damaged", extra=fields, exc_info=None if isinstance(error, StoreDamaged) else error)
    return render_fault(request, store_damaged())


def fault_response(fault: ClientFault) -> Response:
    """err-02 (OpenWOP rest-endpoints): a fault as an error document, with the headers that its status requires."""
    headers: Headers = []
    details = fault.details or {}
    if "retryAfter" in details:
        headers.append((b"retry-after", str(details["retryAfter"]).encode()))
    if fault.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if fault.status == 405:
        headers.append((b"allow", ", ".join(details["allow"]).encode()))
    return json_response(fault.status, error_document(fault.code, fault.message, fault.details), headers)


async def _send(request: Request, response: Response) -> None:
    headers = [(b"traceparent", request.traceparent.encode()), *response.headers]
    if response.status not in (204, 304):
        headers.append((b"content-type", response.content_type))
        length = len(response.body) if response.large is None else response.large.length
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
    names = dict(response.headers)
    if request.path.startswith(ASSET_PREFIXES):
        # media-32: errors below the asset paths get the same protective headers as assets.
        headers += [header for header in ERROR_HEADERS if header[0] not in names]
    else:
        if b"x-content-type-options" not in names:
            headers.append(_NOSNIFF)
        if b"cache-control" not in names:
            headers.append(_NO_STORE)
    if request.path.startswith(TOKEN_PREFIXES) and b"referrer-policy" not in names:
        headers.append(_NO_REFERRER)
    body = b"" if request.scope["method"] == "HEAD" else response.body
    if response.large is not None:
        await _send_large(request, response.status, headers, response.large)
    elif not request.has_unread_body:
        if not request.writer.try_send_whole(response.status, headers, body):
            await request.writer.start(response.status, headers)
            await request.writer.write(body)
    else:
        headers.append((b"connection", b"close"))
        await request.writer.start(response.status, headers)
        await request.writer.write(body, more=True)
        # If the connection were closed while data is still arriving, TCP would reset it and the client would never
        # read the response.
        await request.discard_body()
        await request.writer.end()


async def _send_large(request: Request, status: int, headers: Headers, body: LargeBody) -> None:
    if request.has_unread_body:
        headers.append((b"connection", b"close"))
    await request.writer.start(status, headers, is_large=True)
    chunks = iter(()) if request.scope["method"] == "HEAD" else body.chunks()
    await request.writer.write_large(chunks, body.may_wait)
    if request.has_unread_body:
        await request.discard_body()
    await request.writer.end()


async def _end_on_shutdown(request: Request) -> None:
    """End a request that was cancelled by a shutdown: end its stream, or respond with 503, or abort."""
    try:
        if request.writer.has_started:
            await request.writer.end()
        else:
            await _send(request, fault_response(shutting_down()))
    except ResponseAborted:
        await request.abort()
