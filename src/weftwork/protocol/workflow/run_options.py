"""Run options: the inputs, metadata and `configurable` settings that a caller sends when it creates a run.

Sources: OpenWOP run-options, RFC 0024 (verbosity of reasoning).
"""

import re
from collections.abc import Container, Iterable, Mapping
from typing import Any, Final, Literal, NoReturn

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.ids import TEST_KEY_PREFIX, Mode
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.schema import violations_fault
from weftwork.protocol.json.values import has_type, is_array, is_object
from weftwork.protocol.models.selection import MOCK_CONFIGS, check_mock_config
from weftwork.protocol.privacy.trust import TRUST_BOUNDARIES, TRUST_OPTION
from weftwork.protocol.run.events import TRUSTED
from weftwork.protocol.spelling import did_you_mean
from weftwork.protocol.workflow.definition import Variable

Verbosity = Literal["summary", "full", "off"]
VERBOSITIES: Final[tuple[Verbosity, ...]] = ("summary", "full", "off")
DEFAULT_VERBOSITY: Final[Verbosity] = "summary"


MAX_INPUTS: Final = 5000
"""Maximum number of members of `inputs`. Each becomes a variable of the run with a separate row in the store."""
MAX_METADATA_BYTES: Final = 8192
MAX_METADATA_DEPTH: Final = 4
MOCK_PROVIDERS: Final[tuple[str, ...]] = tuple(MOCK_CONFIGS)
"""Mock providers that this host offers to test keys. Discovery advertises the same list."""
_WEB_ADDRESS = re.compile(r"(?=.{1,2048}$)https?://[^\s/?#@]+(?:[/?#]\S*)?", re.IGNORECASE)


RESERVED_OPTIONS: Final[frozenset[str]] = frozenset(
    "recursionLimit runTimeoutMs maxLoopIterations escalationThreshold reasoningVerbosity model temperature maxTokens "
    "promptOverrides".split()
)
"""Options that the official client sends as null if they are not set. `trustBoundary` is not one of them: a null is
refused, so that it cannot mean `trusted` by mistake."""


def normalise_options(document: Any) -> Any:
    """opt-02: accept `configurable` in the form that the official client 1.8.0 sends.

    That client sends every unset reserved key as null and puts other keys under `extras`. A null reserved key counts as
    absent. The members of `extras` are moved up; on a clash, the outer member wins.
    """
    if not is_object(document) or not is_object(document.get("configurable")):
        return document
    configurable: dict[str, Any] = document["configurable"]
    options = {name: value for name, value in configurable.items() if value is not None or name not in RESERVED_OPTIONS}
    extras = options.get("extras")
    if is_object(extras):
        options = {**extras, **{name: value for name, value in options.items() if name != "extras"}}
    return {**document, "configurable": options}


