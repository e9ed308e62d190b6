"""Answers of models as they arrived: shown to keys with the scope runs:debug, and masked for all others."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import node
from tests.harness.event_source import KEY as RUN
from tests.harness.event_source import source_and_feeds
from tests.live import KEY, Host, frames, open_in_process, start_host, weftwork, write_workflows
from tests.live.tokens import key_with
from tests.live.workflows import chain
from weftwork.protocol.models.answers import mask_answers
from weftwork.protocol.run.events import MODEL_ANSWERED, Event

TICKET = "vendor.example.ticket"
SHAPE = {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}}
RAW = "Reply of the model, before the gate"
COMMAND = "weftwork keys create --tenant acme --scope runs:read --scope runs:debug"
MARKER = f"[masked: needs the scope runs:debug; run `{COMMAND}`]"
CONFIG = {"envelopeType": TICKET, "userMessage": "A complaint."}
KINDS = {"envelopeKinds": {TICKET: {"schema": SHAPE}}}
WORKFLOWS = (
    chain("first", [node("first", "core.ai.generateEnvelope", config=CONFIG)], metadata=KINDS),
    chain("second", [node("second", "core.ai.generateEnvelope", config=CONFIG)], metadata=KINDS),
)
SCRIPT = f"""
[nodes]
first = ['{RAW}: first.', '{{"type": "{TICKET}", "payload": {{"title": "Lamp"}}}}']
second = ['{RAW}: second.', '{{"type": "{TICKET}", "payload": {{"title": "Lamp"}}}}']
"""


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A host, two ended runs in which a model first sent plain text, and keys with and without runs:debug."""
    folder = tmp_path_factory.mktemp("host")
    (folder / "script.toml").write_text(SCRIPT)
    flows = write_workflows(folder / "flows", *WORKFLOWS)
    with start_host(folder, "--test-seams", "--workflows", flows, "--model-script", folder / "script.toml") as host:
        runs = [host.create(name) for name in ("first", "second")]
        for run_id in runs:
            assert host.log(run_id)[-1]["type"] == "run.completed"
        plain, debug = key_with(host, "runs:read"), key_with(host, "runs:read", "runs:debug")
        yield host, runs, plain, debug


Surface = Callable[[Host, list[str], str], str]


def get(path: str) -> Surface:
    return lambda host, runs, key: host.call("GET", path.format(*runs), key=key).body.decode()


def stream(query: str) -> Surface:
    return lambda host, runs, key: host.stream(runs[0], query, key=key).read(2**20).decode()


def export(host: Host, runs: list[str], key: str) -> str:
    path = "/v1/host/sample/test/debug-bundle/export"
    return host.call("POST", path, {"runId": runs[0]}, key=key).body.decode()


def command(*args: str) -> Surface:
    def run(host: Host, runs: list[str], key: str) -> str:
        given = [each.format(*runs) for each in args]
        done = weftwork(host.data, *given, "--url", host.address, "--key", key)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


SHOWING: tuple[Surface, ...] = (
    stream("?streamMode=debug"),
    stream("?streamMode=debug,messages&bufferMs=50"),
    get("/v1/runs/{0}/events"),
    get("/v1/runs/{0}/events/poll?lastSequence=-1"),
    get("/v1/runs/{0}/debug-bundle"),
    get("/v1/host/sample/test/runs/{0}/events"),
    export,
    command("events", "{0}"),
    command("events", "{0}", "--follow", "--json"),
    command("bundle", "save", "{0}", "--output", "-"),
)
SILENT: tuple[Surface, ...] = (
    stream("?streamMode=updates"),
    stream("?streamMode=messages"),
    stream("?streamMode=values"),
    get("/v1/runs/{0}"),
    get("/v1/host/sample/test/otel/spans?runId={0}"),
)
"""Surfaces that never show the raw answer."""


@pytest.mark.rule("auth-07")
@each_case("surface", *SHOWING)
def test_a_raw_answer_is_masked_without_the_scope(answered: Any, surface: Surface) -> None:
    host, runs, plain, debug = answered
    assert RAW in surface(host, runs, debug)
    masked = surface(host, runs, plain)
    assert RAW not in masked
    assert "runs:debug" in masked


@pytest.mark.rule("auth-07")
@each_case("surface", *SILENT)
def test_other_surfaces_never_show_it(answered: Any, surface: Surface) -> None:
    host, runs, plain, debug = answered
    assert RAW not in surface(host, runs, debug) + surface(host, runs, plain)


@pytest.mark.rule("auth-07")
def test_the_event_stays_in_its_place_and_keeps_its_shape(answered: Any) -> None:
    host, runs, plain, debug = answered
    shown, masked = host.log(runs[0], debug), host.log(runs[0], plain)
    assert [event["sequence"] for event in masked] == list(range(len(shown)))
    for one, other in zip(shown, masked, strict=True):
        expected = one
        if one["type"] == MODEL_ANSWERED:
            masked_members = {"text": MARKER, "requestKeys": {"masked": MARKER}}
            expected = {**one, "payload": {**one["payload"], **masked_members}}
        assert other == expected
    # The keys decide at the time of reading, also if several readers share the events of one stream.
    for key, text in ((debug, RAW), (plain, MARKER), (debug, RAW), (KEY, RAW)):
        streamed = frames(host.stream(runs[0], "?streamMode=debug", key=key).read(2**20))
        [first, _] = [each.document["payload"]["text"] for each in streamed if each.event == MODEL_ANSWERED]
        assert text in first


