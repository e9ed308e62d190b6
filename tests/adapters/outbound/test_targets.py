"""No spelling of an inside address gets a connection: by the client, by the node, by the seam; and 0 means 0."""

from collections.abc import Awaitable, Callable

import pytest

from tests.adapters.outbound.peer import (
    LOOPBACK,
    FakeStepContext,
    call,
    denied_urls,
    listening_peer,
    open_client,
    request_node,
)
from tests.live import open_in_process
from weftwork.adapters.outbound import guard
from weftwork.adapters.outbound.guard import AddressGuard
from weftwork.adapters.outbound.resolver import SystemResolver
from weftwork.ports.node_outcome import Failed
from weftwork.ports.outbound import FetchFailed, FetchRefused, OutboundRequest
from weftwork.protocol.net.target import OutboundPolicy

Sink = Callable[[str], Awaitable[str]]
EVERYWHERE = ("0.0.0.0", "::")
LEAST = 400


async def tried(sink: Sink, port: int, urls: list[str]) -> dict[str, int]:
    """How often each outcome came, over all URLs."""
    outcomes: dict[str, int] = {}
    for url in urls:
        outcome = await sink(url.replace("PORT", str(port)))
        assert outcome in ("ssrf", "unsent"), (url, outcome)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    return outcomes


def lenient(port: int) -> OutboundPolicy:
    """Neither the scheme nor the port is what refuses."""
    return OutboundPolicy(frozenset({port}), http=True)


@pytest.mark.rule("out-01")
@pytest.mark.rule("out-02")
async def test_the_client_reaches_no_trap() -> None:
    async with listening_peer(*EVERYWHERE) as trap, open_client(lenient(trap.port), timeout_ms=5_000) as client:

        async def sink(url: str) -> str:
            try:
                await client.fetch(OutboundRequest(url))
            except FetchRefused as refused:
                return refused.blocked
            except FetchFailed as failed:
                return "sent" if failed.sent else "unsent"
            return "fetched"

        outcomes = await tried(sink, trap.port, denied_urls())
        assert trap.connections == 0
        assert outcomes["ssrf"] > LEAST
        # Some names are not even numbers to the system.
        assert outcomes.get("unsent", 0) < 20


@pytest.mark.rule("out-01")
async def test_the_node_reaches_no_trap() -> None:
    async with listening_peer(*EVERYWHERE) as trap, open_client(lenient(trap.port), timeout_ms=5_000) as client:
        node = request_node(client)

        async def sink(url: str) -> str:
            outcome = await node.run(call({"method": "POST"}, {"url": url}), FakeStepContext())
            assert isinstance(outcome, Failed)
            if outcome.code in ("ssrf_blocked", "node_input_missing"):
                return "ssrf"
            return "sent" if (outcome.details or {}).get("sent", True) else "unsent"

        outcomes = await tried(sink, trap.port, denied_urls())
        assert (trap.connections, outcomes["ssrf"] > LEAST) == (0, True)


@pytest.mark.rule("out-01")
async def test_the_seam_reaches_no_trap() -> None:
    async with listening_peer(*EVERYWHERE) as trap:
        settings = {"test_seams": True, "fetch_http": True, "fetch_ports": (trap.port,)}
        async with open_in_process(**settings) as inside:

            async def sink(url: str) -> str:
                answer = await inside.call("POST", "/v1/host/sample/http/safe-fetch", {"url": url})
                if answer.status == 400:  # NUL is none of JSON here
                    return "ssrf"
                assert answer.status == 200, answer.body
                document = answer.document
                return document.get("blocked", "unsent" if document["outcome"] == "failed" else "fetched")

            outcomes = await tried(sink, trap.port, denied_urls())
            assert (trap.connections, outcomes["ssrf"] > LEAST) == (0, True)


async def test_without_the_guard_the_traps_are_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "is_own_address", lambda address: False)
    monkeypatch.setattr(AddressGuard, "check_peer", lambda *_: None)

    async with listening_peer(*EVERYWHERE) as trap:
        careless = AddressGuard(SystemResolver(), judge=lambda address, private: True)
        async with open_client(lenient(trap.port), guard=careless) as client:
            for host in LOOPBACK:
                response = await client.fetch(OutboundRequest(f"http://{host}:{trap.port}/"))
                assert response.content == b"ok", host
            assert trap.connections == len(LOOPBACK)


async def test_an_address_of_this_machine_is_refused_even_if_it_were_public() -> None:
    async with listening_peer() as trap:
        strict = AddressGuard(SystemResolver(), judge=lambda address, private: True)
        async with open_client(lenient(trap.port), guard=strict) as client:
            with pytest.raises(FetchRefused):
                await client.fetch(OutboundRequest(f"http://127.0.0.1:{trap.port}/"))
        assert trap.connections == 0


async def test_without_the_look_at_own_addresses_it_would_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "is_own_address", lambda address: False)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        await test_an_address_of_this_machine_is_refused_even_if_it_were_public()
