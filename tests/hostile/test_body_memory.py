"""Many large bodies at once: beyond the limit the host refuses before it reads more, and gives the memory back."""

import contextlib
import socket
from collections.abc import Iterator

import pytest

from tests.harness.cases import fails_without
from tests.hostile.raw_http import HOST, ReceivedAnswer, check_error, connect, receive_answers
from tests.live import KEY, OTHER_KEY, ListeningHost, in_thread
from tests.live.listening_host import open_listening, until
from tests.live.workflows import delays
from weftwork.adapters.http.server.limits import BodyMemory
from weftwork.protocol.fair_share import FairLimit

KIB = 1024
HOST_BYTES, KEY_BYTES = 1000 * KIB, 600 * KIB
SIZE = 100 * KIB
"""Of each body. A client sends half of it and pauses."""
FLOW = delays("conformance-noop", 0)
REFUSAL_SECONDS = 1.0
LIMITS = {
    "max_body_bytes_in_memory": HOST_BYTES,
    "max_body_bytes_in_memory_per_key": KEY_BYTES,
    "max_request_body_bytes": 300 * KIB,
}


def begin(served: ListeningHost, key: str, chunked: bool = False) -> socket.socket:
    """A client that has sent half of its body and pauses."""
    client = connect(served.port)
    head = b"POST /v1/runs HTTP/1.1\r\n" + HOST + b"Authorization: Bearer " + key.encode() + b"\r\n"
    head += b"Content-Type: application/json\r\n"
    half = b" " * (SIZE // 2)
    if chunked:
        client.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(half), half))
    else:
        client.sendall(head + b"Content-Length: %d\r\n\r\n%b" % (SIZE, half))
    return client


def finish(client: socket.socket) -> list[ReceivedAnswer]:
    rest = b'{"workflowId":"conformance-noop"}'
    client.sendall(rest.ljust(SIZE // 2))
    return receive_answers(client, 1)


def memory(served: ListeningHost) -> BodyMemory:
    app = served.host.app
    assert app is not None
    return app._body_memory


@contextlib.contextmanager
def closing(clients: list[socket.socket]) -> Iterator[None]:
    try:
        yield
    finally:
        for client in clients:
            client.close()


async def begin_many(served: ListeningHost, key: str, count: int) -> list[socket.socket]:
    """Clients that pause within their bodies, once the host holds what they sent."""
    held = memory(served).held
    clients = [await in_thread(begin, served, key) for _ in range(count)]
    await until(lambda: memory(served).held >= held + count * SIZE, "the bodies")
    return clients


async def refusal(served: ListeningHost, key: str) -> str:
    """The message for one more client."""
    with await in_thread(begin, served, key) as client:
        client.settimeout(REFUSAL_SECONDS)
        (answer,) = await in_thread(receive_answers, client, 1)
    assert check_error(answer, 503, "service_unavailable") == {"retryAfter": 1}
    assert answer.headers["connection"] == "close"
    return answer.document["message"]


def hold_any_size(self: BodyMemory, partition: str, key_id: str, size: int) -> None:
    self._held_by_key[key_id] = self._held_by_key.get(key_id, 0) + size
    assert self._total.take(partition, size)


@pytest.mark.rule("lim-22")
@fails_without(BodyMemory, "hold", hold_any_size, errors=(TimeoutError,))
async def test_a_key_holds_no_more_than_its_part_and_others_are_served() -> None:
    async with open_listening(FLOW, **LIMITS) as served:
        clients = await begin_many(served, KEY, KEY_BYTES // SIZE)
        with closing(clients):
            assert "max_body_bytes_in_memory_per_key" in await refusal(served, KEY)
            other = await in_thread(begin, served, OTHER_KEY)
            clients.append(other)
            assert [each.status for each in await in_thread(finish, other)] == [201]
            assert memory(served).held == KEY_BYTES
            # What was accepted is completed, and its memory is free again.
            for client in clients[:-1]:
                assert [each.status for each in await in_thread(finish, client)] == [201]
        await until(lambda: memory(served).held == 0, "the bodies to be answered")


@pytest.mark.rule("lim-22")
@fails_without(FairLimit, "has_room", lambda self, tenant, units=1: True, errors=(TimeoutError,))
async def test_two_keys_of_a_tenant_leave_room_for_another_tenant() -> None:
    async with open_listening(FLOW, **LIMITS) as served:
        keyring = served.host.keyring
        keyring.accept_for_process("second-key-of-acme", "acme", None)
        clients = await begin_many(served, KEY, 5)
        with closing(clients):
            clients += await begin_many(served, "second-key-of-acme", 3)
            assert "`max_body_bytes_in_memory`" in await refusal(served, "second-key-of-acme")
            clients += await begin_many(served, OTHER_KEY, 2)
            assert memory(served).held == HOST_BYTES
        await until(lambda: memory(served).held == 0, "the clients to be gone")


@pytest.mark.rule("lim-22")
async def test_a_body_without_a_declared_length_counts_as_it_arrives() -> None:
    async with open_listening(FLOW, **LIMITS) as served:
        with await in_thread(begin, served, KEY, True):
            await until(lambda: memory(served).held == SIZE // 2, "the first half")
            clients = await begin_many(served, KEY, 5)
            with closing(clients):
                assert "per_key" in await refusal(served, KEY)
        await until(lambda: memory(served).held == 0, "the clients to be gone")
