"""Redirects: each one is judged like the first URL, and secrets stay where they were given."""

import contextlib
from collections.abc import AsyncIterator

import httpcore2
import pytest

from tests.adapters.outbound.peer import (
    INSIDE,
    OK,
    PRIVATE_ALLOWED,
    PUBLIC,
    CountingPeer,
    FakeResolver,
    ReceivedRequest,
    listening_peer,
    open_client,
    patched_guard,
)
from tests.harness.cases import each_case, fails_without, present
from weftwork.adapters.outbound import client as client_module
from weftwork.adapters.outbound import exchange
from weftwork.adapters.outbound.client import GuardedClient
from weftwork.adapters.outbound.connection import OutboundConnection
from weftwork.adapters.outbound.guard import AddressGuard
from weftwork.adapters.outbound.response import SendProgress
from weftwork.ports.outbound import FetchFailed, FetchRefused, OutboundRequest
from weftwork.protocol.net.address import Address, parse_address
from weftwork.protocol.net.outbound import MAX_REDIRECTS, CheckedRequest, follow_redirect
from weftwork.protocol.net.target import OutboundPolicy, OutboundRefused, parse_target

HTTP = OutboundPolicy(private=True)
SECRETS = (
    ("Authorization", "Bearer secret"),
    ("Cookie", "a=secret"),
    ("Idempotency-Key", "secret"),
    ("X-Api-Key", "secret"),
)
KEPT = (("Accept", "text/plain"), ("Content-Type", "application/json"))


def asked(url: str = "https://api.test/a/b?c", method: str = "POST") -> CheckedRequest:
    return CheckedRequest(parse_target(url, HTTP), method, (*SECRETS, *KEPT), b"{}")


def follow(
    status: int, location: str | None, sent: CheckedRequest | None = None, policy: OutboundPolicy = HTTP
) -> CheckedRequest | None:
    return follow_redirect(sent or asked(), status, location, policy)


@pytest.mark.rule("out-04")
@each_case(
    "method, status, then, body",
    *(("POST", status, "GET", b"") for status in (301, 302, 303)),
    *(("POST", status, "POST", b"{}") for status in (307, 308)),
    *((method, status, method, b"{}") for method in ("PUT", "PATCH", "DELETE") for status in (301, 302, 307, 308)),
    *((method, 303, "GET", b"") for method in ("PUT", "PATCH", "DELETE", "GET")),
    ("HEAD", 303, "HEAD", b"{}"),
)
def test_the_method_changes_as_it_does_in_browsers(method: str, status: int, then: str, body: bytes) -> None:
    found = follow(status, "/next", asked(method=method))
    assert found is not None
    assert (found.method, found.content, found.target.path) == (then, body, "/next")
    kept = [name for name, _ in found.headers]
    assert ("Content-Type" in kept) == bool(body)
    assert "Authorization" in kept


@each_case("status", 200, 201, 300, 304, 305, 306, 309, 400)
def test_other_statuses_are_answers(status: int) -> None:
    assert follow(status, "https://127.0.0.1/") is None
    assert follow(302, None) is None


@pytest.mark.rule("out-04")
def test_secrets_stay_with_their_origin() -> None:
    for place in ("https://other.test/", "https://api.test:8443/", "//sub.api.test/", "https://api.tes/"):
        assert present(follow(307, place)).headers == KEPT, place
    for place in ("/x", "https://API.test:443/x", "https://api.test./x", "//api.test/x", "?d", "#e", ""):
        assert present(follow(307, place)).headers == (*SECRETS, *KEPT), place


NEVER_FOLLOWED = """
http://api.test/ ftp://api.test/ https://user@api.test/ https://metadata.google.internal/ https://api.test\\\\@x/
javascript:alert(1) ///x https:/x
""".split()


@pytest.mark.rule("out-04")
@each_case(
    "policy, places",
    (HTTP, [*NEVER_FOLLOWED, "https://api.test/a b"]),
    (OutboundPolicy(), ["https://api.test:8443/", "http://api.test/", "https://x.local/"]),
)
def test_a_redirect_that_may_not_be_followed_is_refused(policy: OutboundPolicy, places: list[str]) -> None:
    for place in places:
        with pytest.raises(OutboundRefused):
            pytest.fail(f"followed: {follow(302, place, policy=policy)}")


def moved(place: str, status: int = 302) -> bytes:
    return f"HTTP/1.1 {status} Moved\r\nLocation: {place}\r\nContent-Length: 4\r\n\r\ngone".encode()


