"""Run options: inputs, limits and settings that a caller gives when it creates a run, including how much of the agents'
reasoning the run reports. Sources: OpenWOP run-options, RFC 0024.
"""

import re
from collections.abc import Container, Iterable, Mapping
from typing import Any, Final, Literal, NoReturn

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.ids import Mode
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.schema import violations_fault
from weftwork.protocol.json.values import has_type, is_array, is_object
from weftwork.protocol.models.selection import MOCK_CONFIGS, check_mock_config
from weftwork.protocol.spelling import did_you_mean
from weftwork.protocol.workflow.definition import Variable

Verbosity = Literal["summary", "full", "off"]
VERBOSITIES: Final[tuple[Verbosity, ...]] = ("summary", "full", "off")
DEFAULT_VERBOSITY: Final[Verbosity] = "summary"


MAX_INPUTS: Final = 5000
"""Members of `inputs`: each becomes a variable of the run, with a row of its own in the store."""
MAX_METADATA_BYTES: Final = 8192
MAX_METADATA_DEPTH: Final = 4
MOCK_PROVIDERS: Final[tuple[str, ...]] = tuple(MOCK_CONFIGS)
"""Mock providers this host offers to test keys; discovery advertises the same list."""
_WEB_ADDRESS = re.compile(r"(?=.{1,2048}$)https?://[^\s/?#@]+(?:[/?#]\S*)?", re.IGNORECASE)


RESERVED_OPTIONS: Final[frozenset[str]] = frozenset(
    "recursionLimit runTimeoutMs maxLoopIterations escalationThreshold reasoningVerbosity model temperature maxTokens "
    "promptOverrides".split()
)


def normalise_options(document: Any) -> Any:
    """opt-02: read `configurable` as the official client 1.8.0 writes it.

    That client sends every reserved key it was not given as null and puts free keys under `extras`. A
    null reserved key counts as absent, and `extras` is merged under the keys beside it.
    """
    if not is_object(document) or not is_object(document.get("configurable")):
        return document
    given: dict[str, Any] = document["configurable"]
    kept = {name: value for name, value in given.items() if value is not None or name not in RESERVED_OPTIONS}
    extras = kept.get("extras")
    if is_object(extras):
        kept = {**extras, **{name: value for name, value in kept.items() if name != "extras"}}
    return {**document, "configurable": kept}


def check_options(configurable: dict[str, Any], metadata: dict[str, Any]) -> None:
    """lim-06 (OpenWOP run-options, readings, Metadata): ranges of reserved options; metadata small and shallow."""
    for name in ("runTimeoutMs", "maxLoopIterations"):
        value = configurable.get(name, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise invalid(f"{name} must be a whole number of at least 1.", f"/configurable/{name}")
    given = configurable.get("escalationThreshold", 0)
    if not isinstance(given, int | float) or isinstance(given, bool) or not 0 <= given <= 1:
        raise invalid("escalationThreshold must be a number from 0 to 1.", "/configurable/escalationThreshold")
    if configurable.get("reasoningVerbosity", DEFAULT_VERBOSITY) not in VERBOSITIES:
        text = f"reasoningVerbosity must be one of: {', '.join(VERBOSITIES)}."
        raise invalid(text, "/configurable/reasoningVerbosity")
    if metadata and len(encode_stored(metadata)) > MAX_METADATA_BYTES:
        raise invalid(f"metadata is larger than {MAX_METADATA_BYTES} bytes.", "/metadata")
    if _depth(metadata) > MAX_METADATA_DEPTH:
        raise invalid(f"metadata is nested deeper than {MAX_METADATA_DEPTH} levels.", "/metadata")


def check_configurable(schema: dict[str, Any] | None, configurable: dict[str, Any]) -> None:
    """opt-04 (OpenWOP run-options): what is configured fits the schema that the definition gives for it.

    `configurable` is read as `normalise_options` leaves it: an option that a client sent as null is not there.
    """
    violations = [] if schema is None else check_value(schema, configurable, "/configurable")
    if violations:
        raise violations_fault("configurable", violations)


_MAX_COMPARED: Final = 50
"""Inputs that are compared with the name of a missing one."""


def check_inputs(variables: tuple[Variable, ...], inputs: dict[str, Any], channels: Container[str] = ()) -> None:
    """data-04 (OpenWOP rest-endpoints, readings, Inputs): declared inputs have their type, required ones a value."""
    if len(inputs) > MAX_INPUTS:
        raise invalid(f"inputs takes {MAX_INPUTS} or fewer members.", "/inputs")
    taken = next((name for name in inputs if name in channels), None)
    if taken is not None:
        raise invalid(
            "A channel of the workflow has this name; only nodes write to it.", f"/inputs/{printable_token(taken)}"
        )
    for variable in variables:
        if variable.name in inputs:
            if not has_type(inputs[variable.name], variable.type):
                message = f"The input must be of type {variable.type}."
                raise invalid(message, f"/inputs/{printable_token(variable.name)}")
        elif variable.required and not variable.has_default:
            _refuse_missing_input(variable.name, inputs.keys() - {each.name for each in variables})


def _refuse_missing_input(name: str, unknown: Iterable[str]) -> NoReturn:
    """Points at an input that is probably a misspelling of the required one, else at the required one."""
    for given in sorted(unknown)[:_MAX_COMPARED]:
        if hint := did_you_mean(given, [name]):
            raise invalid(f"The workflow has no such input{hint}", f"/inputs/{printable_token(given)}")
    raise invalid("A required input is missing.", f"/inputs/{printable_token(name)}")


def _depth(value: Any) -> int:
    if is_object(value):
        return 1 + max(map(_depth, value.values()), default=0)
    if is_array(value):
        return 1 + max(map(_depth, value), default=0)
    return 0


def check_callback_url(url: str | None) -> None:
    """opt-03: a callbackUrl is kept with the run, so it must at least be a web address."""
    if url is not None and _WEB_ADDRESS.fullmatch(url) is None:
        raise invalid("callbackUrl must be an absolute http or https URL of at most 2048 characters.", "/callbackUrl")


def check_mock_provider(configurable: dict[str, Any], mode: Mode) -> None:
    """opt-01 (OpenWOP run-options): mock providers are for test keys, and only those that are offered."""
    wanted = configurable.get("mockProvider")
    if wanted is None:
        return
    supported = list(MOCK_PROVIDERS)
    if mode == "live":
        details = {"requestedProvider": wanted["id"], "supportedProviders": supported}
        raise ClientFault("mock_provider_forbidden", "Mock providers need a test key.", details)
    if wanted["id"] not in supported:
        message = "This host does not offer that mock provider."
        raise ClientFault("unsupported_mock_provider", message, {"supportedProviders": supported})
    check_mock_config(wanted["id"], wanted.get("config", {}))


def reasoning_verbosity(configurable: Mapping[str, Any]) -> Verbosity:
    """agent-05 (OpenWOP run-options): what the run asks for, else what discovery says."""
    given: Any = configurable.get("reasoningVerbosity")
    return given if given in VERBOSITIES else DEFAULT_VERBOSITY
