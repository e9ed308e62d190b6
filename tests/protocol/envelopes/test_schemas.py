"""The schemas of envelopes: what they take and refuse, and how they are written."""

import copy
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from tests.harness.cases import each_case, present
from tests.protocol.envelopes.sample_envelopes import ABSENT, COMPONENTS, PAYLOADS, Json, envelope, with_value
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, DISPLAY_KINDS, UNIVERSAL_KINDS
from weftwork.protocol.envelopes.validator import expand_tagged_unions
from weftwork.protocol.json import schema

KINDS = (*UNIVERSAL_KINDS, *DISPLAY_KINDS)
BRANCHING = frozenset("oneOf allOf not if then else dependencies prefixItems propertyNames anyOf $ref".split())
ASK, SURFACE = "clarification.request", "ui.a2ui-surface"
PARTS = "/surface/components"


def subschemas(document: Any, depth: int = 0) -> Iterator[tuple[int, Json]]:
    """Every object in a schema, with how many values of `properties` and `items` lie around it."""
    if isinstance(document, dict):
        yield depth, document
        for name, member in document.items():
            inner = depth + (name in ("properties", "items"))
            yield from subschemas(member, inner)
    elif isinstance(document, list):
        for each in document:
            yield from subschemas(each, depth)


@pytest.mark.rule("env-03")
@each_case("kind", *KINDS)
def test_every_kind_has_a_schema_that_takes_a_good_payload(kind: str) -> None:
    assert schema.check(f"envelopes/{kind}", PAYLOADS[kind]) == []
    found = present(BUILTIN_KINDS.find(kind))
    assert found.version == 1
    assert found.schema["$id"] == f"https://openwop.dev/spec/v1/envelopes/{kind}.schema.json"


def test_there_are_eight_kinds() -> None:
    assert set(schema.envelope_kinds()) == set(KINDS) == set(BUILTIN_KINDS.names)


@each_case("name", "ai-envelope", *(f"envelopes/{kind}" for kind in KINDS))
def test_every_object_is_closed_or_says_that_it_is_open(name: str) -> None:
    for _, each in subschemas(schema.document(name)):
        assert "oneOf" not in each
        assert each.get("$ref", "#/").startswith("#/")
        if "properties" in each and isinstance(each.get("type"), str):
            assert each["additionalProperties"] is False
        for form in each.get("anyOf", ()):
            assert set(form) == {"$ref"}


@each_case("kind", *UNIVERSAL_KINDS)
def test_universal_kinds_use_plain_keywords_and_are_shallow(kind: str) -> None:
    for depth, each in subschemas(schema.document(f"envelopes/{kind}")):
        assert not BRANCHING.intersection(each)
        assert depth <= 5


def test_every_part_of_a_surface_is_told_apart_by_one_word() -> None:
    definitions = schema.document(f"envelopes/{SURFACE}")["$defs"]
    tags: list[str] = []
    for form in definitions["component"]["anyOf"]:
        part = definitions[form["$ref"].removeprefix("#/$defs/")]
        assert part["properties"]["component"]["type"] == "string"
        assert "component" in part["required"]
        tags += part["properties"]["component"]["enum"]
    assert tags == list(dict.fromkeys(each["component"] for each in COMPONENTS))


@each_case("kind", "schema.response", "media.image", "media.audio", "media.file")
def test_some_kinds_have_no_reasoning(kind: str) -> None:
    assert "reasoning" not in schema.document(f"envelopes/{kind}")["properties"]


TAKEN: list[tuple[str, str, Any]] = [
    (ASK, "/reasoning", ABSENT),
    (ASK, "/questions/0/id", "i" * 128),
    (ASK, "/questions/0/context", {"any": {"thing": [1]}}),
    (ASK, "/questions/0/schema", {}),
    (ASK, "/contextType", ""),
    ("schema.request", "/envelopeType", "v" * 256),
    ("schema.request", "/reason", "r" * 1024),
    ("error", "/details", {}),
    ("error", "/code", "c" * 128),
    ("media.image", "/bytes", 0),
    ("media.image", "/bytes", 7.0),
    ("media.image", "/base64", ""),
    ("media.image", "/url", ABSENT),
    ("media.audio", "/durationSeconds", 0),
    ("media.file", "/name", ""),
    (SURFACE, PARTS, []),
    (SURFACE, "/surface/title", ABSENT),
    (SURFACE, f"{PARTS}/0/level", 6),
    (SURFACE, f"{PARTS}/0/level", ABSENT),
    (SURFACE, f"{PARTS}/2/id", ""),
]
REFUSED: list[tuple[str, str, Any]] = [
    (ASK, "/questions", ABSENT),
    (ASK, "/questions", []),
    (ASK, "/questions", {}),
    (ASK, "/questions/0/id", ""),
    (ASK, "/questions/0/id", "i" * 129),
    (ASK, "/questions/0/id", ABSENT),
    (ASK, "/questions/0/question", ""),
    (ASK, "/questions/0/schema", True),
    (ASK, "/questions/0/context", []),
    (ASK, "/questions/0/hint", "h"),
    (ASK, "/contextType", "c" * 129),
    (ASK, "/reasoning", None),
    (ASK, "/reasoning", 1),
    (ASK, "/extra", 1),
    ("schema.request", "/envelopeType", ""),
    ("schema.request", "/envelopeType", "v" * 257),
    ("schema.request", "/reason", "r" * 1025),
    ("schema.request", "/names", ["a"]),
    ("schema.response", "/ack", False),
    ("schema.response", "/ack", 1),
    ("schema.response", "/ack", ABSENT),
    ("schema.response", "/reasoning", "r"),
    ("error", "/code", ""),
    ("error", "/code", "c" * 129),
    ("error", "/message", ""),
    ("error", "/message", ABSENT),
    ("error", "/details", []),
    ("media.image", "/bytes", -1),
    ("media.image", "/bytes", 0.5),
    ("media.image", "/bytes", True),
    ("media.image", "/bytes", ABSENT),
    ("media.image", "/reasoning", "r"),
    ("media.image", "/durationSeconds", 1),
    ("media.audio", "/durationSeconds", -0.1),
    ("media.audio", "/name", "n"),
    ("media.file", "/name", 1),
    (SURFACE, "/catalogVersion", "0.9.2"),
    (SURFACE, "/catalogVersion", ABSENT),
    (SURFACE, "/surface", ABSENT),
    (SURFACE, "/surface/script", "s"),
    (SURFACE, PARTS, ABSENT),
    (SURFACE, f"{PARTS}/0/level", 0),
    (SURFACE, f"{PARTS}/0/level", 7),
    (SURFACE, f"{PARTS}/0/component", "video"),
    (SURFACE, f"{PARTS}/0/component", ABSENT),
    (SURFACE, f"{PARTS}/1/level", 1),
    (SURFACE, f"{PARTS}/2/default", "d"),
    (SURFACE, f"{PARTS}/3/placeholder", "p"),
    (SURFACE, f"{PARTS}/4/options", []),
    (SURFACE, f"{PARTS}/4/options/0/label", ABSENT),
    (SURFACE, f"{PARTS}/4/options/0/icon", "i"),
    (SURFACE, f"{PARTS}/5/required", True),
    (SURFACE, f"{PARTS}/6/action", "resume"),
    (SURFACE, f"{PARTS}/6/action/target", "https://elsewhere.example"),
    (SURFACE, f"{PARTS}/6/action/url", "https://elsewhere.example"),
    (SURFACE, f"{PARTS}/6/action", ABSENT),
    (SURFACE, f"{PARTS}/7", "text"),
]


