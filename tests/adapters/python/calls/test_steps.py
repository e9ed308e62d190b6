"""Steps: run once, in their type, failing the same way ever after."""

import asyncio
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

import weftwork
from tests.adapters.nodes.fake_context import final_failure
from tests.adapters.python.fake_node_host import FakeNodeHost, single_node_workflow
from tests.harness.cases import each_case
from tests.live import start_host, write_workflows
from weftwork.adapters.python import node_runner
from weftwork.adapters.python.calls import steps
from weftwork.adapters.python.values import as_json
from weftwork.ports.node_outcome import Completed, Failed
from weftwork.protocol.json.values import MAX_VALUE_COUNT


class Receipt(msgspec.Struct):
    number: int
    at: datetime


def test_a_step_runs_once_with_its_effect_and_comes_back_in_its_type() -> None:
    calls: list[str] = []

    async def pay(number: int) -> Receipt:
        calls.append(f"{number}")
        return Receipt(number, datetime(2031, 5, 6, tzinfo=UTC))

    def plain() -> tuple[int, int]:
        calls.append("plain" if threading.current_thread() is not threading.main_thread() else "loop")
        return 1, 2

    @weftwork.node("acme.pay")
    async def node(ctx: weftwork.Context) -> list[Any]:
        receipt = await ctx.step("pay", pay, 7)
        pair = await ctx.step("plain", plain, effect="idempotent")
        bare = await ctx.step("bare", lambda: {"a": (1,)})
        assert isinstance(receipt, Receipt)
        assert pair == (1, 2)
        return [receipt, pair, bare, ctx.now()]

    stage = FakeNodeHost()
    first, again = stage.run(node), stage.run(node)
    assert first == again == Completed({"output": [*first.outputs["output"]]})  # type: ignore[union-attr]
    assert first.outputs["output"][2] == {"a": [1]}  # type: ignore[union-attr]
    assert calls == ["7", "plain"]
    assert stage.effects == {"pay": "once", "plain": "idempotent", "bare": "once"}

    @weftwork.node("acme.send", effect="idempotent")
    async def send(ctx: weftwork.Context) -> None:
        await ctx.step("a", lambda: None)
        await ctx.step("b", lambda: None, effect="once")

    stage = FakeNodeHost()
    stage.run(send)
    assert stage.effects == {"a": "idempotent", "b": "once"}


def test_a_plain_function_around_an_async_one() -> None:
    async def twice(number: int) -> int:
        return number * 2

    @weftwork.node("acme.around")
    async def around(ctx: weftwork.Context) -> list[Any]:
        return [await ctx.step("a", lambda: twice(2)), await ctx.step("b", partial(twice, 3))]

    @weftwork.node("acme.around-plain")
    def around_plain(ctx: weftwork.PlainContext) -> list[Any]:
        return [ctx.step("a", lambda: twice(2)), ctx.step("b", partial(twice, 3))]

    assert FakeNodeHost().run(around) == FakeNodeHost().run(around_plain) == Completed({"output": [4, 6]})


def test_the_key_is_that_of_the_step_in_it_and_in_its_threads() -> None:
    @weftwork.node("acme.keys")
    async def keys(ctx: weftwork.Context) -> list[str]:
        async def inside() -> str:
            return f"{ctx.idempotency_key} {await asyncio.to_thread(lambda: ctx.idempotency_key)}"

        return [
            ctx.idempotency_key,
            await ctx.step("a", inside),
            await ctx.step("b", lambda: ctx.idempotency_key),
            ctx.idempotency_key,
        ]

    assert FakeNodeHost().run(keys) == Completed({"output": ["key:", "key:a key:a", "key:b", "key:"]})


