"""What discovery says about prompt templates, from the values that nodes work by. Sources: RFC 0027, 0029."""

from typing import Any

from weftwork.protocol.prompt_ref import PROMPT_KINDS
from weftwork.protocol.prompt_template import MAX_TEXT, SOURCES


def prompt_family(templates: int) -> dict[str, Any] | None:
    """prompt-11 (RFC 0027, RFC 0029): the block of a host that has so many templates; none without any."""
    if not templates:
        return None
    return {
        "supported": True,
        "endpointsSupported": False,
        "templateKinds": list(PROMPT_KINDS),
        "variableSources": list(SOURCES),
        "maxTemplateBytes": MAX_TEXT,
        "observability": "full",
        "packsSupported": False,
        "mutableLibrary": False,
        "agentBindings": False,
    }
