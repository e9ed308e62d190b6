"""Surfaces as messages of A2UI 0.9.1, and streams of A2UI messages as surfaces."""

from weftwork.protocol.surfaces.a2ui.answering import fold_action
from weftwork.protocol.surfaces.a2ui.documents import decode_messages, encode_messages
from weftwork.protocol.surfaces.a2ui.exporting import export_losses, to_messages
from weftwork.protocol.surfaces.a2ui.importing import from_messages
from weftwork.protocol.surfaces.a2ui.markdown import escape_markdown, unescape_markdown
from weftwork.protocol.surfaces.a2ui.vocabulary import (
    BASIC_CATALOG_ID,
    BASIC_CATALOG_IDS,
    MEDIA_TYPE,
    OPENWOP_CATALOG_ID,
    VERSIONS,
    Diagnostic,
    openwop_catalog,
)

__all__ = [
    "BASIC_CATALOG_ID",
    "BASIC_CATALOG_IDS",
    "MEDIA_TYPE",
    "OPENWOP_CATALOG_ID",
    "VERSIONS",
    "Diagnostic",
    "decode_messages",
    "encode_messages",
    "escape_markdown",
    "export_losses",
    "fold_action",
    "from_messages",
    "openwop_catalog",
    "to_messages",
    "unescape_markdown",
]
