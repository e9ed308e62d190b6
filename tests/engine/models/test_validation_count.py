"""An envelope is held against its schemas once on its way through the host, and what is recorded fits them."""

import json
from base64 import b64encode
from typing import Any

import pytest

import weftwork
from tests.adapters.python.fake_node_host import single_node_workflow
from weftwork.engine.media.node_media import EntryMediaStore
from weftwork.engine.sdk import generation
from weftwork.protocol.envelopes import validator
from weftwork.protocol.envelopes.checks import ENVELOPE_VALIDATOR
from weftwork.protocol.envelopes.kind_registry import BUILTIN_KINDS
from weftwork.protocol.envelopes.validator import DocumentValidator
from weftwork.protocol.limits import Limits
from weftwork.testing import FakeModel, NodeResult, RunResult, run_node, run_workflow

SCHEMA = {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}}
TICKET = weftwork.EnvelopeKind("vendor.acme.ticket", schema=SCHEMA)
PNG = b"\x89PNG\r\n\x1a\n" + b"p" * 100
BASE64 = b64encode(PNG).decode()
MADE = {"type": "vendor.acme.ticket", "payload": {"title": "Lamp"}}
DRAWN = {"type": "media.image", "payload": {"base64": BASE64, "bytes": 1, "mimeType": "image/png", "alt": "A"}}
ASKED = {"userMessage": "Go on.", "envelopeType": "vendor.acme.ticket"}


@weftwork.node("acme.ticket")
async def ticket(ctx: weftwork.Context) -> Any:
    return (await ctx.generate_envelope(TICKET, "Go on.")).payload


@weftwork.node("acme.show")
async def show(ctx: weftwork.Context) -> Any:
    return await ctx.emit_image(PNG, alt="A")


@weftwork.node("acme.copy")
async def copy(ctx: weftwork.Context) -> Any:
    shown = await ctx.emit_image(PNG, alt="A", name="a.png")
    return (await ctx.generate_envelope("media.image", shown.url)).payload


def generated(*documents: Any, limits: Limits | None = None, **config: Any) -> RunResult:
    flow = single_node_workflow("one", "core.ai.generateEnvelope", config={**ASKED, **config})
    model = FakeModel(["\n".join(map(json.dumps, documents))])
    return run_workflow(flow, model=model, kinds=[TICKET], limits=limits)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often a document was held against the schema of envelopes, and a payload against that of its kind."""
    found = {"shape": 0, "payload": 0}
    is_valid = DocumentValidator.is_valid

    def counted(self: DocumentValidator, value: Any) -> bool:
        found["shape" if self is ENVELOPE_VALIDATOR else "payload"] += 1
        return is_valid(self, value)

    monkeypatch.setattr(DocumentValidator, "is_valid", counted)
    return found


@pytest.mark.rule("env-04", "env-06")
@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (lambda: generated(MADE), 1),
        (lambda: generated(MADE, {**MADE, "correlationId": "2"}), 2),
        (lambda: generated(DRAWN, envelopeType="media.image"), 1),
        (lambda: run_node(ticket, model=FakeModel([json.dumps(MADE)]), kinds=[TICKET]), 1),
        (lambda: run_node(show), 1),
        (lambda: run_workflow(single_node_workflow("one", "core.media.emit", config={"kind": "file", "text": "a"})), 1),
    ],
    ids=["plain", "two", "media", "ctx.generate_envelope", "ctx.emit_image", "core.media.emit"],
)
def test_schemas_are_applied_once_to_each_envelope(work: Any, expected: int, counts: dict[str, int]) -> None:
    assert work().error is None
    assert counts == {"shape": expected, "payload": expected}


def test_an_answer_that_is_sent_back_is_validated_once_too(counts: dict[str, int]) -> None:
    model = FakeModel([json.dumps({**MADE, "payload": {}}), json.dumps(MADE)])
    assert run_node(ticket, model=model, kinds=[TICKET]).error is None
    assert counts == {"shape": 2, "payload": 2}


def test_the_schema_of_a_value_is_applied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[Any] = []
    check = generation.check_value

    def counted(schema: Any, value: Any, at: str) -> Any:
        checked.append(value)
        return check(schema, value, at)

    monkeypatch.setattr(generation, "check_value", counted)
    monkeypatch.setattr(validator, "check_value", counted)
    config = {"prompt": "Go on.", "outputSchema": SCHEMA}
    flow = single_node_workflow("one", "core.ai.structuredOutput", config=config)
    assert run_workflow(flow, model=FakeModel(['{"title": "Lamp"}'])).error is None
    assert checked == [{"title": "Lamp"}]


def unfit(result: NodeResult | RunResult) -> list[Any]:
    """Recorded payloads of envelopes that do not fit the schema of their kind."""
    assert result.error is None
    recorded = [event.payload for event in result.events if event.type == "weftwork.envelope.recorded"]
    assert recorded
    kinds = BUILTIN_KINDS.with_kinds([TICKET.kind])
    found = [(each["payload"], kinds.find(each["type"])) for each in recorded]
    return [payload for payload, kind in found if kind is None or not kind.validator.is_valid(payload)]


@pytest.mark.rule("media-86")
@pytest.mark.parametrize("limit", [1, 10_000], ids=["by-url", "inline"])
def test_media_that_the_host_has_stored_fit_their_schema(limit: int) -> None:
    assert unfit(generated(DRAWN, envelopeType="media.image", limits=Limits(max_inline_media_bytes=limit))) == []


@pytest.mark.rule("media-86")
def test_an_asset_that_a_model_shows_again_fits_its_schema() -> None:
    def again(request: Any) -> str:
        url = request.messages[-1].content
        return json.dumps({"type": "media.image", "payload": {"url": url, "bytes": 1, "mimeType": "image/png"}})

    assert unfit(run_node(copy, model=FakeModel(again))) == []


def test_a_store_that_made_something_else_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = EntryMediaStore.store_inline

    async def sloppy(self: EntryMediaStore, document: Any) -> Any:
        stored = await store(self, document)
        return {**stored, "payload": {**stored["payload"], "bytes": "many"}}

    monkeypatch.setattr(EntryMediaStore, "store_inline", sloppy)
    assert unfit(generated(DRAWN, envelopeType="media.image")) != []
