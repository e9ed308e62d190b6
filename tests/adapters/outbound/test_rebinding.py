"""Names that change their address: each connection is judged by the answer that it is made with."""

import httpcore2
import pytest

from tests.adapters.outbound.peer import (
    INSIDE,
    PRIVATE_ALLOWED,
    PUBLIC,
    FakeResolver,
    listening_peer,
    open_client,
    patched_guard,
)
from weftwork.adapters.outbound.guard import AddressGuard
from weftwork.adapters.outbound.response import SendProgress
from weftwork.ports.outbound import FetchFailed, FetchRefused, OutboundRequest
from weftwork.protocol.net.target import OutboundPolicy

BOTH = (PUBLIC, INSIDE)


def lenient(port: int) -> OutboundPolicy:
    return OutboundPolicy(frozenset({port}), http=True)


@pytest.mark.rule("out-05")
@pytest.mark.parametrize("inside", [INSIDE, "10.0.0.1", "169.254.169.254", "::1", "64:ff9b::7f00:1", "fe80::1%eth0"])
async def test_a_name_that_moves_inside_is_not_followed(inside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even on the connection of the request before, which is gone."""
    names = FakeResolver(moving_test=[[PUBLIC], [inside]])

    async with (
        listening_peer(*BOTH) as peer,
        open_client(lenient(peer.port), guard=patched_guard(names, monkeypatch)) as client,
    ):
        url = f"http://moving.test:{peer.port}/"
        assert (await client.fetch(OutboundRequest(url))).content == b"ok"
        with pytest.raises(FetchRefused) as refused:
            await client.fetch(OutboundRequest(url))
        assert refused.value.blocked == "ssrf"
        assert (peer.connections, len(names.asked)) == (1, 2)


async def test_a_client_that_keeps_connections_would_not_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the rule is for: a pool over the same guard goes on talking to where the name was."""
    names = FakeResolver(moving_test=[[PUBLIC], [INSIDE]])

    from weftwork.adapters.outbound import exchange

    async with listening_peer(*BOTH) as peer:

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
@pytest.mark.parametrize("answer", [[PUBLIC, INSIDE], [INSIDE, PUBLIC], [PUBLIC] * 9 + ["10.0.0.1"], [PUBLIC, "::1"]])
async def test_one_inside_address_is_enough(answer: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    names = FakeResolver(mixed_test=[answer])

    async with (
        listening_peer(*BOTH) as peer,
        open_client(lenient(peer.port), guard=patched_guard(names, monkeypatch)) as client,
    ):
        with pytest.raises(FetchRefused):
            await client.fetch(OutboundRequest(f"http://mixed.test:{peer.port}/"))
        assert peer.connections == 0


async def test_judging_only_the_first_address_would_let_it_through(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = AddressGuard.check

    def first_only(self: AddressGuard, text: str) -> object:
        return whole(self, PUBLIC)

    monkeypatch.setattr(AddressGuard, "check", first_only)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        await test_one_inside_address_is_enough([PUBLIC, INSIDE], monkeypatch)


@pytest.mark.parametrize(("host", "answers"), [("empty.test", [[]]), ("gone.test", None)])
async def test_a_name_without_address_is_a_failure_that_sent_nothing(
    host: str, answers: list[list[str]] | None
) -> None:
    names = FakeResolver() if answers is None else FakeResolver(**{host.replace(".", "_"): answers})

    async with open_client(PRIVATE_ALLOWED, names) as client:
        with pytest.raises(FetchFailed, match="The name of the host") as failed:
            await client.fetch(OutboundRequest(f"http://{host}/"))
        assert failed.value.sent is False


async def test_the_next_address_is_tried_when_one_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    names = FakeResolver(several_test=[["127.0.0.3", "127.0.0.4", PUBLIC]])

    async with listening_peer() as peer, open_client(PRIVATE_ALLOWED, names) as client:
        assert (await client.fetch(OutboundRequest(f"http://several.test:{peer.port}/"))).status == 200
        assert peer.connections == 1


@pytest.mark.rule("out-05")
async def test_the_other_end_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that led elsewhere than it was meant to carries nothing."""
    names = FakeResolver(api_test=[[PUBLIC]])
    connect = httpcore2.AnyIOBackend.connect_tcp  # type: ignore[attr-defined]

    async def astray(self: httpcore2.AnyIOBackend, host: str, *rest: object) -> object:
        assert host == PUBLIC
        return await connect(self, INSIDE, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", astray)

    async with (
        listening_peer(*BOTH) as peer,
        open_client(lenient(peer.port), guard=patched_guard(names, monkeypatch)) as client,
    ):
        with pytest.raises(FetchRefused):
            await client.fetch(OutboundRequest(f"http://api.test:{peer.port}/"))
        assert peer.requests == []


async def test_without_the_second_look_the_request_goes_astray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AddressGuard, "check_peer", lambda *_: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        await test_the_other_end_is_looked_at_again(monkeypatch)


async def test_no_unix_socket_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    from weftwork.adapters.outbound import exchange

    network = exchange._PinnedBackend(patched_guard(FakeResolver(), monkeypatch), SendProgress())
    with pytest.raises(FetchRefused):
        await network.connect_unix_socket("admin.sock")
