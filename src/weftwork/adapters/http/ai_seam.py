"""The seam that looks at messages as a node does before it asks a model."""

from typing import Final

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.engine.assets import Assets
from weftwork.engine.perception import CODES, Perception, given_message, modalities_of
from weftwork.ports.models import ModelRequest, Models, ProviderFault, TextPart
from weftwork.ports.nodes import Failed, StepFailed
from weftwork.ports.outbound import Outbound
from weftwork.protocol import schema
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.media.parts import MODALITIES

_WIRE: Final = {mine: wire for wire, mine in CODES.items()} | {"unsupported_modality": "unsupported_modality"}


class AiSeam:
    """callAi. The checks, the guard and the assets are those of nodes, on behalf of the caller's partition."""

    def __init__(self, models: Models, assets: Assets | None, outbound: Outbound | None, most_bytes: int) -> None:
        self._models = models
        self._assets = assets
        self._outbound = outbound
        self._most = most_bytes

    async def call(self, request: Request) -> Response:
        """media-51 (RFC 0091): what a model would take, and why it does not take the rest."""
        document = await request.document()
        schema.require("ai-call", document)
        messages = tuple(given_message(each["role"], each["content"]) for each in document["messages"])
        wanted = ModelRequest(document.get("provider", ""), document.get("model", ""), messages)
        perception = Perception(self._assets, self._outbound, request.caller.partition, self._most)
        try:
            provider = self._models.find(wanted)
            seen = await perception.look(wanted, modalities_of(provider, wanted.model))
        except ProviderFault as fault:
            raise invalid(fault.message, "/provider", code=fault.code) from None
        except StepFailed as failed:
            raise _fault(failed.failure) from None
        shown = {part.modality for message in seen.messages for part in message.media}
        spoken = any(isinstance(each.content, str) or _speaks(each.content) for each in seen.messages)
        found = [*(["text"] if spoken else []), *(each for each in MODALITIES if each in shown)]
        return json_response(200, {"ok": True, "accepted": True, "modalities": found})


def _speaks(content: tuple[object, ...]) -> bool:
    return any(isinstance(part, TextPart) for part in content)


def _fault(failure: Failed) -> ClientFault:
    """A failure of a node as the wire says it. 404 would say that the seam is not there."""
    code = _WIRE.get(failure.code)
    if code is not None:
        return ClientFault(code, failure.message, failure.details)
    return ClientFault("validation_error", failure.message, {**(failure.details or {}), "code": failure.code})
