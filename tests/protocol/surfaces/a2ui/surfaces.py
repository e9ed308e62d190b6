"""Surfaces for tests of the bridge: one with every component, and all others, as a strategy."""

import string
from typing import Any

import msgspec
from hypothesis import strategies as st

from tests.protocol.envelopes.sample_envelopes import COMPONENTS
from weftwork.protocol.surfaces import limits
from weftwork.protocol.surfaces.surface import (
    CATALOG_VERSION,
    Action,
    Button,
    CheckboxField,
    DateField,
    Heading,
    Option,
    SelectField,
    Surface,
    Text,
    TextField,
    surface_payload,
)

Json = dict[str, Any]
PAYLOAD: Json = {"catalogVersion": CATALOG_VERSION, "surface": {"title": "Trip", "components": COMPONENTS}}

_ID_LETTERS = string.ascii_letters + string.digits + "_.:-"
texts = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], include_characters="\n\t"), max_size=30
) | st.lists(
    st.sampled_from(["\n", " ", "  ", "-", "1.", "#", "*", "`", "[", "](", ")", "<b>", "&#10;", "a", "\\"])
).map("".join)
"""Texts without control characters, of which Markdown renderers drop some."""
# The host refuses "." and "..", which are steps of a path.
ids = st.text(_ID_LETTERS, min_size=1, max_size=12).filter(limits.is_component_id) | st.sampled_from(
    ["root", "title", "c1", "0", "actionId", "values"]
)
field_ids = ids.filter(lambda name: name not in limits.RESERVED_FIELD_IDS and not name.startswith("openwop."))
labels = texts
options = st.lists(st.builds(Option, texts, labels), min_size=1, max_size=4, unique_by=lambda each: each.value)
fields = (
    st.builds(
        TextField, id=field_ids, label=labels, placeholder=st.just(msgspec.UNSET) | labels, required=st.booleans()
    )
    | st.builds(DateField, id=field_ids, label=labels, required=st.booleans())
    | st.builds(SelectField, id=field_ids, label=labels, options=options.map(tuple), required=st.booleans())
    | st.builds(CheckboxField, id=field_ids, label=labels, default=st.booleans())
)
buttons = st.builds(Button, id=ids, label=labels, action=st.sampled_from([Action("resume"), Action("exchange")]))
still = st.builds(Heading, text=texts, level=st.integers(1, 6)) | st.builds(Text, text=texts)
components = st.lists(still | fields | buttons, max_size=12, unique_by=lambda each: getattr(each, "id", id(each)))
surfaces = st.builds(Surface, components=components.map(tuple), title=st.just(msgspec.UNSET) | texts)


def payload_of(surface: Surface) -> Json:
    """The payload as it comes out of a JSON decoder."""
    return msgspec.json.decode(msgspec.json.encode(surface_payload(surface)))


def message(name: str, version: str = "v0.9", **body: Any) -> Json:
    return {"version": version, name: {"surfaceId": "s1", **body}}
