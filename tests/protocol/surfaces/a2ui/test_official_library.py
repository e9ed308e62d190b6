"""What the bridge exports, judged by a closed schema of this project and by a2ui-core, the library of A2UI."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from a2ui.core import STRICT_VALIDATION, A2uiError, Catalog, MessageProcessor, MessageProcessorOptions
from a2ui.core.basic_catalog.v0_9 import BasicCatalog
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.protocol.surfaces.a2ui.surfaces import PAYLOAD, Json, surfaces
from weftwork.a2ui import openwop_catalog, to_messages
from weftwork.protocol.surfaces.surface import Surface

EXPORTED = jsonschema_rs.Draft202012Validator(
    json.loads(Path(__file__).with_name("exported_messages.schema.json").read_text("utf-8"))
)
BASIC = BasicCatalog()
OPENWOP = Catalog.from_json(openwop_catalog(), "v0.9")


def process(messages: list[Json]) -> Any:
    """The surface that the library builds. It is permissive by default, so it is asked to be strict."""
    options = MessageProcessorOptions(validation_config=STRICT_VALIDATION)
    processor = MessageProcessor([BASIC, OPENWOP], None, options)
    processor.process_messages(copy.deepcopy(messages))
    (surface,) = processor.model.surfaces.values()
    return surface


@pytest.mark.rule("surf-40")
@given(surfaces, st.sampled_from(["0.9", "0.9.1"]), st.sampled_from(["markdown", "none"]), st.booleans())
def test_every_export_matches_the_closed_schema(surface: Surface, version: Any, escape: Any, partial: bool) -> None:
    messages = to_messages(
        surface,
        surface_id="s1",
        version=version,
        escape=escape,
        partial=partial,
        agent_display_name="Planner",
        disabled_actions={each.id: "Not here." for each in surface.buttons[:1]},
    )
    for each in messages:
        EXPORTED.validate(each)


@pytest.mark.rule("surf-40")
@each_case("catalog", "basic", "openwop")
@each_case("partial", False, True)
def test_the_library_accepts_an_export(catalog: Any, partial: bool) -> None:
    messages = to_messages(
        PAYLOAD, surface_id="s1", catalog=catalog, partial=partial, content_trust="untrusted", agent_display_name="Bot"
    )
    surface = process(messages)
    if not partial:
        assert surface.data_model.get("/values") == {"guest": "", "arrival": "", "room": [], "breakfast": True}
        again = process(messages + to_messages(PAYLOAD, surface_id="s1", catalog=catalog, create=False))
        assert again.data_model.get("/") == surface.data_model.get("/")


@each_case(
    "catalog, change",
    ("basic", {"placeholder": "x"}),
    ("basic", {"component": "ProgressBar"}),
    ("basic", {"variant": "h6"}),
    ("openwop", {"onClick": "x"}),
    ("openwop", {"component": "field.file"}),
)
def test_the_library_refuses_what_the_bridge_never_writes(catalog: Any, change: Json) -> None:
    messages = to_messages(PAYLOAD, surface_id="s1", catalog=catalog)
    messages[1]["updateComponents"]["components"][3].update(change)
    with pytest.raises(A2uiError):
        process(messages)


@pytest.mark.slow
@given(surfaces)
def test_the_library_accepts_any_export(surface: Surface) -> None:
    process(to_messages(surface, surface_id="s1"))
