"""Asking a running host through its administration socket."""

import os
import socket
from pathlib import Path
from typing import Any, Final

import msgspec

from weftwork.protocol.json.decoder import decode


def socket_address(path: Path, folder: int) -> str:
    """Socket paths are limited to about a hundred bytes; an open folder gives any path a short name."""
    return f"/proc/self/fd/{folder}/{path.name}" if len(os.fsencode(path)) > 100 else str(path)


TIMEOUT_SECONDS: Final = 30


def send_request(path: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    """The host's answer, or None when no host listens there. Raises OSError when it does not answer."""
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
            received = b""
            while not received.endswith(b"\n") and (chunk := connection.recv(65_536)):
                received += chunk
            if not received:
                raise ConnectionResetError("the host hung up without an answer")
            return decode(received)
    finally:
        os.close(folder)
