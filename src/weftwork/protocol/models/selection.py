"""Which model a node asks: what the run says, over the node, over the host. Source: OpenWOP run-options."""

from collections.abc import Container, Mapping
from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.json.values import is_object

PROVIDER: Final = "provider"
MODEL: Final = "model"
CREDENTIAL: Final = "credentialRef"
MOST_NAME: Final = 256
MOST_TOKENS: Final = 10_000_000
"""More than any model says. 1e308 is a whole number too, and one that no strict reader takes."""


class Choice(msgspec.Struct, frozen=True):
    """Empty or None: the host decides."""

    provider: str = ""
    model: str = ""
    temperature: float | None = None
    max_tokens: int | None = None


def chosen(configurable: Mapping[str, Any], config: Mapping[str, Any]) -> Choice:
    """model-17 (OpenWOP run-options): what the options of the run and the config of a node come to.

    `ai.model` wins over `model`. A model that the node names belongs to the provider that it names: a run that
    chooses another provider, and no model, gets that provider's own.
    """
    provider = _ai(configurable, PROVIDER)
    named = config.get("provider") or ""
    model = _ai(configurable, MODEL) or configurable.get("model")
    if not model:
        model = config.get("model") if provider in (None, named) else ""
    tokens = configurable.get("maxTokens", config.get("maxTokens"))
    return Choice(
        provider or named,
        model or "",
        configurable.get("temperature", config.get("temperature")),
        None if tokens is None else min(int(tokens), MOST_TOKENS),
    )


def check_choice(configurable: Mapping[str, Any], supported: Container[str], byok: Container[str] = ()) -> None:
    """model-18 (OpenWOP run-options): `ai.*`, flat or nested, names what this host offers.

    `byok`: providers that take a credential of the caller's.
    """
    nested = configurable.get("ai", {})
    if not is_object(nested):
        raise invalid("ai must be an object.", "/configurable/ai")
    for name in (PROVIDER, MODEL, CREDENTIAL):
        flat = f"ai.{name}"
        given = [(configurable[flat], flat)] if flat in configurable else []
        given += [(nested[name], f"ai/{name}")] if name in nested else []
        for value, at in given:
            if not isinstance(value, str) or not 0 < len(value) <= MOST_NAME:
                raise invalid(f"ai.{name} must be a text of 1 to {MOST_NAME} characters.", f"/configurable/{at}")
        if len(given) == 2 and given[0][0] != given[1][0]:
            raise invalid(f"ai.{name} is given twice, with different values.", f"/configurable/{flat}")
        if name == PROVIDER and given and given[0][0] not in supported:
            raise invalid("This host does not offer that provider.", f"/configurable/{given[0][1]}")
    if _ai(configurable, CREDENTIAL) is not None:
        provider = _ai(configurable, PROVIDER)
        if provider is None or provider not in byok:
            details = {} if provider is None else {"provider": provider}
            text = "That provider takes no credential of the caller's; leave ai.credentialRef out."
            raise ClientFault("credential_forbidden", text, details or None)


def _ai(configurable: Mapping[str, Any], name: str) -> str | None:
    flat = configurable.get(f"ai.{name}")
    nested = configurable.get("ai")
    return flat if flat is not None or not is_object(nested) else nested.get(name)