def route(peer: CountingPeer, answers: dict[str, bytes]) -> None:
    async def answer(heard: ReceivedRequest, reader: object, writer: object) -> None:
        writer.write(answers.get(heard.path, OK))  # type: ignore[attr-defined]

    peer.answer = answer


@pytest.mark.rule("out-04")
async def test_three_redirects_are_followed_and_no_fourth() -> None:
    async with listening_peer() as peer, open_client(PRIVATE_ALLOWED) as client:
        route(peer, {f"/{left}": moved(f"/{left - 1}") for left in range(1, MAX_REDIRECTS + 2)})
        base = f"http://127.0.0.1:{peer.port}"
        response = await client.fetch(OutboundRequest(f"{base}/{MAX_REDIRECTS}"))
        assert (response.content, response.url) == (b"ok", f"{base}/0")
        with pytest.raises(FetchFailed, match="more than 3 redirects") as failed:
            await client.fetch(OutboundRequest(f"{base}/{MAX_REDIRECTS + 1}"))
        assert failed.value.sent is True
        unfollowed = await client.fetch(OutboundRequest(f"{base}/1", redirects=False))
        assert (unfollowed.status, unfollowed.content) == (302, b"gone")


@contextlib.asynccontextmanager
async def guarded(names: FakeResolver) -> AsyncIterator[tuple[CountingPeer, GuardedClient, str]]:
    """A peer on a public and on an inner address, a client that may use its port, and the end of its URL."""
    with pytest.MonkeyPatch.context() as patch:
        async with listening_peer(PUBLIC, INSIDE) as peer:
            policy = OutboundPolicy(frozenset({peer.port}), http=True)
            async with open_client(policy, guard=patched_guard(names, patch)) as client:
                yield peer, client, f".test:{peer.port}/"


judge_address = AddressGuard.check


def judge_first(guard: AddressGuard, text: str) -> Address:
    """Only the address of the first name is judged, and the other end of that connection."""
    return judge_address(guard, text) if text == PUBLIC else parse_address(text)


@pytest.mark.rule("out-04")
@each_case("status", 301, 302, 303, 307, 308)
@each_case("place", "http://trap.test:PORT/", "http://127.0.0.2:PORT/", "http://2130706434:PORT/")
@fails_without(AddressGuard, "check", judge_first, match="DID NOT RAISE")
async def test_a_redirect_inside_is_refused(place: str, status: int) -> None:
    names = FakeResolver(api_test=[[PUBLIC]], trap_test=[[INSIDE]])
    names.table |= {"127.0.0.2": [[INSIDE]], "2130706434": [[INSIDE]]}
    async with guarded(names) as (peer, client, rest):
        route(peer, {"/start": moved(place.replace("PORT", str(peer.port)), status)})
        with pytest.raises(FetchRefused):
            await client.fetch(OutboundRequest(f"http://api{rest}start", "POST", content=b"x"))
        assert (peer.connections, len(peer.requests)) == (1, 1)


@each_case("place, path", ("/grün", b"/gr%C3%BCn"), ("/a%2Fb?c=ö", b"/a%2Fb?c=%C3%B6"))
async def test_a_place_beyond_ascii_is_utf_8(place: str, path: bytes) -> None:
    async with listening_peer() as peer, open_client(PRIVATE_ALLOWED) as client:
        route(peer, {"/": moved(place), "/bad": moved("/x").replace(b"/x", b"/\xff")})
        base = f"http://127.0.0.1:{peer.port}"
        assert (await client.fetch(OutboundRequest(f"{base}/"))).url == base + path.decode()
        assert (await client.fetch(OutboundRequest(f"{base}/bad"))).url == f"{base}/%EF%BF%BD"


def careless(sent: CheckedRequest, status: int, location: str | None, policy: OutboundPolicy) -> CheckedRequest | None:
    found = follow_redirect(sent, status, location, policy)
    return found and CheckedRequest(found.target, found.method, sent.headers, found.content)


@fails_without(client_module, "follow_redirect", careless, match="secret")
async def test_secrets_do_not_reach_another_origin_on_the_wire() -> None:
    async with listening_peer() as first, listening_peer() as second, open_client(PRIVATE_ALLOWED) as client:
        first.answer = moved(f"http://127.0.0.1:{second.port}/", 307)
        sent = OutboundRequest(f"http://127.0.0.1:{first.port}/", "POST", (*SECRETS, *KEPT), b"{}")
        assert (await client.fetch(sent)).status == 200
        assert b"secret" not in "\r\n".join(second.requests[0].lines).encode()
        assert (second.requests[0].method, second.requests[0].body) == ("POST", b"{}")
        assert "\r\n".join(first.requests[0].lines).count("secret") == len(SECRETS)


