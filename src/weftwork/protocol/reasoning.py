"""Reasoning of agents: how much of it a run tells. Source: OpenWOP run-options, RFC 0024."""

from collections.abc import Mapping
from typing import Any, Final, Literal

Verbosity = Literal["summary", "full", "off"]
VERBOSITIES: Final[tuple[Verbosity, ...]] = ("summary", "full", "off")
VERBOSITY: Final[Verbosity] = "summary"


def verbosity(configurable: Mapping[str, Any]) -> Verbosity:
    """agent-05 (OpenWOP run-options): what the run asks for, else what discovery says."""
    given: Any = configurable.get("reasoningVerbosity")
    return given if given in VERBOSITIES else VERBOSITY
