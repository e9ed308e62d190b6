"""What every answer says of itself, and clients that go away before they have one."""

import socket
import struct
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from tests.live import KEY, until


@pytest.mark.parametrize("path", ["/health", "/v1/runs", "/nowhere", "/health#odd"])
def test_every_answer_has_its_date(host: Any, path: str) -> None:
    raw = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nConnection: close\r\n\r\n"
    with host.connect() as connection:
        connection.sendall(raw.encode())
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    lines = answer.decode().split("\r\n\r\n")[0].split("\r\n")
    (date,) = [line.split(": ", 1)[1] for line in lines if line.lower().startswith("date: ")]
    assert parsedate_to_datetime(date).year >= 2024


def test_clients_that_reset_their_stream_at_once_are_no_error_of_ours(host: Any) -> None:
    run_id = host.create("conformance-delay", inputs={"delayMs": 3000})
    before = host.errors.count('"level":"error"')
    for _ in range(60):
        with host.connect() as connection:
            line = f"GET /v1/runs/{run_id}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n\r\n"
            connection.sendall(line.encode())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    until(lambda: host.call("GET", "/health").status == 200, "the host")
    host.call("POST", f"/v1/runs/{run_id}/cancel", {})
    assert host.errors.count('"level":"error"') == before, host.errors[-2000:]
