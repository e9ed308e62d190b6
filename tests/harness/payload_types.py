"""The Structs of event payloads."""

from weftwork.protocol.run import model_payloads, payloads
from weftwork.protocol.run.events import Payload

PAYLOAD_TYPES: tuple[type[Payload], ...] = tuple(
    {
        each: None
        for module in (payloads, model_payloads)
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Payload) and each is not Payload
    }
)
EVENT_TYPES = frozenset(each.event_type for each in PAYLOAD_TYPES)
"""The types of event that the engine and the built-in nodes decide on."""