def check_options(configurable: dict[str, Any], metadata: dict[str, Any]) -> None:
    """lim-06 (OpenWOP run-options, readings, Metadata): raises for a reserved option out of range, and for metadata
    that is too large or too deeply nested."""
    for name in ("runTimeoutMs", "maxLoopIterations"):
        value = configurable.get(name, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise invalid(f"{name} must be an integer of at least 1.", f"/configurable/{name}")
    threshold = configurable.get("escalationThreshold", 0)
    if not isinstance(threshold, int | float) or isinstance(threshold, bool) or not 0 <= threshold <= 1:
        raise invalid("escalationThreshold must be a number from 0 to 1.", "/configurable/escalationThreshold")
    if configurable.get("reasoningVerbosity", DEFAULT_VERBOSITY) not in VERBOSITIES:
        text = f"reasoningVerbosity must be one of: {', '.join(VERBOSITIES)}."
        raise invalid(text, "/configurable/reasoningVerbosity")
    if configurable.get(TRUST_OPTION, TRUSTED) not in TRUST_BOUNDARIES:
        raise invalid(f"{TRUST_OPTION} must be one of: {', '.join(TRUST_BOUNDARIES)}.", f"/configurable/{TRUST_OPTION}")
    if metadata and len(encode_stored(metadata)) > MAX_METADATA_BYTES:
        raise invalid(f"metadata is larger than the limit of {MAX_METADATA_BYTES} bytes.", "/metadata")
    if _depth(metadata) > MAX_METADATA_DEPTH:
        raise invalid(f"metadata is nested deeper than the limit of {MAX_METADATA_DEPTH} levels.", "/metadata")


def check_configurable(schema: dict[str, Any] | None, configurable: dict[str, Any]) -> None:
    """opt-04 (OpenWOP run-options): raises if `configurable` does not match the definition's `configurableSchema`.

    `configurable` is the result of `normalise_options`, so options that a client sent as null are absent.
    """
    violations = [] if schema is None else check_value(schema, configurable, "/configurable")
    if violations:
        raise violations_fault("configurable", violations)


_MAX_COMPARED: Final = 50
"""Maximum number of unknown inputs that are compared with the name of a missing input."""


def check_inputs(variables: tuple[Variable, ...], inputs: dict[str, Any], channels: Container[str] = ()) -> None:
    """data-04 (OpenWOP rest-endpoints, readings, Inputs): raises if an input has the wrong type, a required input is
    missing, an input has the name of a channel, or there are too many inputs."""
    if len(inputs) > MAX_INPUTS:
        raise invalid(f"inputs may have at most {MAX_INPUTS:,} members.", "/inputs")
    channel = next((name for name in inputs if name in channels), None) if inputs else None
    if channel is not None:
        text = "The name belongs to a channel of the workflow, which only nodes can write; rename or remove the input."
        raise invalid(text, f"/inputs/{printable_token(channel)}")
    for variable in variables:
        if variable.name in inputs:
            if not has_type(inputs[variable.name], variable.type):
                message = f"The input must be of type {variable.type}."
                raise invalid(message, f"/inputs/{printable_token(variable.name)}")
        elif variable.required and not variable.has_default:
            _refuse_missing_input(variable.name, inputs.keys() - {each.name for each in variables})


def _refuse_missing_input(name: str, unknown: Iterable[str]) -> NoReturn:
    """Raises an error that points at an input that is probably a misspelling of the required one, if there is one."""
    for candidate in sorted(unknown)[:_MAX_COMPARED]:
        if hint := did_you_mean(candidate, [name]):
            raise invalid(f"The workflow has no such input{hint}", f"/inputs/{printable_token(candidate)}")
    raise invalid("A required input is missing.", f"/inputs/{printable_token(name)}")


def _depth(value: Any) -> int:
    if is_object(value):
        return 1 + max(map(_depth, value.values()), default=0)
    if is_array(value):
        return 1 + max(map(_depth, value), default=0)
    return 0


def check_callback_url(url: str | None) -> None:
    """opt-03: raises if a callbackUrl is not an http or https URL. The host stores the URL with the run."""
    if url is not None and _WEB_ADDRESS.fullmatch(url) is None:
        raise invalid("callbackUrl must be an absolute http or https URL of at most 2048 characters.", "/callbackUrl")


def check_mock_provider(configurable: dict[str, Any], mode: Mode) -> None:
    """opt-01 (OpenWOP run-options): raises if a live key names a mock provider, or a test key an unknown one."""
    provider = configurable.get("mockProvider")
    if provider is None:
        return
    supported = list(MOCK_PROVIDERS)
    if mode == "live":
        details = {"requestedProvider": provider["id"], "supportedProviders": supported}
        text = f"Only test keys may use mock providers; send an API key that starts with {TEST_KEY_PREFIX}."
        raise ClientFault("mock_provider_forbidden", text, details)
    if provider["id"] not in supported:
        text = f"This host has no mock provider with this id; use one of: {', '.join(supported)}."
        raise ClientFault("unsupported_mock_provider", text, {"supportedProviders": supported})
    check_mock_config(provider["id"], provider.get("config", {}))


def reasoning_verbosity(configurable: Mapping[str, Any]) -> Verbosity:
    """agent-05 (OpenWOP run-options): the verbosity that the run requests, or the default that discovery advertises."""
    requested: Any = configurable.get("reasoningVerbosity")
    return requested if requested in VERBOSITIES else DEFAULT_VERBOSITY