@pytest.mark.rule("out-05")
@each_case("inside", INSIDE, "10.0.0.1", "169.254.169.254", "::1", "64:ff9b::7f00:1", "fe80::1%eth0")
async def test_a_name_that_moves_inside_is_not_followed(inside: str) -> None:
    """Not even on the connection of the request before, which is gone."""
    names = FakeResolver(moving_test=[[PUBLIC], [inside]])
    async with guarded(names) as (peer, client, rest):
        assert (await client.fetch(OutboundRequest(f"http://moving{rest}"))).content == b"ok"
        with pytest.raises(FetchRefused) as refused:
            await client.fetch(OutboundRequest(f"http://moving{rest}"))
        assert refused.value.blocked == "ssrf"
        assert (peer.connections, len(names.asked)) == (1, 2)


async def test_a_client_that_keeps_connections_would_not_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the rule is for: a pool over the same guard goes on talking to where the name was."""
    names = FakeResolver(moving_test=[[PUBLIC], [INSIDE]])
    async with listening_peer(PUBLIC, INSIDE) as peer:

        async def stay(heard: object, reader: object, writer: object) -> None:
            for _ in range(2):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")  # type: ignore[attr-defined]
                await reader.readuntil(b"\r\n\r\n")  # type: ignore[attr-defined]

        peer.answer = stay
        network = exchange._PinnedBackend(patched_guard(names, monkeypatch), SendProgress())
        async with httpcore2.AsyncConnectionPool(network_backend=network) as pool:
            for _ in range(2):
                answer = await pool.request("GET", f"http://moving.test:{peer.port}/")
                assert answer.status == 200
        assert (peer.connections, len(names.asked)) == (1, 1)


@pytest.mark.rule("out-05")
@each_case("answer", [PUBLIC, INSIDE], [INSIDE, PUBLIC], [PUBLIC] * 9 + ["10.0.0.1"], [PUBLIC, "::1"])
@fails_without(AddressGuard, "check", lambda guard, _: judge_address(guard, PUBLIC))
async def test_one_inside_address_is_enough(answer: list[str]) -> None:
    async with guarded(FakeResolver(mixed_test=[answer])) as (peer, client, rest):
        with pytest.raises(FetchRefused):
            await client.fetch(OutboundRequest(f"http://mixed{rest}"))
        assert peer.connections == 0


@each_case("host, answers", ("empty.test", [[]]), ("gone.test", None))
async def test_a_name_without_address_is_a_failure_that_sent_nothing(
    host: str, answers: list[list[str]] | None
) -> None:
    names = FakeResolver() if answers is None else FakeResolver(**{host.replace(".", "_"): answers})
    async with open_client(PRIVATE_ALLOWED, names) as client:
        with pytest.raises(FetchFailed, match="The host name") as failed:
            await client.fetch(OutboundRequest(f"http://{host}/"))
        assert failed.value.sent is False


async def test_the_next_address_is_tried_when_one_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    names = FakeResolver(several_test=[["127.0.0.3", "127.0.0.4", PUBLIC]])
    async with listening_peer() as peer, open_client(PRIVATE_ALLOWED, names) as client:
        assert (await client.fetch(OutboundRequest(f"http://several.test:{peer.port}/"))).status == 200
        assert peer.connections == 1


@pytest.mark.rule("out-05")
@fails_without(AddressGuard, "check_peer", lambda *_: None, match="DID NOT RAISE")
async def test_the_other_end_is_looked_at_again() -> None:
    """A connection that led elsewhere than it was meant to carries nothing."""
    connect = OutboundConnection.open

    async def astray(address: str, port: int) -> OutboundConnection:
        assert address == PUBLIC
        return await connect(INSIDE, port)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OutboundConnection, "open", astray)
        async with guarded(FakeResolver(api_test=[[PUBLIC]])) as (peer, client, rest):
            with pytest.raises(FetchRefused):
                await client.fetch(OutboundRequest(f"http://api{rest}"))
            assert peer.requests == []


async def test_no_unix_socket_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    network = exchange._PinnedBackend(patched_guard(FakeResolver(), monkeypatch), SendProgress())
    with pytest.raises(FetchRefused):
        await network.connect_unix_socket("admin.sock")
