"""Tokens over time and where they stand: they expire to the millisecond, and only their reader is given them."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests import live
from tests.harness.cases import fails_without, present
from tests.live.steering import cancel, error_code, flow, interrupt_node
from tests.live.tokens import (
    ACCEPT,
    administer,
    answer_by_token,
    approval_workflow,
    created_link,
    get_interrupt,
    token_of,
)
from weftwork.adapters.http import app
from weftwork.app import Host as App
from weftwork.engine import signer
from weftwork.engine.api import interrupts
from weftwork.engine.api.interrupts import InterruptLinks, Interrupts
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.people import interrupt_tokens
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.people.interrupt_tokens import LEEWAY_MS, READ_TOKEN_MS, InterruptToken
from weftwork.settings import Settings
from weftwork.testing.deterministic import ManualClock

ASKS = flow("time-asks", [interrupt_node("ask")])
DUE = approval_workflow("time-due", timeoutMs=60_000)
TWO = approval_workflow("time-two", requiredApprovals=2)
DAY = 86_400_000


class Timed(live.InProcessHost):
    """A host whose time stands still."""

    def __init__(self, host: App, clock: ManualClock) -> None:
        super().__init__(host)
        self.clock = clock

    async def waiting(self, workflow_id: str = "time-asks") -> str:
        return (await self.call("POST", "/v1/runs", {"workflowId": workflow_id})).document["runId"]

    async def token(self, run_id: str) -> str:
        return (await self.call("GET", f"/v1/runs/{run_id}")).document["interrupt"]["interruptToken"]

    async def look(self, token: str) -> live.Answer:
        return await self.call("GET", f"/v1/interrupts/{token}")

    async def send(self, token: str, value: Any = 1) -> live.Answer:
        return await self.call("POST", f"/v1/interrupts/{token}", {"resumeValue": value})


@contextlib.asynccontextmanager
async def timed() -> AsyncIterator[Timed]:
    clock = ManualClock()
    host = App(Settings(store="memory"), clock=clock)
    await host.open()
    try:
        host.keyring.accept_for_process(live.KEY, "acme", None)
        host.keyring.accept_for_process(live.OTHER_KEY, "other", None)
        for document in (ASKS, DUE, TWO):
            await host.register_fixture(document)
        yield Timed(host, clock)
    finally:
        await host.close()


def inside(work: Callable[[Timed], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with timed() as host:
            return await work(host)

    return asyncio.run(run())


@pytest.mark.rule("tok-03", "tok-04")
async def test_a_token_expires_and_says_so() -> None:
    async with timed() as host:
        run_id = await host.waiting()
        token = await host.token(run_id)
        host.clock.advance(READ_TOKEN_MS + LEEWAY_MS - 1)
        assert (await host.look(token)).status == 200
        host.clock.advance(1)
        assert error_code(await host.look(token)) == (410, "interrupt_expired")
        assert error_code(await host.send(token)) == (410, "interrupt_expired")
        assert error_code(await host.look(token[:-4] + "AAAA")) == (404, "interrupt_not_found")
        assert (await host.send(await host.token(run_id))).status == 200
        assert error_code(await host.look(token)) == (410, "interrupt_expired"), (
            "time is judged before what became of it"
        )


@pytest.mark.rule("tok-03", "int-06")
async def test_when_the_question_is_over_its_links_are() -> None:
    async with timed() as host:
        run_id = await host.waiting("time-due")
        token = await host.token(run_id)
        host.clock.advance(60_000)
        # Within the leeway the token is good, and the question is not.
        assert error_code(await host.send(token, {"action": "accept"})) == (409, "interrupt_already_resolved")
        host.clock.advance(LEEWAY_MS)
        assert error_code(await host.send(token, {"action": "accept"})) == (410, "interrupt_expired")


@pytest.mark.rule("tok-03")
async def test_a_link_lasts_its_days() -> None:
    async with timed() as host:
        run_id = await host.waiting()
        path = f"/v1/host/weftwork/runs/{run_id}/interrupts/ask/links"
        week = (await host.call("POST", path)).document["token"]
        hour = (await host.call("POST", path, {"expiresInSeconds": 3600})).document["token"]
        host.clock.advance(3_600_000 + LEEWAY_MS)
        assert error_code(await host.look(hour)) == (410, "interrupt_expired")
        host.clock.advance(7 * DAY - 3_600_000 - 1)
        assert (await host.look(week)).status == 200
        host.clock.advance(1)
        assert error_code(await host.send(week)) == (410, "interrupt_expired")


async def stale(host: Timed) -> int:
    token = await host.token(await host.waiting())
    host.clock.advance(DAY)
    return (await host.send(token)).status


async def forged(host: Timed) -> int:
    token = await host.token(await host.waiting())
    return (await host.send(token[:-43] + "A" * 43)).status


async def raised(host: Timed) -> int:
    run_id = await host.waiting()
    looks = {"intent": "inspect"}
    made = await host.call("POST", f"/v1/host/weftwork/runs/{run_id}/interrupts/ask/links", looks)
    return (await host.send(made.document["token"])).status


async def poorly(host: Timed) -> str:
    """What a key is given that may only read."""
    host.host.keyring.accept_for_process("poor", "acme", ["runs:read"])
    run_id = await host.waiting()
    return (await host.call("GET", f"/v1/runs/{run_id}", key="poor")).document["interrupt"]["tokenIntent"]


async def cross_purpose(host: Timed) -> int:
    """A token that is signed as something else."""
    token = await host.token(await host.waiting())
    found = present(interrupt_tokens.decode_token(token))
    return (await host.send(interrupt_tokens.encode_token(found[1], host.host._signer.sign("asset", found[1])))).status


async def many_names(host: Timed) -> str:
    """How a gate stands that needs two, after one link has voted under two names."""
    run_id = await host.waiting("time-two")
    made = await host.call("POST", f"/v1/host/weftwork/runs/{run_id}/interrupts/gate/links")
    for name in ("ada", "bob"):
        answer = await host.send(made.document["token"], {"action": "accept", "voter": name})
    return answer.document["status"]


def nameless(*given: Any, **named: Any) -> Answerer:
    """An answerer who may give any name."""
    return Answerer(*given[:2], **{**named, "bound_person": None, "may_delegate": True})


def trusting(self: InterruptLinks, text: str) -> InterruptToken:
    found = present(interrupt_tokens.decode_token(text))
    return found[0]


@pytest.mark.rule("appr-03", "tok-02", "tok-03", "tok-04", "tok-05")
@pytest.mark.parametrize(
    ("attempt", "held", "owner", "name", "instead", "broken"),
    [
        (stale, 410, InterruptToken, "is_expired", lambda self, now: False, 200),
        (forged, 404, InterruptLinks, "open_token", trusting, 200),
        (raised, 403, interrupts.Interrupts, "check_token", lambda self, text, _: self._links.open_token(text), 200),
        (poorly, "inspect", interrupts, "RESPOND", "runs:read", "resolve"),
        (many_names, "waiting-approval", interrupts, "Answerer", nameless, "completed"),
        (cross_purpose, 404, signer.Signer, "_derive_key", lambda self, row, purpose: row.secret, 200),
    ],
    ids=["time", "signature", "intent", "scope", "voice", "purpose"],
)
def test_each_guard_holds_and_is_missed(
    attempt: Callable[[Timed], Awaitable[Any]],
    held: Any,
    owner: Any,
    name: str,
    instead: Any,
    broken: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert inside(attempt) == held
    monkeypatch.setattr(owner, name, instead)
    assert inside(attempt) == broken


@pytest.mark.rule("tok-02", "tok-04")
def test_the_store_is_not_asked_about_a_token_that_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(host: Timed) -> int:
        token = await host.token(await host.waiting())
        asked: list[Any] = []
        executor: Any = host.host._executor
        store: Any = host.host._store
        calls = (executor, "read_run"), (executor, "request"), (store.log, "read_run"), (store.records, "find_record")
        for owner, name in calls:
            real = getattr(owner, name)

            def noted(*given: Any, real: Any = real) -> Any:
                asked.append(given)
                return real(*given)

            monkeypatch.setattr(owner, name, noted)
        for bad in (token[:-1] + ("A" if token[-1] != "A" else "E"), "x", f"{token.split('.')[0]}.{'A' * 43}"):
            assert (await host.look(bad)).status == 404
            headers = {"idempotency-key": "k"}
            path = f"/v1/interrupts/{bad}"
            assert (await host.call("POST", path, {"resumeValue": 1}, headers=headers)).status == 404
        count = len(asked)
        assert (await host.look(token)).status == 200
        assert len(asked) > count
        return count

    assert inside(work) == 0


@pytest.mark.rule("tok-06")
def test_signing_keys_are_renewed_and_dropped_while_the_host_runs(tmp_path: Path) -> None:
    folder = live.write_workflows(tmp_path / "flows", ASKS)

    def signing(*args: str, status: int = 0) -> str:
        done = live.weftwork(tmp_path, "signing", *args, "--data", host.data)
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    with live.start_host(tmp_path, "--workflows", folder) as host:
        run_id, second, third = (host.create("time-asks") for _ in "abc")
        old, link = token_of(host, run_id), created_link(host, run_id, node_id="ask")["token"]
        (first,) = administer(host, "signing.list")["keys"]
        assert first["signs"]
        said = signing("rotate")
        made = said.split()[5].rstrip(";")
        assert said == f"new links are signed with {made}; links of older keys stay valid.\n"
        assert made != first["kid"]
        for token in (old, link, token_of(host, run_id)):
            assert get_interrupt(host, token).status == 200
        shown = signing("ls").splitlines()
        assert [line.split()[0] for line in shown] == [first["kid"], made]
        assert (shown[0].count("verifies, retired"), shown[1].split()[-1]) == (1, "signs")
        host.kill()
    with live.start_host(tmp_path, "--workflows", folder) as host:
        assert get_interrupt(host, old).status == 200
        young = token_of(host, run_id)
        signing("drop", first["kid"])
        for token in (old, link):
            assert error_code(get_interrupt(host, token)) == (404, "interrupt_not_found")
            assert error_code(answer_by_token(host, token, 1)) == (404, "interrupt_not_found")
        assert answer_by_token(host, young, 1).status == 200
        assert "No signing key" in signing("drop", first["kid"], status=1)
        last = token_of(host, second)
        dropped = administer(host, "signing.drop", kid=made)
        assert dropped["signs"] not in (made, first["kid"])
        assert error_code(get_interrupt(host, last)) == (404, "interrupt_not_found")
        assert answer_by_token(host, token_of(host, second), 1).status == 200
        kept = token_of(host, third)
        assert host.stop() == 0
        stored = signing("ls", "--json")
        assert '"kid"' in stored
        assert "secret" not in stored
        signing("rotate")
    with live.start_host(tmp_path, "--workflows", folder) as host:
        assert get_interrupt(host, kept).status == 200, "renewed while the host was down, and still known"
        assert answer_by_token(host, token_of(host, third), 1).status == 200


QUIET = flow("hush-asks", [interrupt_node("ask")])

GATE = approval_workflow("hush-gate")


def stream(host: live.Host, run_id: str, mode: str) -> bytes:
    """All that a stream says until its run has ended."""
    reader = host.stream(run_id, f"?streamMode={mode}")
    if mode == "values":
        reader.read_until(lambda body: b"waiting-input" in body)
    cancel(host, run_id)
    return reader.finish()


@pytest.mark.rule("tok-07")
def test_a_token_is_written_nowhere(tmp_path: Path) -> None:
    folder = live.write_workflows(tmp_path / "flows", QUIET, GATE)
    tokens: list[str] = []
    told: list[bytes] = []
    with live.start_host(tmp_path, "--workflows", folder, "--test-seams", "--log-level", "debug") as host:
        run_id = host.create("hush-gate")
        tokens += [
            token_of(host, run_id),
            created_link(host, run_id)["token"],
            created_link(host, run_id, {"for": "ada"})["token"],
        ]
        for token in tokens:
            for path in (f"/interrupts/{token}", f"/v1/interrupts/{token}/x", f"/v1/runs/{token}", f"/v1/{token}:x"):
                told.append(host.call("GET", path).body)
            for method in ("PUT", "DELETE", "OPTIONS"):
                told.append(host.call(method, f"/v1/interrupts/{token}").body)
            told.append(get_interrupt(host, token + "x").body)
            told.append(get_interrupt(host, token[:-1]).body)
            for value in ({"action": "maybe"}, None):
                told.append(answer_by_token(host, token, value).body)
            told.append(host.call("POST", f"/v1/interrupts/{token}", key=None, body=b"{").body)
            told.append(host.call("GET", f"/v1/runs?cursor={token}").body)
            told.append(host.call("GET", "/v1/runs", headers={"Idempotency-Key": token}).body)
        told.append(answer_by_token(host, tokens[0], ACCEPT, **{"Idempotency-Key": "k"}).body)
        told += [get_interrupt(host, token, Accept="text/html").body for token in tokens]
        for mode in ("values", "updates", "debug", "messages"):
            waiting = host.create("hush-asks")
            tokens.append(token_of(host, waiting))
            told.append(stream(host, waiting, mode))
            told.append(host.call("GET", f"/v1/runs/{waiting}/events").body)
            told.append(host.call("GET", f"/v1/runs/{waiting}/events/poll?timeout=1").body)
            told.append(host.call("GET", f"/v1/host/sample/test/otel/spans?runId={waiting}").body)
        told.append(host.call("GET", f"/v1/runs/{run_id}/events").body)
        assert host.stop() == 0
        told += [host.output.encode(), host.errors.encode()]
    told += [file.read_bytes() for file in host.data.rglob("*") if file.is_file()]
    assert len(tokens) == 7
    assert any(b"hush-gate" in each for each in told)
    for token in tokens:
        payload, signature = (part.encode() for part in token.split("."))
        assert not [each[:200] for each in told if signature in each or payload in each]


def test_what_streams_say_would_be_seen(tmp_path: Path) -> None:
    """The proof above looks at what it says it looks at."""
    folder = live.write_workflows(tmp_path / "flows", QUIET)
    with live.start_host(tmp_path, "--workflows", folder, store="memory") as host:
        said = stream(host, host.create("hush-asks"), "values")
        assert b"waiting-input" in said
        assert b'"interrupts"' in said


@pytest.mark.rule("tok-07")
@fails_without(app, "mask_tokens", lambda text: text)
async def test_a_request_that_fails_is_logged_without_its_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.clear()

    async def broken(*_: Any) -> Any:
        raise RuntimeError("broken")

    async def away(*_: Any) -> Any:
        raise StoreUnavailable("away")

    async with live.open_in_process(QUIET) as inside:
        made = await inside.call("POST", "/v1/runs", {"workflowId": "hush-asks"})
        shown = await inside.call("GET", f"/v1/runs/{made.document['runId']}")
        token = shown.document["interrupt"]["interruptToken"]
        for fault, status in ((broken, 500), (away, 503)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Interrupts, "read_by_token", fault)
                answer = await inside.call("GET", f"/v1/interrupts/{token}")
            assert (answer.status, token in answer.body.decode()) == (status, False)
            assert answer.document["error"] in ("internal_error", "service_unavailable")
    said = [*(str(getattr(record, "path", "")) for record in caplog.records), caplog.text]
    assert not [each for each in said if token[:30] in each or token[-43:] in each]
    assert said.count("/v1/interrupts/(token)") == 2
