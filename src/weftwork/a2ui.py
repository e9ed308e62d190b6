"""Surfaces and A2UI: convert forms to official A2UI 0.9.1 messages, real A2UI streams to forms, and actions to answers.

A surface is the payload of an envelope of the kind `ui.a2ui-surface`: a closed, flat list of texts, fields and buttons
(RFC 0102). A2UI is the format of agents and renderers outside OpenWOP. This module has no I/O and needs no host.

    from weftwork.a2ui import fold_action, from_messages, to_messages

    messages = to_messages(payload, surface_id="env-1")          # show a surface in any A2UI client
    action_id, values = fold_action(payload, action)             # what its button sends, for the route of actions
    payload, diagnostics = from_messages(messages)               # use a form of an A2UI agent as a surface

Nothing of A2UI can run here. The import refuses functions, `openUrl`, fields for secrets and the calls of A2UI 1.0; it
never fetches media, and it never raises for JSON values. What it returns passes the checks that a host applies to the
surface of a model. Everything that is lost in a conversion is a `Diagnostic`.

The names in `__all__` are stable: they change only with a new major version of the package.
"""

from weftwork.protocol.surfaces.a2ui import (
    BASIC_CATALOG_ID,
    BASIC_CATALOG_IDS,
    MEDIA_TYPE,
    OPENWOP_CATALOG_ID,
    VERSIONS,
    Diagnostic,
    decode_messages,
    encode_messages,
    export_losses,
    fold_action,
    from_messages,
    openwop_catalog,
    to_messages,
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
    "export_losses",
    "fold_action",
    "from_messages",
    "openwop_catalog",
    "to_messages",
]