@pytest.mark.rule("auth-07")
def test_a_difference_in_raw_answers_needs_the_scope(answered: Any) -> None:
    host, runs, plain, debug = answered
    path = f"/v1/runs/{runs[0]}:diff?against={runs[1]}"
    assert RAW in host.call("GET", path, key=debug).body.decode()
    masked = host.call("GET", path, key=plain)
    assert masked.status == 200
    assert RAW not in masked.body.decode()


@fails_without("weftwork.engine.api.keyring.mask_answers", lambda events, partition: events)
async def test_without_the_mask_a_bundle_shows_the_answer(tmp_path: Path) -> None:
    (tmp_path / "script.toml").write_text(SCRIPT)
    async with open_in_process(*WORKFLOWS, model_script=str(tmp_path / "script.toml")) as inside:
        run_id = await ended_run(inside)
        inside.host.keyring.accept_for_process("plain", "acme", ["runs:read"])
        bundle = await inside.call("GET", f"/v1/runs/{run_id}/debug-bundle", key="plain")
        assert RAW not in bundle.body.decode()


@fails_without("weftwork.engine.streams.feeds.mask_answers", lambda events, partition: events)
async def test_without_the_mask_a_poll_shows_the_answer(tmp_path: Path) -> None:
    (tmp_path / "script.toml").write_text(SCRIPT)
    async with open_in_process(*WORKFLOWS, model_script=str(tmp_path / "script.toml")) as inside:
        run_id = await ended_run(inside)
        inside.host.keyring.accept_for_process("plain", "acme", ["runs:read"])
        for path in ("events/poll", "events?streamMode=debug"):
            assert RAW not in (await inside.call("GET", f"/v1/runs/{run_id}/{path}", key="plain")).body.decode()


async def ended_run(inside: Any) -> str:
    run_id = (await inside.call("POST", "/v1/runs", {"workflowId": "first"})).document["runId"]
    events = await inside.call("GET", f"/v1/runs/{run_id}/events?streamMode=debug")
    assert RAW in events.body.decode()
    return run_id


def event_of(**payload: Any) -> Event:
    members = {"nodeId": "n", "call": "/0.0", "provider": "p", "model": "m", **payload}
    return Event("run-1", 3, "event-3", MODEL_ANSWERED, 0, json.dumps(members).encode(), "n")


@pytest.mark.rule("auth-07")
@each_case(
    "payload, masked",
    ({"text": "x", "stop": "stop"}, {"text": MARKER, "stop": "stop"}),
    ({"text": ""}, {"text": ""}),
    ({"fault": {"code": "c", "message": "m"}}, {"fault": {"code": "c", "message": "m"}}),
    (
        {"toolCalls": [{"id": "1", "name": "find", "arguments": '{"a": 1}'}, {"name": "n", "arguments": {"b": 2}}]},
        {
            "toolCalls": [
                {"id": "1", "name": "find", "arguments": MARKER},
                {"name": "n", "arguments": {"masked": MARKER}},
            ]
        },
    ),
    (
        {"media": [{"kind": "image", "mediaRef": "/r", "bytes": 3, "mimeType": "image/png", "alt": "x", "name": "y"}]},
        {
            "media": [
                {
                    "kind": "image",
                    "mediaRef": "/r",
                    "bytes": 3,
                    "mimeType": "image/png",
                    "alt": MARKER,
                    "name": MARKER,
                }
            ]
        },
    ),
)
def test_the_texts_of_an_answer_are_masked(payload: Any, masked: Any) -> None:
    event = event_of(**payload)
    [found] = mask_answers([event], "live:acme")
    assert json.loads(found.payload) == json.loads(event_of(**masked).payload)
    assert mask_answers([event], "live:acme")[0] is found
    assert json.loads(event.document)["payload"] == json.loads(event.payload)


@pytest.mark.rule("auth-07")
async def test_live_readers_of_one_run_get_what_their_keys_allow() -> None:
    log, feeds = source_and_feeds()
    shown, first, second = readers = [feeds.join(RUN, -1) for _ in range(3)]
    first.hides_answers = second.hides_answers = True
    answer = msgspec.structs.replace(event_of(text=RAW), sequence=0)
    log.events.append(answer)
    feeds.publish(RUN, (answer,))
    seen = [(await reader.next(1))[0] for reader in readers]
    assert seen[0] is answer
    assert seen[1] is seen[2], "masked once for all readers"
    again = [(await reader.reread(0, 0))[0].document for reader in (shown, first, second)]
    assert again == [event.document for event in seen]
    assert [RAW.encode() in document for document in again] == [True, False, False]


@pytest.mark.rule("auth-07")
def test_other_events_are_shared_with_all_readers() -> None:
    others = [Event("run-1", at, f"event-{at}", "log.appended", 0, b"{}") for at in range(3)]
    assert mask_answers(others, "live:acme") is others
    mixed = [*others, event_of(text="x")]
    assert [one is other for one, other in zip(mixed, mask_answers(mixed, "live:acme"), strict=True)] == [
        *[True] * 3,
        False,
    ]


def test_the_marker_of_a_test_key_creates_a_test_key() -> None:
    event = event_of(text="x")
    [found] = mask_answers([event], "test:default")
    command = "weftwork keys create --test --scope runs:read --scope runs:debug"
    assert command in json.loads(found.payload)["text"]
