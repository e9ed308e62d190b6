"""The fakes of the kit: they keep the promises of the ports, and answer what the test says."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import weftwork
from tests.adapters.python.fake_node_host import single_node_workflow
from tests.harness.cases import each_case, fails_without, present
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import run_ready_tasks
from weftwork.conformance.nodes.media_emit import sample_media
from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.ports.outbound import FetchFailed, FetchRefused, OutboundRequest
from weftwork.protocol.ids import is_path_id
from weftwork.protocol.media.asset_references import find_asset_tokens
from weftwork.protocol.privacy.credential_redaction import CredentialMatcher
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.testing import (
    Asset,
    Crash,
    FakeModel,
    FakeOutbound,
    Refused,
    Shown,
    UnexpectedRequest,
    crash_everywhere,
    respond,
    run_node,
    run_workflow,
)
from weftwork.testing.deterministic import START, ManualClock, SequentialIds


async def test_time_stands_still_until_it_is_moved() -> None:
    manual = ManualClock()
    clock: Clock = manual
    woken: list[int] = []

    async def sleep(after: int) -> None:
        await manual.sleep_until(START + after)
        woken.append(after)

    tasks = [asyncio.create_task(sleep(after)) for after in (30, 10, 20, 0, -5)]
    await run_ready_tasks()
    assert woken == [0, -5]
    assert manual.next_wake == START + 10
    manual.advance(9)
    await run_ready_tasks()
    assert woken == [0, -5]
    manual.advance(11)
    await run_ready_tasks()
    assert woken == [0, -5, 10, 20]
    manual.advance(100)
    await asyncio.gather(*tasks)
    assert (clock.now(), manual.next_wake) == (START + 120, None)


async def test_the_wall_clock_is_set_back_and_forward_and_no_time_passes() -> None:
    clock = ManualClock()
    woken: list[int] = []

    async def sleep(length: int) -> None:
        await clock.sleep(length)
        woken.append(length)

    tasks = [asyncio.create_task(sleep(length)) for length in (0, 1_000, 5_000, 90_000)]
    await run_ready_tasks()
    clock.shift(-60_000)
    assert (clock.now(), clock.monotonic_ns(), clock.next_wake) == (START - 60_000, 0, START - 59_000)
    clock.advance(999)
    await run_ready_tasks()
    assert woken == [0]
    clock.advance(1)
    await run_ready_tasks()
    assert woken == [0, 1_000]
    clock.shift(60_000 + 4_000)
    await run_ready_tasks()
    assert (woken, clock.next_wake) == ([0, 1_000], START + 5_000), "a shift alone wakes nothing"
    clock.advance(0)
    await run_ready_tasks()
    assert woken == [0, 1_000, 5_000]
    clock.shift(-(10**9))
    clock.advance(89_000)
    await asyncio.gather(*tasks)
    assert (woken[-1], clock.monotonic_ns(), clock.next_wake) == (90_000, 90_000 * 1_000_000, None)


async def test_a_sleeper_who_is_cancelled_leaves_nothing_behind() -> None:
    clock = ManualClock()
    task = asyncio.create_task(clock.sleep_until(START + 1))
    await run_ready_tasks()
    task.cancel()
    clock.advance(1)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert clock.next_wake is None


def test_ids_are_the_same_every_time_and_have_the_right_form() -> None:
    ids: Ids = SequentialIds()
    runs = [ids.run_id(0) for _ in range(12)]
    assert runs == sorted(set(runs))
    assert all(is_path_id(each) for each in runs)
    assert len(set(ids.event_ids(3) + ids.event_ids(2))) == 5
    assert ids.token() != ids.token()
    assert int(ids.trace_id(), 16) == 1
    assert SequentialIds().run_id(5) == runs[0]


URL = "https://api.example.com/orders"


def fetch(outbound: FakeOutbound, url: str = URL, **more: Any) -> Any:
    return asyncio.run(outbound.fetch(OutboundRequest(url, **more)))


@each_case(
    "answer, status, content",
    (204, 204, b""),
    ("text", 200, b"text"),
    (b"\x00", 200, b"\x00"),
    ({"a": [1]}, 200, b'{"a":[1]}'),
    ([1], 200, b"[1]"),
    (respond(418, content="tea", headers={"X-Pot": "yes"}), 418, b"tea"),
    (lambda request: {"method": request.method}, 200, b'{"method":"GET"}'),
)
def test_an_answer_is_what_is_shortest_to_write(answer: Any, status: int, content: bytes) -> None:
    found = fetch(FakeOutbound({URL: answer}))
    assert (found.status, found.content, found.url) == (status, content, URL)


def test_a_table_tells_methods_apart_and_functions_and_answers_may_come_one_after_the_other() -> None:
    async def later(request: OutboundRequest) -> Any:
        await asyncio.sleep(0)
        return {"asked": request.url}

    assert fetch(FakeOutbound(later)).content == b'{"asked":"%s"}' % URL.encode()
    outbound = FakeOutbound({f"POST {URL}": 201, URL: 200})
    assert (fetch(outbound, method="POST").status, fetch(outbound).status) == (201, 200)
    assert [request.method for request in outbound.requests] == ["POST", "GET"]
    outbound = FakeOutbound({URL: iter([503, FetchFailed("reset", True), 200])})
    assert fetch(outbound).status == 503
    with pytest.raises(FetchFailed):
        fetch(outbound)
    assert fetch(outbound).status == 200
    with pytest.raises(UnexpectedRequest, match="no further answer"):
        fetch(outbound)


@each_case(
    "url",
    "http://api.example.com/",
    "https://127.0.0.1/",
    "https://[::1]/",
    "https://localhost/",
    "https://a.example:8443/",
)
def test_what_the_guard_refuses_by_sight_is_refused(url: str) -> None:
    outbound = FakeOutbound(lambda request: 200)
    with pytest.raises(FetchRefused):
        fetch(outbound, url)
    with pytest.raises(FetchRefused):
        fetch(FakeOutbound(lambda request: respond(302, headers={"Location": url})))
    assert outbound.requests == []


def test_redirects_are_followed_and_rules_can_be_those_of_the_host() -> None:
    outbound = FakeOutbound({URL: respond(302, headers={"Location": "/new"}), "https://api.example.com/new": "there"})
    assert fetch(outbound).url == "https://api.example.com/new"
    assert fetch(outbound, redirects=False).status == 302
    with pytest.raises(FetchFailed, match="redirects"):
        fetch(FakeOutbound(lambda request: respond(302, headers={"Location": URL})))
    assert fetch(FakeOutbound({"http://a.example:8080/": 200}, http=True, ports=(8080,)), "http://a.example:8080/")


def test_an_unexpected_request_fails_the_test_even_if_the_node_hides_it() -> None:
    @weftwork.node("acme.hides")
    async def hides(ctx: weftwork.Context) -> None:
        try:
            await ctx.fetch(URL)
        except Exception:
            ctx.log.info("never mind")

    with pytest.raises(UnexpectedRequest, match=f"no answer for GET {URL}"):
        run_node(hides)
    assert run_node(hides, fetch={URL: 200}).status == "completed"


FLOW = workflow(
    [
        node("first", "core.ai.callPrompt", config={"prompt": "One?", "provider": "acme", "maxTokens": 9}),
        node("second", "core.ai.callPrompt", config={"prompt": "Two?"}),
    ],
    [edge("first", "second")],
)


def texts(model: Any = None, **more: Any) -> list[Any]:
    result = run_workflow(FLOW, model=model, **more)
    assert result.status == "completed", result.error
    return [result.nodes[name].outputs["text"] for name in ("first", "second")]


@each_case(
    "answers",
    ["a", "b"],
    {"second": ["b"], "first": [{"content": "a"}]},
    lambda request: "a" if request.node_id == "first" else {"chunks": ["b"]},
)
def test_answers_are_a_list_a_table_or_a_function(answers: Any) -> None:
    assert texts(answers) == ["a", "b"]
    model = FakeModel(iter(["a", "b"]))
    assert texts(model) == ["a", "b"]
    asked = [(request.node_id, request.provider, request.max_tokens) for request in model.requests]
    assert asked == [("first", "acme", 9), ("second", "", None)]
    assert [request.messages[0].content for request in model.requests] == ["One?", "Two?"]


def test_without_answers_the_model_says_what_it_was_told() -> None:
    assert [text.partition("said: ")[2] for text in texts()] == ["One?", "Two?"]


@pytest.mark.parametrize("answers", [["a"], {"first": ["a"]}, []])
def test_a_question_without_an_answer_fails_the_test(answers: Any) -> None:
    with pytest.raises(UnexpectedRequest, match=r"node (first|second)"):
        run_workflow(FLOW, model=answers)


def test_an_answer_that_is_none_is_refused_and_a_fault_is_one_of_the_node() -> None:
    fault = {"fault": {"code": "provider_quota_exhausted", "message": "No more.", "retryable": False}}
    result = run_workflow(FLOW, model=[fault])
    assert (result.status, present(result.error).code) == ("failed", "provider_quota_exhausted")
    with pytest.raises(Refused, match="is not a valid model answer"):
        run_workflow(FLOW, model=[{"contnet": "a"}])


def test_a_recorded_answer_is_not_asked_for_again() -> None:
    made: list[FakeModel] = []

    def fresh() -> FakeModel:
        made.append(FakeModel(lambda request: f"answer {len(made[-1].requests)}"))
        return made[-1]

    crashes = 0
    for result in crash_everywhere(FLOW, model=fresh):
        assert result.status == "completed"
        said = [int(result.nodes[name].outputs["text"].split()[1]) for name in ("first", "second")]
        # One of the two may have been lost on its way to the record.
        assert len(made[-1].requests) - 2 in (0, 1)
        assert said == sorted(said)
        crashes += 1
    assert crashes > 6


def test_one_that_crashes_before_the_record_asks_again() -> None:
    model = FakeModel(["lost", "a", "b"])
    fault = Crash(event="weftwork.model.answered")
    assert texts(model, faults=[fault]) == ["a", "b"]
    assert len(model.requests) == 3


PNG = sample_media("image", 80)


@weftwork.node("acme.sizes")
async def sizes(ctx: weftwork.Context, given: Any) -> list[int]:
    return [len((await ctx.read_media(each)).data) for each in given["all"]]


def test_an_asset_is_a_reference_in_json(tmp_path: Path) -> None:
    file = tmp_path / "dot.png"
    file.write_bytes(PNG)
    asset = Asset(file)
    assert dict(asset) == {"mediaRef": asset.media_ref, "mimeType": "image/png", "bytes": 80}
    assert Asset(PNG, "text/html")["mimeType"] == "application/octet-stream"
    assert len(asset) == 3


def test_assets_may_stand_anywhere_in_the_inputs_but_must_be_uploaded() -> None:
    given = {"all": [Asset(PNG), Asset(b"text"), {**Asset(PNG), "more": 1}]}
    assert run_node(sizes, inputs={"given": given}).outputs == {"output": [80, 4, 80]}
    document = single_node_workflow("sizes", "acme.sizes", {"given": {"all": [Asset(b"12345")]}})
    assert run_workflow(document, nodes=[sizes]).outputs["n"] == {"output": [5]}
    asset = Asset(PNG)
    failed = run_node(sizes, inputs={"given": {"all": [dict(asset)]}})
    assert present(failed.error).code == "media_not_found"


def test_what_is_shown_has_its_node_and_its_bytes() -> None:
    @weftwork.node("acme.show")
    async def show(ctx: weftwork.Context) -> None:
        await ctx.emit_image(PNG, alt="A dot", inline=True)
        await ctx.emit_file(b"text", name="a.txt")

    result = run_workflow(single_node_workflow("show", "acme.show"), nodes=[show], faults=[Crash(at=3)])
    assert result.lives == 2
    assert result.nodes["n"].media == result.media
    first, second = result.media
    assert isinstance(first, Shown)
    assert (first.kind, first.data, first.node_id, first.payload["alt"]) == ("image", PNG, "n", "A dot")
    assert (second.kind, second.data, second.payload["name"]) == ("file", b"text", "a.txt")
    assert ("base64" in first.payload, "url" in second.payload) == (True, True)


@pytest.mark.rule("hide-08")
@fails_without(Redactor, "hides_media", lambda *_: False)
def test_media_that_contain_a_sensitive_value_are_shown_without_their_url() -> None:
    config = {"kind": "file", "text": "pin {{variables.pin}}", "alt": "A pin"}
    document = single_node_workflow("hides", "core.media.emit", config=config)
    document["variables"] = [{"name": "pin", "type": "string", "sensitive": True}]
    result = run_workflow(document, inputs={"pin": "s3cret-4711"})
    assert result.error is None
    (shown,) = result.media
    assert (shown.data, shown.payload["url"]) == (b"", "[REDACTED:n.url]")
    assert "4711" not in f"{result.events}"


@pytest.mark.rule("hide-08")
@fails_without(CredentialMatcher, "shows_secret_asset", lambda *_: False)
@each_case("crash", 1, 2, 3)
def test_no_event_shows_the_url_of_media_that_contain_a_credential(crash: int) -> None:
    config = {"kind": "file", "text": "key {{variables.note}}", "alt": "A key"}
    document = single_node_workflow("shows", "core.media.emit", config=config)
    url = {"type": "connection", "nodeId": "n", "outputKey": "url"}
    document["nodes"].append(node("copy", "core.identity", inputs={"input": url}))
    document["edges"] = [edge("n", "copy")]
    document["variables"] = [{"name": "note", "type": "string"}]
    result = run_workflow(document, inputs={"note": "sk-abcdefghij0123456789"}, faults=[Crash(at=crash)])
    assert result.error is None
    assert "[REDACTED:media]" in f"{result.outputs['copy']}"
    assert find_asset_tokens(f"{result.events}") == []


@pytest.mark.rule("time-01")
@each_case("shift", -7 * 86_400_000, -1_000, 0, 1_000, 7 * 86_400_000)
def test_a_node_sets_the_wall_clock_of_the_kit(shift: int) -> None:
    clock = ManualClock()
    seen: list[datetime] = []

    @weftwork.node("test.set_clock")
    async def set_clock(ctx: weftwork.Context) -> None:
        clock.shift(shift)

    @weftwork.node("test.look")
    async def look(ctx: weftwork.Context) -> None:
        seen.append(ctx.now())

    hour = 3_600_000
    document = workflow(
        [
            node("set", "test.set_clock"),
            node("wait", "core.delay", config={"ms": hour}),
            node("look", "test.look"),
        ],
        [edge("set", "wait"), edge("wait", "look")],
    )
    result = run_workflow(document, nodes=[set_clock, look], clock=clock)
    assert result.status == "completed"
    # The delay starts in the commit in which the clock is set, and the time of this commit is from before.
    least = max(hour - max(shift, 0), 0)
    assert least <= clock.monotonic_ns() // 1_000_000 <= hour + 1
    assert hour <= result.elapsed_ms <= hour + max(shift, 0) + 1
    (at,) = seen
    assert at >= datetime.fromtimestamp((START + hour) / 1000, UTC)
