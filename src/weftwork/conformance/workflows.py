"""The conformance workflows, their prompts and their node types, which `--conformance` adds to a host.

Ids, nodes and settings of the workflows are as published by OpenWOP. Names and descriptions are the project's own.
"""

from collections.abc import Iterator
from importlib import resources
from typing import Any, Final

from weftwork.conformance.nodes.media_emit import sample_media_emit
from weftwork.conformance.nodes.mock_agent import mock_agent
from weftwork.conformance.nodes.mock_ai import mock_ai_nodes
from weftwork.ports.nodes import NodeType
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.models.prompt_templates import PromptTemplate, PromptTemplates, parse_template

REFUSED_WORKFLOWS: Final = frozenset({"conformance-conversation-capability-negotiation"})
"""Workflows that test the refusal of a missing capability. Only a host without the capability has them."""


def conformance_nodes(templates: PromptTemplates) -> tuple[NodeType, ...]:
    """The node types that only these workflows use. `templates` holds the templates for their prompt references."""
    return (mock_agent, *mock_ai_nodes(templates), sample_media_emit)


def conformance_prompts() -> Iterator[PromptTemplate]:
    return map(parse_template, _documents("prompts"))


def conformance_workflows() -> Iterator[dict[str, Any]]:
    """The definitions, sorted by file name."""
    return _documents("fixtures")


def _documents(folder: str) -> Iterator[Any]:
    files = resources.files("weftwork.conformance").joinpath(folder).iterdir()
    for file in sorted(files, key=lambda each: each.name):
        yield decode(file.read_bytes())
