"""Where no host answers, or none that can be trusted: what the client says then."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.foreign_host import KEY, open_foreign_host
from weftwork.cli.client import transport as connection
from weftwork.cli.client.errors import HostUnreachable
from weftwork.cli.client.http_client import Client

CERTIFICATES = Path(__file__).parents[2] / "adapters" / "outbound" / "ca"
NOBODY = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (NOBODY, "nothing listens on .*start a host with `weftwork serve` or name another with --url"),
        ("http://no-such-name.invalid", "no machine named no-such-name.invalid; name another with --url"),
        (f"http://{'a' * 64}.invalid", "no machine named a{64}.invalid"),
    ],
)
def test_where_nobody_answers_it_says_so(url: str, words: str) -> None:
    with pytest.raises(HostUnreachable, match=words) as unreachable:
        Client(url, KEY).get("/v1/runs")
    assert unreachable.value.exit_code == 6
    assert KEY not in unreachable.value.format_message()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{", "broke before its answer was complete"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", "broke before its answer was complete"),
        (b"", "broke before its answer was complete"),
        (None, "says nothing for 0.2 s"),
    ],
)
def test_a_broken_answer_is_named(answer: bytes | None, words: str) -> None:
    over = threading.Event()

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65_536)
                if answer is None:
                    over.wait(120)
                else:
                    connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        with pytest.raises(HostUnreachable, match=words):
            Client(f"http://127.0.0.1:{listener.getsockname()[1]}", KEY, 0.2 if answer is None else 10).post("/v1/runs")
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(120)


@contextlib.contextmanager
def secured(answer: bytes) -> Iterator[int]:
    """A listener that speaks TLS; gives its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "api-test.pem")

    def serve(listener: socket.socket) -> None:
        try:
            line, _ = listener.accept()
            with line, context.wrap_socket(line, server_side=True) as safe:
                safe.recv(65_536)
                safe.sendall(answer)
        except OSError:
            pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1]


def ask_securely(host: str = "127.0.0.1") -> Any:
    with secured(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") as port:
        return Client(f"https://{host}:{port}", KEY).get("/v1/runs")


def test_https_is_trusted_as_the_system_trusts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATES / "authority.pem"))
    assert ask_securely() == {}
    with pytest.raises(HostUnreachable, match=r"certificate of localhost is not trusted: .*mismatch"):
        ask_securely("localhost")
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(HostUnreachable, match=r"certificate of 127.0.0.1 is not trusted"):
        ask_securely()


def test_without_the_check_any_certificate_would_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(*args: Any, **more: Any) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context

    monkeypatch.setattr(connection.ssl, "create_default_context", careless)
    assert ask_securely("localhost") == {}


def test_tls_towards_a_host_without_it_is_named() -> None:
    with open_foreign_host() as foreign, pytest.raises(HostUnreachable, match="start --url with http://"):
        Client(foreign.url.replace("http:", "https:"), KEY).get("/v1/runs")
