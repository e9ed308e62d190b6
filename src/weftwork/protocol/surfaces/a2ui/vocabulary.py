"""What both directions of the A2UI bridge share: names of A2UI, and diagnostics.

A2UI 0.9.1 and the catalogue of OpenWOP have the same version number and are different things: A2UI has a tree of
components with references and a data model, OpenWOP a flat list of components with values by field id. So the bridge
converts, and passes nothing through.
"""

import json
from importlib.resources import files
from typing import Any, Final, Literal

import msgspec

MEDIA_TYPE: Final = "application/a2ui+json"
"""The media type of A2UI messages."""
Version = Literal["0.9", "0.9.1"]
VERSIONS: Final[tuple[Version, ...]] = ("0.9", "0.9.1")
"""The protocol versions that are read and written. Both have the same messages."""
Catalog = Literal["basic", "openwop"]
"""`basic` is the catalogue that every A2UI client renders. `openwop` has the components of a surface under their own
names."""
Escape = Literal["markdown", "none"]
"""Whether the texts of body components are Markdown, as A2UI defines, or plain for renderers that know no Markdown."""

BASIC_CATALOG_ID: Final = "https://a2ui.org/specification/v0_9/catalogs/basic/catalog.json"
"""The id of the basic catalogue that the released packages of A2UI know."""
BASIC_CATALOG_IDS: Final = (BASIC_CATALOG_ID, "https://a2ui.org/specification/v0_9_1/catalogs/basic/catalog.json")
"""The page of version 0.9.1 prints another id than the packages have, so both are read."""
OPENWOP_CATALOG_ID: Final = "urn:weftwork:a2ui:openwop-catalog:0.9.1"

ROOT: Final = "root"
"""The id of the component at the top of the tree."""
TITLE: Final = "title"
"""The id of the component with the title of the surface."""
VALUES: Final = "/values"
"""Where the data model has the values of the fields."""
RESUME: Final = "openwop.resume"
EXCHANGE: Final = "openwop.exchange"
EVENTS: Final = {"resume": RESUME, "exchange": EXCHANGE}
"""The name of the event that a button sends, by the target of its action."""
NEVER: Final[dict[str, Any]] = {"call": "not", "args": {"value": True}, "returnType": "boolean"}
"""A condition that never holds. The official renderers take the literal `false` for a missing condition, and the button
then works."""
DISABLED: Final = "The button is disabled, so the surface is partial or can no longer be answered."
VALIDATION_FAILED: Final = "VALIDATION_FAILED"
MAX_DIAGNOSTICS: Final = 50


class Diagnostic(msgspec.Struct, frozen=True):
    """One thing that could not be converted. Contains no submitted value."""

    surface_id: str
    path: str
    """A JSON pointer: into the list of messages for an import, into the payload for an export."""
    message: str
    is_loss: bool = False
    """Whether the rest was converted without it. If this is false, nothing was converted."""

    def document(self) -> dict[str, str]:
        """The diagnostic as an error of A2UI, the value of the member `error` of a message to the agent."""
        return {
            "code": VALIDATION_FAILED,
            "surfaceId": self.surface_id,
            "path": self.path,
            "message": self.message,
        }


def openwop_catalog() -> dict[str, Any]:
    """surf-46 (host): a new copy of the catalogue document with the components of a surface, all closed. A client can
    send it as one of its `inlineCatalogs`."""
    return json.loads(files("weftwork.protocol").joinpath("schemas", "a2ui", "openwop-catalog.json").read_bytes())
