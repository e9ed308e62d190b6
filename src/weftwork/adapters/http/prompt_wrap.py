"""The seam that shows how content reaches a model."""

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.protocol import schema
from weftwork.protocol.trust import SOURCE, shown_to_model


async def wrap_prompt(request: Request) -> Response:
    """wrapPrompt: the very text that a prompt of a later node would hold."""
    body = await request.document()
    schema.require("prompt-wrap", body)
    prompt = shown_to_model(
        body["payload"],
        body.get("contentTrust"),
        type=body.get("eventType", "event"),
        source=body.get("source", SOURCE),
        attributes=body.get("attributes"),
    )
    return json_response(200, {"prompt": prompt})
