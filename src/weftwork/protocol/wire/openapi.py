"""The OpenAPI 3.1 document, generated from the route table and the schemas so that it always matches them."""

import re
from collections.abc import Mapping
from typing import Any, Final

from weftwork.protocol.errors import ERRORS
from weftwork.protocol.ids import ID_PATTERN
from weftwork.protocol.json import schema
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.wire.route import ANY_TYPE, JAVASCRIPT_TYPE, REPLAY_HEADER, Parameter, Route

_COMMON_ERRORS: Final[tuple[str, ...]] = (
    "validation_error",
    "method_not_allowed",
    "internal_error",
    "service_unavailable",
)
_KEY_ERRORS: Final[tuple[str, ...]] = ("unauthenticated", "key_expired", "key_revoked", "forbidden", "not_found")
_BODY_ERRORS: Final[tuple[str, ...]] = ("payload_too_large", "unsupported_media_type")
_TEXT: Final[dict[str, Any]] = {"type": "string", "minLength": 1}
_BYTES: Final[dict[str, Any]] = {"type": "string", "format": "binary"}


def _header(text: str, shape: dict[str, Any], required: bool = True) -> dict[str, Any]:
    return {"description": text, "required": required, "schema": shape}


_TRACEPARENT: Final = _header(
    "W3C Trace Context; continues the caller's trace if the request has one.",
    {"type": "string", "pattern": "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$"},
    required=False,
)
_RETRY: Final = _header("Seconds to wait before a retry.", {"type": "integer", "minimum": 0, "maximum": 86_400})
_STATUS_HEADERS: Final[dict[str, dict[str, Any]]] = {
    "201": {"Location": _header("The path of the created resource.", _TEXT)},
    "401": {"WWW-Authenticate": _header("The authentication scheme.", {"enum": ["Bearer"]})},
    "405": {"Allow": _header("The methods that this path supports.", _TEXT)},
    "429": {"Retry-After": _RETRY},
    "503": {"Retry-After": _RETRY},
}


def openapi(routes: tuple[Route, ...], version: str) -> dict[str, Any]:
    """disc-04 (OpenWOP rest-endpoints): the OpenAPI document of the mounted routes."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        operation = paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
        if route.operation_id == "createRun":
            operation["responses"][str(route.success_status)]["links"] = _links(routes)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "weftwork",
            "version": version,
            "summary": "A Python host for OpenWOP",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": {name: _component(name) for name in schema.names()},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.operation_id,
        "summary": route.summary,
        "responses": _responses(route),
        "security": [{"key": []}] if route.scope else [],
    }
    if route.scope:
        operation["description"] = f"Requires the scope `{route.scope}`."
    parameters = [_path_parameter(name, route.path_patterns) for name in re.findall(r"{(\w+)}", route.path)]
    parameters += [_parameter(each) for each in route.params]
    if parameters:
        operation["parameters"] = parameters
    if route.request:
        content = {"application/json": {"schema": _ref(route.request)}}
        operation["requestBody"] = {"content": content, "required": not route.body_optional}
    elif route.raw_body:
        operation["requestBody"] = {"content": {ANY_TYPE: {"schema": _BYTES}}, "required": True}
    return operation


def _responses(route: Route) -> dict[str, Any]:
    ok: dict[str, Any] = {"description": "OK"}
    if route.success_status != 204:
        shape = _ref(route.response) if route.response else {"type": "object"}
        shape = {ANY_TYPE: _BYTES, JAVASCRIPT_TYPE: {"type": "string"}}.get(route.content, shape)
        ok["content"] = {route.content: {"schema": shape}}
    if route.stream:
        ok["content"]["text/event-stream"] = {}
    responses: dict[str, Any] = {
        str(status): dict(ok) for status in (route.success_status, *route.other_success_statuses)
    }
    names = {param.name for param in route.params}
    if "If-None-Match" in names:
        responses["304"] = {"description": "Unchanged"}
    if "Range" in names:
        responses["206"] = dict(ok)
        responses["416"] = {"description": "The range starts after the end of the asset"}
    codes = [*_COMMON_ERRORS, *route.errors]
    if route.scope:
        codes += _KEY_ERRORS
    if route.request or route.raw_body:
        codes += _BODY_ERRORS
    refusals = {(ERRORS[code].status, code) for code in codes}
    if route.unprocessable:
        refusals.add((422, "validation_error"))
    for status in sorted({status for status, _ in refusals}):
        codes_of = sorted({code for each, code in refusals if each == status})
        content = {"application/json": {"schema": _refusal(route, status)}}
        responses[str(status)] = {"description": ", ".join(codes_of), "content": content}
    for status, response in responses.items():
        response["headers"] = _headers(status, names)
    return responses


def _refusal(route: Route, status: int) -> dict[str, Any]:
    usual = _ref("error-envelope")
    return {"anyOf": [usual, _ref(route.refusal)]} if route.refusal is not None and status == 400 else usual


def _headers(status: str, parameters: set[str]) -> dict[str, Any]:
    headers = dict(_STATUS_HEADERS.get(status, {}))
    if status in ("200", "201", "204", "206", "304"):
        if "If-None-Match" in parameters:
            headers["ETag"] = _header("Changes exactly when the document changes.", _TEXT)
        if "Idempotency-Key" in parameters:
            text = "Present if this is the recorded outcome of an earlier request."
            headers[REPLAY_HEADER] = _header(text, {"enum": ["true"]}, required=False)
    return {**headers, "traceparent": _TRACEPARENT}


def _links(routes: tuple[Route, ...]) -> dict[str, Any]:
    links: dict[str, Any] = {}
    for route in routes:
        if "{runId}" in route.path:
            # Required parameters name a second run, which may be the same run.
            names = ["runId", *(param.name for param in route.params if param.required)]
            parameters = dict.fromkeys(names, "$response.body#/runId")
            links[route.operation_id] = {"operationId": route.operation_id, "parameters": parameters}
    return links


def _path_parameter(name: str, patterns: Mapping[str, str]) -> dict[str, Any]:
    pattern = patterns.get(name, ID_PATTERN)
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "pattern": pattern}}


def _parameter(param: Parameter) -> dict[str, Any]:
    shape = {"name": param.name, "in": param.location, "description": param.description, "schema": param.schema}
    return {**shape, "required": True} if param.required else shape


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _component(name: str) -> dict[str, Any]:
    """The schema with its references rewritten from published ids to places in this document."""
    return {
        key: _localize_refs(value, name)
        for key, value in schema.document(name).items()
        if key not in ("$id", "$schema")
    }


def _localize_refs(value: Any, name: str) -> Any:
    if is_object(value):
        return {
            key: _localize_ref(member, name)
            if key == "$ref" and isinstance(member, str)
            else _localize_refs(member, name)
            for key, member in value.items()
        }
    if is_array(value):
        return [_localize_refs(item, name) for item in value]
    return value


def _localize_ref(target: str, name: str) -> str:
    file, _, fragment = target.partition("#")
    owner = file.removesuffix(".schema.json").rsplit("/", 1)[-1].rsplit(":", 1)[-1] or name
    return f"#/components/schemas/{owner}{fragment}"