@pytest.mark.rule("env-03")
@each_case("kind, pointer, value", *TAKEN)
def test_a_payload_that_is_taken(kind: str, pointer: str, value: Any) -> None:
    _judge(f"envelopes/{kind}", with_value(PAYLOADS[kind], pointer, value), True)


@pytest.mark.rule("env-03")
@each_case("kind, pointer, value", *REFUSED)
def test_a_payload_that_is_refused(kind: str, pointer: str, value: Any) -> None:
    _judge(f"envelopes/{kind}", with_value(PAYLOADS[kind], pointer, value), False)


@each_case("kind", *KINDS)
@each_case("payload", None, 1, "text", [], True)
def test_a_payload_is_an_object(kind: str, payload: Any) -> None:
    _judge(f"envelopes/{kind}", payload, False)


FULL = envelope(
    nodeId="n",
    partial={"isPartial": True, "index": 0, "total": -1},
    meta={
        "source": "user",
        "ts": "2026-01-31T08:05:09Z",
        "contentTrust": "trusted",
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "label": "l" * 256,
        "rendering": {"display": "card", "mimeType": "m", "lang": "l", "alt": "a", "title": "t"},
    },
)


@pytest.mark.rule("env-04")
@each_case(
    "pointer, value, taken",
    ("/schemaVersion", ABSENT, True),
    ("/schemaVersion", 0, True),
    ("/schemaVersion", 1.0, True),
    ("/schemaVersion", -1, False),
    ("/schemaVersion", "1.0", False),
    ("/schemaVersion", 1.5, False),
    ("/schemaVersion", True, False),
    ("/type", "t" * 256, True),
    ("/type", "t" * 257, False),
    ("/type", "", False),
    ("/type", ABSENT, False),
    ("/envelopeId", "e" * 128, True),
    ("/envelopeId", "e" * 129, False),
    ("/envelopeId", "", False),
    ("/envelopeId", ABSENT, False),
    ("/correlationId", "c" * 129, False),
    ("/correlationId", ABSENT, False),
    ("/correlationId", None, False),
    ("/nodeId", ABSENT, True),
    ("/nodeId", "", False),
    ("/nodeId", "n" * 129, False),
    ("/payload", None, True),
    ("/payload", "text", True),
    ("/payload", 0.5, True),
    ("/payload", [], True),
    ("/payload", ABSENT, False),
    ("/meta", ABSENT, False),
    ("/meta", None, False),
    ("/meta/source", "tool", False),
    ("/meta/source", ABSENT, False),
    ("/meta/ts", ABSENT, False),
    ("/meta/ts", 1, False),
    ("/meta/contentTrust", "maybe", False),
    ("/meta/label", "l" * 257, False),
    ("/meta/acme.key", 1, False),
    ("/meta/rendering", {}, True),
    ("/meta/rendering/display", "a2ui", False),
    ("/meta/rendering/size", 1, False),
    ("/partial", True, False),
    ("/partial/isPartial", ABSENT, False),
    ("/partial/index", -1, False),
    ("/partial/total", -2, False),
    ("/partial/of", 1, False),
    ("/tenant", "t", False),
)
def test_the_members_of_an_envelope(pointer: str, value: Any, taken: bool) -> None:
    _judge("ai-envelope", with_value(FULL, pointer, value), taken)


def _judge(name: str, document: Any, taken: bool) -> None:
    """Ours, a second validator, and the form in which we explain violations say the same."""
    ours = schema.document(name)
    assert (schema.check(name, document) == []) is taken
    assert jsonschema.Draft202012Validator(ours).is_valid(document) is taken
    told, _ = expand_tagged_unions(copy.deepcopy(ours))
    assert jsonschema.Draft202012Validator(told).is_valid(document) is taken