@pytest.mark.parametrize("kind", ["async", "plain"])
def test_a_step_that_raises_fails_now_and_later_without_its_inner_text(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[int] = []
    seen: list[weftwork.StepError] = []

    def plain() -> None:
        calls.append(1)
        raise KeyError("inner text")

    async def awaited() -> None:
        plain()

    @weftwork.node("acme.broken")
    async def broken(ctx: weftwork.Context) -> None:
        try:
            await ctx.step("a", awaited if kind == "async" else plain)
        except weftwork.StepError as error:
            seen.append(error)
            raise

    stage = FakeNodeHost()
    wanted = Failed("step_failed", "The step a raised an error; the host's log has the details.", retryable=False)
    assert stage.run(broken) == wanted
    assert "inner text" in caplog.text
    assert stage.run(broken) == wanted
    assert calls == [1]
    assert isinstance(seen[0].__cause__, KeyError)
    assert seen[1].__cause__ is None
    assert [(error.code, error.retryable) for error in seen] == [("step_failed", False)] * 2


def test_a_step_fails_with_a_code_of_its_own() -> None:
    @weftwork.node("acme.refuse")
    async def refuse(ctx: weftwork.Context) -> Any:
        def declined() -> None:
            raise weftwork.NodeError("card_declined", "No.", {"card": 1}, retryable=True)

        try:
            await ctx.step("pay", declined)
        except weftwork.StepError as error:
            return [error.code, error.message, error.details]

    stage = FakeNodeHost()
    assert stage.run(refuse) == stage.run(refuse) == Completed({"output": ["card_declined", "No.", {"card": 1}]})


def test_a_step_that_is_not_done_is_run_again() -> None:
    calls: list[int] = []

    @weftwork.node("acme.later")
    async def later(ctx: weftwork.Context) -> int:
        def attempt() -> int:
            calls.append(1)
            if len(calls) < 3:
                raise weftwork.NotDone
            return len(calls)

        return await ctx.step("try", attempt)

    stage = FakeNodeHost()
    undone = Failed("step_not_done", "A step of the node reported that its effect did not happen.")
    assert [stage.run(later) for _ in range(4)] == [undone, undone, Completed({"output": 3}), Completed({"output": 3})]


def test_a_result_that_is_no_json_or_does_not_fit_its_annotation_is_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    @weftwork.node("acme.odd")
    async def odd(ctx: weftwork.Context) -> None:
        await ctx.step("a", lambda: {"x": object()})

    stage, why = FakeNodeHost(), "is an object of type object"
    wanted = Failed("step_failed", f"The step a returned a value that is not JSON: /x {why}.", retryable=False)
    assert stage.run(odd) == stage.run(odd) == wanted
    assert why in caplog.text

    def wrong() -> int:
        return "no number"  # type: ignore[return-value]

    @weftwork.node("acme.wrong")
    async def node(ctx: weftwork.Context) -> None:
        await ctx.step("a", wrong)

    stage = FakeNodeHost()
    for _ in range(2):
        assert final_failure(stage.run(node))[0] == "step_result_invalid"


@each_case("said", None, "by bank transfer", {"number": 3})
def test_what_a_person_said_comes_back_although_it_does_not_fit(said: Any) -> None:
    async def pay() -> Receipt:
        raise AssertionError("it was paid before")

    @weftwork.node("acme.answered")
    async def answered(ctx: weftwork.Context) -> list[Any]:
        return [await ctx.step("pay", pay)]

    stage = FakeNodeHost()
    stage.recorded["pay"] = said
    assert stage.run(answered) == Completed({"output": [said]})


@each_case("kind", "async", "plain", "node")
def test_what_is_too_large_is_named_as_such(kind: str) -> None:
    def plain() -> Any:
        return [[0] * 1000] * (MAX_VALUE_COUNT // 1000 + 1)

    async def awaited() -> Any:
        return plain()

    @weftwork.node("acme.large")
    async def large(ctx: weftwork.Context) -> Any:
        return plain() if kind == "node" else await ctx.step("a", awaited if kind == "async" else plain)

    assert final_failure(FakeNodeHost().run(large))[0] == "node_output_too_large"


@pytest.mark.parametrize("kind", ["node", "step", "step of an async node"])
def test_what_a_plain_function_returns_is_gone_through_in_its_thread(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[bool] = []

    def seen(value: Any) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return as_json(value)

    monkeypatch.setattr(steps if "step" in kind else node_runner, "as_json", seen)

    @weftwork.node("acme.plain")
    def plain(ctx: weftwork.PlainContext) -> list[int]:
        return ctx.step("a", lambda: [1]) if kind == "step" else [1]

    @weftwork.node("acme.around")
    async def around(ctx: weftwork.Context) -> list[int]:
        return await ctx.step("a", lambda: [1])

    assert FakeNodeHost().run(around if "async" in kind else plain) == Completed({"output": [1]})
    assert threads == [False]


@each_case("first", "twin", "", "a\0", "a\ud800", "a" * 129, b"a", ["a"], None)
def test_steps_have_names_of_their_own(first: Any) -> None:
    @weftwork.node("acme.twins")
    async def twins(ctx: weftwork.Context) -> None:
        await ctx.step(first, lambda: 1)
        await ctx.step("twin", lambda: 2)

    assert final_failure(FakeNodeHost().run(twins))[0] == "node_misused"


@each_case("what", "step", "interrupt")
def test_nothing_that_is_recorded_stands_inside_a_step(what: str) -> None:
    @weftwork.node("acme.nested")
    async def nested(ctx: weftwork.Context) -> None:
        async def outer() -> None:
            await (ctx.step("inner", lambda: 1) if what == "step" else ctx.interrupt("ask"))

        await ctx.step("outer", outer)

    assert final_failure(FakeNodeHost().run(nested))[0] == "node_misused"


NODES = """
import weftwork


@weftwork.node("acme.fetch")
async def fetch(ctx: weftwork.Context, url: str) -> dict:
    async def send() -> dict:
        answer = await ctx.fetch(url, method="POST", json={"a": 1}, headers={"Idempotency-Key": ctx.idempotency_key})
        return {"status": answer.status, "said": answer.json(), "url": answer.url}

    return await ctx.step("send", send)


@weftwork.node("acme.fetch-plain")
def fetch_plain(ctx: weftwork.PlainContext, url: str) -> dict:
    def send() -> dict:
        answer = ctx.fetch(url, method="POST", json={"a": 1}, headers={"Idempotency-Key": ctx.idempotency_key})
        return {"status": answer.status, "said": answer.json(), "url": answer.url}

    return ctx.step("send", send)
"""


class Sink(BaseHTTPRequestHandler):
    """Counts what arrives and says it back."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.keys.append(self.headers["idempotency-key"])  # type: ignore[attr-defined]
        said = json.dumps({"got": json.loads(body)}).encode()
        self.send_response(201)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002


@pytest.fixture
def sink() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    server.keys = []
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    thread.join(10)
    server.server_close()


@pytest.mark.slow
def test_a_node_sends_through_the_guard(tmp_path: Path, sink: Any) -> None:
    url = f"http://127.0.0.1:{sink.server_port}/x"
    (tmp_path / "fetching_nodes.py").write_text(NODES)
    names = {"async": "acme.fetch", "plain": "acme.fetch-plain"}
    flows = [single_node_workflow(name, type_id, {"url": url}) for name, type_id in names.items()]
    args = ("--nodes", "fetching_nodes", "--workflows", write_workflows(tmp_path / "flows", *flows))
    with start_host(tmp_path, *args, store="memory", cwd=tmp_path) as host:
        for name in names:
            assert host.log(host.create(name))[-1]["payload"]["error"]["code"] == "ssrf_blocked"
    assert sink.keys == []
    with start_host(tmp_path, *args, "--allow-private-network", store="memory", cwd=tmp_path) as host:
        for name in names:
            outputs = host.log(host.create(name))[-1]["payload"]["outputs"]["n"]
            assert outputs == {"status": 201, "said": {"got": {"a": 1}}, "url": url}
    assert len(set(sink.keys)) == 2
    assert all(len(key) == 43 for key in sink.keys)
