"""Sends a request to a running host through its administration socket."""

import os
import socket
from pathlib import Path
from typing import Any, Final

import msgspec

from weftwork.protocol.json.decoder import decode


def socket_address(path: Path, folder: int) -> str:
    """The path to bind or connect to. Socket paths are limited to about 100 bytes, so a longer one goes through the
    descriptor of its open folder."""
    return f"/proc/self/fd/{folder}/{path.name}" if len(os.fsencode(path)) > 100 else str(path)


TIMEOUT_SECONDS: Final = 30


def send_request(path: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    """The response of the host, or None if no host listens at the path. Raises OSError if it does not respond."""
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(TIMEOUT_SECONDS)
            try:
                connection.connect(socket_address(path, folder))
            except (FileNotFoundError, ConnectionRefusedError):
                return None
            connection.sendall(msgspec.json.encode(request) + b"\n")
            received = bytearray()
            while not received.endswith(b"\n") and (chunk := connection.recv(65_536)):
                received += chunk
            if not received:
                raise ConnectionResetError("the host closed the connection without a response")
            return decode(bytes(received))
    finally:
        os.close(folder)
