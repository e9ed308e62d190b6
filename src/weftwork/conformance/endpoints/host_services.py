"""Test endpoints that use services of the host: call a model, program the mock provider, resolve and compose prompts,
store media, send an outbound request, register a workflow, set variables of a run.

Each uses the same checks and clients as nodes and other routes, in the caller's partition.
"""

from base64 import b64decode
from typing import Any, Final

import msgspec

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.adapters.http.routes.workflows import registration_response
from weftwork.adapters.outbound.client import GuardedClient
from weftwork.conformance.endpoints.envelopes import nested_error_response
from weftwork.conformance.endpoints.model_programs import ScriptedPrograms
from weftwork.engine.api.assets import TenantAssets
from weftwork.engine.api.models import ModelInput
from weftwork.engine.api.run_control import RunControl
from weftwork.engine.api.workflows import Workflows
from weftwork.engine.sdk.model_request import make_message
from weftwork.ports import outbound
from weftwork.ports.models import ModelMarkerPart, ModelRequest, ModelTextPart, ProviderFault
from weftwork.protocol.errors import invalid
from weftwork.protocol.json import schema
from weftwork.protocol.json.values import is_object
from weftwork.protocol.media.message_parts import MODALITIES
from weftwork.protocol.models.prompt_request import (
    compose_for_request,
    parse_prompt_request,
    prompt_document,
    resolve_for_request,
)
from weftwork.protocol.models.prompt_templates import PromptTemplates
from weftwork.protocol.models.request_key import semantic_keys
from weftwork.protocol.timestamps import iso
from weftwork.protocol.wire.v1.assets import SAMPLE_ASSET_PREFIX
from weftwork.protocol.wire.v1.test_endpoints import MAX_NODE_ID

DEFAULT_TTL_SECONDS: Final = 3_600


async def call_ai(model_input: ModelInput, request: Request) -> Response:
    """media-51 (RFC 0091): the modalities that a model would receive, or the error of the first part that it does not
    accept. Checks, outbound guard and assets are those of nodes."""
    document = await request.json()
    schema.require("ai-call", document)
    messages = tuple(make_message(each["role"], each["content"]) for each in document["messages"])
    model_request = ModelRequest(document.get("provider", ""), document.get("model", ""), messages)
    try:
        resolved = await model_input.resolve(request.caller, model_request)
    except ProviderFault as fault:
        raise invalid(fault.message, "/provider", code=fault.code) from None
    media = {part.modality for message in resolved.messages for part in message.media}
    has_text = any(isinstance(each.content, str) or _has_text(each.content) for each in resolved.messages)
    modalities = [*(["text"] if has_text else []), *(each for each in MODALITIES if each in media)]
    return json_response(200, {"ok": True, "accepted": True, "modalities": modalities})


def _has_text(content: tuple[object, ...]) -> bool:
    return any(isinstance(part, ModelTextPart) and not isinstance(part, ModelMarkerPart) for part in content)


async def program_mock_ai(programs: ScriptedPrograms, request: Request) -> Response:
    """model-19 (host): replace the rest of a node's program. It applies only to runs of the caller's tenant."""
    document = await request.json()
    schema.require("mock-ai-program", document)
    members = schema.document("mock-ai-program")["$defs"]["Entry"]["properties"]
    program = [{name: value for name, value in entry.items() if name in members} for entry in document["program"]]
    try:
        count = programs.program(request.caller.partition, document["nodeId"], program)
    except msgspec.ValidationError:
        raise invalid("An entry of the program is not a valid model answer.", "/program") from None
    return json_response(200, {"ok": True, "count": count})


async def mock_ai_budget(programs: ScriptedPrograms, request: Request) -> Response:
    node_id = request.query("nodeId")
    if node_id is None or not 0 < len(node_id) <= MAX_NODE_ID:
        raise invalid(f"nodeId must have 1 to {MAX_NODE_ID} characters.", parameter="nodeId")
    return json_response(200, {"maxTokens": programs.last_budget(request.caller.partition, node_id)})


async def model_cache_key(request: Request) -> Response:
    """model-40 (conformance seam): the key of a request under the recipe v1."""
    document = await request.json()
    if is_object(document) and (violations := schema.check("llm-cache-key", document)):
        message = f"The value at the pointer '{violations[0].pointer}' {violations[0].message}."
        return nested_error_response("invalid_argument", message)
    schema.require("llm-cache-key", document)
    return json_response(200, {"cacheKey": semantic_keys(document)["v1"]})


async def resolve_prompts(templates: PromptTemplates, request: Request) -> Response:
    body = await request.json()
    schema.require("prompt-resolve", body)
    payloads = resolve_for_request(parse_prompt_request(body), templates)
    return json_response(200, prompt_document(payloads))


async def compose_prompts(templates: PromptTemplates, request: Request) -> Response:
    body = await request.json()
    schema.require("prompt-compose", body)
    payloads = compose_for_request(parse_prompt_request(body), templates)
    return json_response(200, prompt_document(payloads))


async def put_media(assets: TenantAssets, request: Request) -> Response:
    """media-38 (conformance seam): store media. The URL has the path that the suite expects, and expires after
    `ttlSeconds`."""
    document = await request.json()
    schema.require("media-put", document)
    try:
        data = b64decode(document["contentBase64"], validate=True)
    except ValueError:
        raise invalid("contentBase64 must be base64.", "/contentBase64") from None
    # JSON Schema accepts 60.0 as an integer.
    held_ms = int(document.get("ttlSeconds", DEFAULT_TTL_SECONDS)) * 1000
    declared = document["contentType"].split(";")[0].strip().lower()
    asset = await assets.put(request.caller, data, declared, held_ms)
    url = assets.base + SAMPLE_ASSET_PREFIX + asset.token
    answer = {"url": url, "bytes": asset.size, "token": asset.token, "expiresAt": iso(asset.expires_at)}
    return json_response(201, answer, [(b"location", url.encode())])


class FixedResolver:
    """Resolves every name to one address. Simulates a DNS answer that changed between the check and the connection."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def resolve(self, host: str, port: int) -> list[str]:
        return [self._address]

    def close(self) -> None: ...


async def safe_fetch(client: GuardedClient, request: Request) -> Response:
    document = await request.json()
    schema.require("safe-fetch", document)
    address = document.get("simulateRebindTo")
    fetch_client = client if address is None else client.with_resolver(FixedResolver(address))
    return json_response(200, await _fetch_outcome(fetch_client, document["url"], document.get("init", {})))


async def _fetch_outcome(client: outbound.Outbound, url: str, init: dict[str, Any]) -> dict[str, Any]:
    headers = tuple(init.get("headers", {}).items())
    request = outbound.OutboundRequest(url, init.get("method", "GET"), headers, init.get("body", "").encode())
    try:
        return {"outcome": "fetched", "status": (await client.fetch(request)).status}
    except outbound.FetchRefused as refused:
        return {"outcome": "blocked", "blocked": refused.blocked}
    except outbound.FetchFailed:
        return {"outcome": "failed"}


async def register_sample(workflows: Workflows, request: Request) -> Response:
    body = await request.json()
    return registration_response(await workflows.register_sample(request.caller, body, request.idempotency_key))


async def set_variables(control: RunControl, request: Request) -> Response:
    run_id = request.params["runId"]
    status = await control.set_variables(request.caller, run_id, await request.json())
    return json_response(200, {"runId": run_id, "status": status})
