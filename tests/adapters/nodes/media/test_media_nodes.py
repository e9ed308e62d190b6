"""Node types that show media: what they send, what they refuse, and that they do it once."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

import weftwork.conformance
from tests.adapters.nodes.fake_context import TYPES, EvaluatingScope, FakeContext, node_call, run_node
from tests.harness.cases import each_case, present
from tests.harness.definitions import edge, node, workflow
from weftwork.conformance.nodes.media_emit import MIN_MEDIA_BYTES, sample_media
from weftwork.engine.models.model_calls import EntryModelCalls
from weftwork.ports.media import OutgoingMedia
from weftwork.ports.node_outcome import Completed, Failed
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.asset_references import media_ref
from weftwork.protocol.workflow.node_config import check_config
from weftwork.testing import Asset, crash_everywhere, run_workflow
from weftwork.wiring.node_types import builtin_node_types

TYPE = "core.media.emit"
REF = media_ref("ab" * 32)
PNG = sample_media("image", 100)
FIXTURE = Path(weftwork.conformance.__file__).parent / "fixtures" / "conformance-media-emit.json"


def sent(config: dict[str, Any], inputs: dict[str, Any] | None = None, **variables: Any) -> OutgoingMedia:
    """What the node sends."""
    scope = EvaluatingScope({}, variables)
    context = FakeContext(scope)
    found = run_node(TYPE, node_call(config, inputs, scope), context)
    assert isinstance(found, Completed), found
    (one,) = context.emitted_media
    return one


def refused(config: dict[str, Any], inputs: dict[str, Any] | None = None) -> Failed:
    scope = EvaluatingScope()
    context = FakeContext(scope)
    found = run_node(TYPE, node_call(config, inputs, scope), context)
    assert isinstance(found, Failed)
    assert context.emitted_media == []
    assert not found.retryable
    return found


@pytest.mark.rule("media-67")
@each_case(
    "config, inputs, expected",
    ({"base64": "YWJj"}, {}, b"abc"),
    ({}, {"data": "YWJj"}, b"abc"),
    ({"base64": "eHl6"}, {"data": "YWJj"}, b"abc"),
    ({"mediaRef": REF}, {}, REF),
    ({}, {"mediaRef": REF}, REF),
    ({"mediaRef": media_ref("cd" * 32)}, {"mediaRef": {"mediaRef": REF, "bytes": 3}}, REF),
    ({"text": "Dear {{variables.who}}"}, {}, b"Dear Ada"),
    ({"text": "x"}, {"text": "as it is {{"}, b"as it is {{"),
    ({"text": "x"}, {"text": None}, b"x"),
)
def test_the_source_is_a_port_or_else_the_config(config: Any, inputs: Any, expected: Any) -> None:
    assert sent({"kind": "file", **config}, inputs, who="Ada").source == expected


def test_everything_else_is_said_too() -> None:
    config = {"kind": "audio", "base64": "YWJj", "mimeType": "audio/wav", "inline": True, "durationSeconds": 1.5}
    texts = {"alt": "{{variables.who}} hums", "title": "For {{variables.who}}", "name": "{{variables.who}}.wav"}
    assert sent({**config, **texts}, who="Ada") == OutgoingMedia(
        "audio", b"abc", "audio/wav", "Ada hums", "For Ada", "Ada.wav", 1.5, True
    )
    assert sent({"kind": "file", "text": "a"}) == OutgoingMedia("file", b"a", "text/plain")
    assert sent({"kind": "image", "base64": "YWJj"}) == OutgoingMedia("image", b"abc")


def test_the_outputs_are_references() -> None:
    given = node_call({"kind": "image", "base64": "YWJj", "mimeType": "image/png"})
    found = run_node(TYPE, given, FakeContext())
    assert isinstance(found, Completed)
    assert found.outputs["url"] == "https://media.test/1"
    inline = run_node(TYPE, node_call({"kind": "image", "base64": "YWJj", "inline": True}), FakeContext())
    assert isinstance(inline, Completed)
    assert inline.outputs.keys() == found.outputs.keys() - {"url"}
    assert "base64" not in inline.outputs


@each_case(
    "config, inputs, code",
    ({}, {}, "node_input_missing"),
    ({}, {"data": None, "input": "x"}, "node_input_missing"),
    ({"text": "a"}, {"data": "YWJj"}, "node_input_invalid"),
    ({}, {"mediaRef": REF, "text": "a"}, "node_input_invalid"),
    ({"base64": "YWJ"}, {}, "node_input_invalid"),
    ({}, {"data": "Y W J j"}, "node_input_invalid"),
    ({}, {"data": "äöü"}, "node_input_invalid"),
    ({}, {"data": 7}, "node_input_invalid"),
    ({}, {"text": ["a"]}, "node_input_invalid"),
    ({"mediaRef": "weftwork-asset:1"}, {}, "node_input_invalid"),
    ({}, {"mediaRef": {"url": "https://example.com"}}, "node_input_invalid"),
    ({}, {"mediaRef": [REF]}, "node_input_invalid"),
    ({}, {"data": ""}, "node_input_invalid"),
    ({}, {"text": ""}, "node_input_invalid"),
    ({"text": "{{''}}"}, {}, "node_input_invalid"),
    ({"text": "{{variables.nobody.name}}"}, {}, "expression_failed"),
    ({"text": "a", "alt": "{{variables.nobody.name}}"}, {}, "expression_failed"),
)
def test_what_is_no_source_or_not_the_only_one_is_refused(config: Any, inputs: Any, code: str) -> None:
    assert refused({"kind": "file", **config}, inputs).code == code


@each_case(
    "type_id, config, pointer, rule",
    (TYPE, {"text": "a"}, "", "required"),
    (TYPE, {"kind": "video"}, "/kind", "enum"),
    (TYPE, {"kind": "file", "text": "a", "mediaRef": "b"}, "/text", "not"),
    (TYPE, {"kind": "file", "base64": "YQ==", "text": "a"}, "/text", "not"),
    (TYPE, {"kind": "file", "durationSeconds": 1}, "/durationSeconds", "not"),
    (TYPE, {"kind": "audio", "durationSeconds": -1}, "/durationSeconds", "minimum"),
    ("conformance.media.emit", {"bytes": 63}, "/bytes", "minimum"),
    (TYPE, {"kind": "image"}, "", None),
    (TYPE, {"kind": "audio", "durationSeconds": 1.5, "inline": True}, "", None),
)
def test_a_config_is_taken_or_refused_at_its_place(type_id: str, config: Any, pointer: str, rule: str | None) -> None:
    found = check_config(TYPES[type_id].declaration, config, "/config")
    assert [(each.pointer, each.rule) for each in found] == ([(f"/config{pointer}", rule)] if rule else [])


def emits(config: dict[str, Any], **inputs: Any) -> dict[str, Any]:
    """A workflow whose one node emits."""
    given = {name: {"type": "static", "value": value} for name, value in inputs.items()}
    return workflow([node("show", TYPE, config=config, inputs=given)], [])


@pytest.mark.rule("media-67")
def test_a_run_shows_what_the_node_was_given() -> None:
    config = {"kind": "image", "alt": "A dot", "title": "Dots", "name": "dot.png", "mimeType": "image/png"}
    found = run_workflow(emits(config, data=b64encode(PNG).decode()))
    assert found.error is None
    (shown,) = found.media
    assert (shown.kind, shown.node_id, shown.data) == ("image", "show", PNG)
    outputs = found.outputs["show"]
    assert shown.payload == {"url": outputs["url"], "bytes": 100, "mimeType": "image/png", "alt": "A dot"}
    assert outputs["mediaRef"] == Asset(PNG).media_ref
    assert outputs["rendering"] == {"display": "image", "mimeType": "image/png", "alt": "A dot", "title": "Dots"}


def test_an_asset_of_the_tenant_is_shown_and_no_other() -> None:
    photo = Asset(PNG)
    document = workflow(
        [node("show", TYPE, config={"kind": "image"}, inputs={"mediaRef": {"type": "variable", "variableName": "p"}})],
        [],
        [{"name": "p", "type": "object"}],
    )
    (shown,) = run_workflow(document, inputs={"p": photo}).media
    assert (shown.data, shown.payload["mimeType"]) == (PNG, "image/png")
    failed = run_workflow(document, inputs={"p": {"mediaRef": REF}})
    assert (present(failed.error).code, failed.media) == ("media_not_found", [])


def test_more_bytes_than_an_upload_may_have_are_refused() -> None:
    failed = run_workflow(emits({"kind": "file"}, text="x" * 101), limits=Limits(max_upload_bytes=100))
    assert (present(failed.error).code, failed.media) == ("media_too_large", [])


def test_each_item_of_a_map_and_each_round_of_a_loop_shows_its_own() -> None:
    body = {
        "typeId": TYPE,
        "config": {"kind": "file", "text": "{{ports.word}}"},
        "inputs": {"word": {"type": "expression", "expression": "item"}},
    }
    items = {"items": {"type": "static", "value": ["a", "b", "a"]}}
    mapped = run_workflow(workflow([node("map", "core.flow.map", config={"body": body}, inputs=items)], []))
    assert mapped.error is None
    assert sorted(each.data for each in mapped.media) == [b"a", b"a", b"b"]
    nodes = [
        node("head", "core.loop", config={"times": 3}),
        node("show", TYPE, config={"kind": "file", "text": "{{nodes.head.outputs.iteration}}"}),
    ]
    looped = run_workflow(workflow(nodes, [edge("head", "show", sourceOutput="body"), edge("show", "head")]))
    assert looped.error is None
    assert [each.data for each in looped.media] == [b"0", b"1", b"2"]


CRASHED = workflow(
    [
        node("a", TYPE, config={"kind": "file", "text": "first", "alt": "A"}),
        node("b", TYPE, config={"kind": "file", "text": "second", "alt": "B"}),
    ],
    [edge("a", "b")],
)


def shown_in_crashes() -> list[list[bytes]]:
    return [[each.data for each in result.media] for result in crash_everywhere(CRASHED)]


@pytest.mark.rule("media-67")
def test_a_crash_anywhere_shows_nothing_twice() -> None:
    found = shown_in_crashes()
    assert len(found) > 6
    assert all(each == [b"first", b"second"] for each in found)


def test_without_its_record_a_crash_shows_something_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    emit, count = EntryModelCalls.emit_media, iter(range(10**6))

    async def forgetful(self: Any, sent: OutgoingMedia, turn: str, *more: Any) -> Any:
        return await emit(self, sent, f"{next(count)}", *more)

    monkeypatch.setattr(EntryModelCalls, "emit_media", forgetful)
    assert any(len(each) > 2 for each in shown_in_crashes())


def test_media_for_checks_look_like_what_they_are() -> None:
    assert all(len(sample_media(kind, size)) == size for kind in ("image", "audio", "file") for size in (64, 65, 9999))
    for kind, looks in (("image", "image/png"), ("audio", "audio/wav"), ("file", "application/pdf")):
        assert Asset(sample_media(kind, MIN_MEDIA_BYTES))["mimeType"] == looks


@pytest.mark.rule("media-68")
def test_the_workflow_of_checks_shows_one_of_each() -> None:
    found = run_workflow(FIXTURE)
    assert found.error is None
    assert [(each.kind, len(each.data)) for each in found.media] == [
        ("image", 4096),
        ("audio", 8192),
        ("file", 2048),
        ("image", 128),
        ("audio", 256),
    ]
    assert ["base64" in each.payload for each in found.media] == [False, False, False, True, True]
    assert all(("url" in each.payload) != ("base64" in each.payload) for each in found.media)
    assert "log.appended" not in found.kinds


def test_only_those_who_check_have_the_type_of_checks() -> None:
    def names(conformance: bool) -> set[str]:
        return {*builtin_node_types(conformance=conformance)}

    assert names(True) - names(False) >= {"conformance.media.emit"}
    assert TYPE in names(False)
    assert TYPES[TYPE].declaration.effect == "pure"
