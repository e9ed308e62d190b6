"""The gate between a node type that requires capabilities of its model, and the model that would answer it.

A node type requires capabilities and can name a fallback model. The gate compares them with the model that is active
for the node: the node is dispatched, dispatched with its fallback model, or refused. It knows the models of a host from
a `ModelCatalogue`, which is also the source of the capabilities that discovery advertises.

Sources: RFC 0031 B, C and D, RFC 0055 A.
"""

import re
from collections.abc import Callable, Container, Mapping
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.run.model_payloads import ModelInsufficient, ModelSubstituted

MAX_REQUIRED: Final = 32
MAX_CAPABILITY: Final = 128
CAPABILITY_PATTERN: Final = "^([a-z][a-z0-9-]*|x-host-[a-z][a-z0-9-]*-[a-z][a-z0-9-]*)$"
"""The pattern of the wire. It accepts identifiers of later versions of the protocol."""

_NAME: Final = re.compile("[a-z][a-z0-9-]*", re.ASCII)
"""Matches the same names: the second alternative of the pattern is a part of the first one. Also for providers."""

NOT_PROVIDED: Final = "capability_not_provided"
"""The error code of a node that the gate refuses."""


class ModelRef(msgspec.Struct, frozen=True):
    """A model by the name of its provider and its own name. Both are empty if the host has no model."""

    provider: str
    model: str

    def document(self) -> dict[str, str]:
        return {"provider": self.provider, "model": self.model}


class ModelNeeds(msgspec.Struct, frozen=True):
    """The model capabilities that a node requires, its fallback model, and the model that its config names."""

    required: tuple[str, ...]
    fallback: ModelRef | None = None
    config: Mapping[str, str] = {}
    """The members `provider` and `model` of the config, if it has them."""


class OfferedProvider(msgspec.Struct, frozen=True):
    """A provider of a host: its default model, and the capabilities of the models that it lists."""

    default_model: str
    capabilities: dict[str, frozenset[str]] = {}


class ModelCatalogue(msgspec.Struct, frozen=True):
    """The models of a host. The first provider is the default. A model that is not listed has no capabilities."""

    providers: dict[str, OfferedProvider] = {}
    allows_substitution: bool = True
    """Whether the fallback model of a node type may replace the active model."""

    def resolve(self, provider: str, model: str) -> ModelRef:
        """The model that answers a request with these names, of which each may be empty for the default."""
        name = provider or next(iter(self.providers), "")
        offered = self.providers.get(name)
        return ModelRef(name, model or (offered.default_model if offered is not None else ""))

    def capabilities_of(self, ref: ModelRef) -> frozenset[str]:
        offered = self.providers.get(ref.provider)
        return offered.capabilities.get(ref.model, frozenset()) if offered is not None else frozenset()

    @property
    def advertised(self) -> list[str]:
        """cap-04 (RFC 0031 C): the capabilities of all models, sorted, as discovery lists them."""
        offered = [found for each in self.providers.values() for found in each.capabilities.values()]
        return sorted(frozenset[str]().union(*offered))

    def has_model_with(self, required: tuple[str, ...]) -> bool:
        """Whether one of the models has all these capabilities."""
        needed = frozenset(required)
        return any(needed <= each for offered in self.providers.values() for each in offered.capabilities.values())


NO_MODELS: Final = ModelCatalogue()


def capability_family(catalogue: ModelCatalogue) -> dict[str, Any]:
    """disc-11 (RFC 0031 C): the block `modelCapabilities` of discovery. A host without models still applies the gate,
    and therefore supports it, with nothing advertised."""
    return {
        "supported": True,
        "advertised": catalogue.advertised,
        "substitutionSupported": catalogue.allows_substitution,
    }


class GateResult(msgspec.Struct, frozen=True):
    """What happens to the node. `missing` has the required capabilities that the active model lacks, in declared
    order."""

    route: Literal["dispatch", "substitute", "refuse"]
    missing: tuple[str, ...] = ()
    fallback_attempted: bool = False
    """Whether a fallback model was considered and could not be used."""


def evaluate_gate(
    needs: ModelNeeds,
    active: ModelRef,
    *,
    substitution: bool,
    supported: Container[str],
    capabilities_of: Callable[[ModelRef], Container[str]],
) -> GateResult:
    """cap-02 (RFC 0031 B): dispatch a node whose active model has all required capabilities.

    cap-03 (RFC 0031 B): otherwise use its fallback model, if the host substitutes models, supports the provider of the
    fallback model, and the fallback model has all required capabilities. There is no fallback of a fallback.
    """
    found = capabilities_of(active)
    missing = tuple(name for name in needs.required if name not in found)
    if not missing:
        return GateResult("dispatch")
    fallback = needs.fallback
    if fallback is None or not substitution:
        return GateResult("refuse", missing)
    offered = capabilities_of(fallback) if fallback.provider in supported else ()
    if all(name in offered for name in needs.required):
        return GateResult("substitute", missing)
    return GateResult("refuse", missing, fallback_attempted=True)


def gate_event(
    node_id: str, active: ModelRef, fallback: ModelRef | None, result: GateResult
) -> ModelSubstituted | ModelInsufficient | None:
    """cap-10 (RFC 0031 D): the event of the result; None if the node is dispatched with its active model."""
    missing = list(result.missing)
    match result.route:
        case "dispatch":
            return None
        case "substitute":
            assert fallback is not None, "only a node with a fallback model gets it"
            return ModelSubstituted(node_id, active.provider, active.model, fallback.provider, fallback.model, missing)
        case "refuse":
            return ModelInsufficient(node_id, active.provider, active.model, missing, result.fallback_attempted)


def refusal_error(missing: tuple[str, ...], has_other: bool) -> dict[str, Any]:
    """The error of a refused node. `has_other`: another model of the host has all required capabilities."""
    listed = ", ".join(missing)
    message = (
        f"The node requires model capabilities that the selected model does not have: {listed}. Select another model "
        "with provider and model in the config of the node, or with ai.provider and ai.model of the run."
        if has_other
        else f"The node requires model capabilities that the selected model does not have: {listed}. No model of this "
        "host has all capabilities that the node requires; add one to the settings of the host."
    )
    details = {"capability": missing[0], "missingCapabilities": list(missing)}
    return {"code": NOT_PROVIDED, "message": message, "details": details}


def requirement_problem(required: tuple[str, ...], fallback: ModelRef | None) -> str | None:
    """cap-05 (RFC 0031 B): what is wrong with the requirements of a node type; None if they are valid."""
    if len(required) > MAX_REQUIRED:
        return f"up to {MAX_REQUIRED} model capabilities can be required"
    for name in required:
        if not is_capability_id(name):
            return (
                f"{name!r} is not a model capability: use lowercase letters, digits and dashes, such as vision-input "
                f"or x-host-acme-ocr"
            )
    if len(set(required)) < len(required):
        return "a model capability is listed twice"
    if fallback is None:
        return None
    if not required:
        return "a fallback model has no effect without required model capabilities"
    if _NAME.fullmatch(fallback.provider) is None or not fallback.model:
        return (
            "the fallback model must be a provider (lowercase letters, digits and dashes) and a model; a provider with "
            "a dot or an underscore in its name cannot be a fallback"
        )
    return None


def is_capability_id(name: object) -> bool:
    """Whether the text has the form of a model capability."""
    return isinstance(name, str) and len(name) <= MAX_CAPABILITY and _NAME.fullmatch(name) is not None
