"""Faults of the model server: each function returns a Fault, for `ModelReply.faults`.

`ALL` has one of each, by name, for a test with every fault. Positions are in bytes of the body.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from email.utils import formatdate
from functools import cache
from time import time
from typing import Final

import msgspec

from weftwork.testing.model_server.replies import DONE, error_response
from weftwork.testing.model_server.response import Fault, ServedRequest, WireResponse

MIB: Final = 2**20
_MARK: Final = "place-of-the-long-text"
_FILLER: Final = b"0123456789abcdef" * 1024
ERROR_CODES: Final = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
"""The error codes that OpenAI sends with a status."""


def status(code: int, retry_after: str | None = None, error_code: str | None = None) -> Fault:
    """An error status. The body quotes the key and the request, as some servers do, so that a test can check that the
    host forwards neither."""

    def apply(response: WireResponse, request: ServedRequest) -> WireResponse:
        quoted = request.content.decode(errors="replace")[:500]
        name = error_code or ERROR_CODES.get(code)
        kind = "server_error" if code >= 500 else "invalid_request_error"
        failed = error_response(code, f"Error {code} for the key {request.key}: {quoted}", name, kind)
        if retry_after is None:
            return failed
        return msgspec.structs.replace(failed, headers=(*failed.headers, ("Retry-After", retry_after)))

    return apply


def retry_after_date(code: int, seconds: int) -> Fault:
    """An error status whose Retry-After is the date in `seconds`."""
    return lambda response, request: status(code, formatdate(time() + seconds, usegmt=True))(response, request)


def content_filter_error() -> Fault:
    """Azure's answer to a prompt that its filter does not let through: 400 with the code `content_filter`."""
    return status(400, error_code="content_filter")


def slow_first_byte(seconds: float) -> Fault:
    """The headers arrive at once, the first byte of the body after `seconds`."""
    return lambda response, request: msgspec.structs.replace(response, first_byte_delay=seconds)


def no_response() -> Fault:
    """The server accepts the request and sends nothing."""
    return lambda response, request: msgspec.structs.replace(response, answers=False)


def hang_after(position: int) -> Fault:
    """The server stops sending, and keeps the connection open."""
    return lambda response, request: msgspec.structs.replace(response, hang_at=position)


def cut_after(position: int) -> Fault:
    """The server closes the connection in the middle of the body."""
    return lambda response, request: msgspec.structs.replace(response, cut_at=position)


def drip(bytes_per_second: float) -> Fault:
    """The body arrives byte by byte."""

    def apply(response: WireResponse, request: ServedRequest) -> WireResponse:
        body = response.body()
        pieces = tuple(body[at : at + 1] for at in range(len(body)))
        return msgspec.structs.replace(response, pieces=pieces, interval=1 / bytes_per_second)

    return apply


def change_pieces(change: Callable[[list[bytes]], list[bytes]]) -> Fault:
    """Changes the list of the pieces: the events of a stream, or the one piece of another answer."""
    return lambda response, request: msgspec.structs.replace(response, pieces=tuple(change(list(response.pieces))))


def duplicate_chunks() -> Fault:
    """Every event of the stream arrives twice, except its end."""
    return change_pieces(
        lambda pieces: [piece for each in pieces for piece in ((each,) if each == DONE else (each, each))]
    )


def reorder_chunks() -> Fault:
    """Each two neighbouring events change places, counted from the end, so [DONE] is not the last one."""

    def change(pieces: list[bytes]) -> list[bytes]:
        first = len(pieces) % 2
        pairs = (reversed(pieces[at : at + 2]) for at in range(first, len(pieces), 2))
        return [*pieces[:first], *(piece for pair in pairs for piece in pair)]

    return change_pieces(change)


def malformed_json() -> Fault:
    """The second event, or the whole answer, is not JSON."""
    return change_pieces(
        lambda pieces: (
            [*pieces[:1], b'data: {"choices": [{\n\n', *pieces[1:]] if len(pieces) > 1 else [b'{"choices": [{']
        )
    )


def wrong_shape(document: object = None) -> Fault:
    """The second event, or the whole answer, is JSON of another shape."""
    text = json.dumps(document).encode()
    return change_pieces(lambda pieces: [pieces[0], b"data: %b\n\n" % text, *pieces[1:]] if len(pieces) > 1 else [text])


def event_in_stream(document: object) -> Fault:
    """An additional event in the middle of the stream, such as the error of a server behind a router. A whole answer is
    replaced."""
    text = json.dumps(document).encode()

    def change(pieces: list[bytes]) -> list[bytes]:
        middle = len(pieces) // 2
        return [*pieces[:middle], b"data: %b\n\n" % text, *pieces[middle:]] if len(pieces) > 1 else [text]

    return change_pieces(change)


def invalid_utf8() -> Fault:
    """The text of the answer has a byte that is not UTF-8."""
    return change_pieces(lambda pieces: [piece.replace(b"server", b"ser\xffver") for piece in pieces])


def missing_done() -> Fault:
    """The stream ends without [DONE]; the answer itself is complete."""
    return change_pieces(lambda pieces: [piece for piece in pieces if piece != DONE])


def missing_finish() -> Fault:
    """The stream has [DONE], and no event says why the answer ended."""
    return change_pieces(lambda pieces: [piece for piece in pieces if b'"finish_reason":"' not in piece])


def trailing_garbage(garbage: bytes = b"\x00\xff<html>no JSON</html>") -> Fault:
    """Bytes after the end of the answer."""
    return change_pieces(lambda pieces: [*pieces, garbage])


def crlf_lines() -> Fault:
    """The lines of the stream end with CR LF, which is valid."""
    return change_pieces(lambda pieces: [piece.replace(b"\n", b"\r\n") for piece in pieces])


def split_everywhere() -> Fault:
    """Each byte is a piece of its own, so characters and lines are split between two reads, which is valid."""
    return change_pieces(lambda pieces: [bytes((each,)) for piece in pieces for each in piece])


def content_type(value: str) -> Fault:
    """The right body under another content type."""

    def apply(response: WireResponse, request: ServedRequest) -> WireResponse:
        kept = tuple(header for header in response.headers if header[0] != "Content-Type")
        return msgspec.structs.replace(response, headers=(*kept, ("Content-Type", value)))

    return apply


def html_page(code: int = 200) -> Fault:
    """A page in place of an answer, as from a proxy."""
    page = (b"<!doctype html><title>Sign in</title><p>Please sign in.",)
    return lambda response, request: WireResponse(code, (("Content-Type", "text/html"),), page)


def redirect(location: str) -> Fault:
    """A redirect to another URL."""
    return lambda response, request: WireResponse(307, (("Location", location),))


def wrong_length(difference: int) -> Fault:
    """A Content-Length that is larger or smaller than the body. The connection is closed after the body."""

    def apply(response: WireResponse, request: ServedRequest) -> WireResponse:
        body = response.body()
        changed = msgspec.structs.replace(response, pieces=(body,), framing="length", cut_at=len(body))
        return msgspec.structs.replace(changed, declared_length=max(0, len(body) + difference))

    return apply


def until_close() -> Fault:
    """The body ends with the connection, without a length, which is valid."""
    return lambda response, request: msgspec.structs.replace(response, framing="close")


def not_http(data: bytes = b"SSH-2.0-OpenSSH_9.6\r\n") -> Fault:
    """Bytes that are no HTTP response."""
    return lambda response, request: WireResponse(pieces=(data,), framing="raw")


def broken_chunk() -> Fault:
    """A chunked transfer coding with an invalid size in the middle."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return not_http(head + b"5\r\ndata:\r\nzz\r\n")


def endless_headers(size: int = MIB) -> Fault:
    """A header block of `size` bytes."""
    return not_http(b"HTTP/1.1 200 OK\r\n" + b"X-More: " + b"x" * size + b"\r\n\r\n")


def gzip_bomb(size: int = 256 * MIB) -> Fault:
    """A small body that decompresses to `size` bytes of white space, although the request did not ask for gzip."""

    def apply(response: WireResponse, request: ServedRequest) -> WireResponse:
        headers = (*response.headers, ("Content-Encoding", "gzip"))
        return msgspec.structs.replace(response, headers=headers, pieces=_zipped_spaces(size), framing="chunked")

    return apply


@cache
def _zipped_spaces(size: int) -> tuple[bytes, ...]:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    return (*(squeeze.compress(b" " * MIB) for _ in range(size // MIB)), squeeze.flush())


def gzip_body() -> Fault:
    """The right body, compressed."""

    def apply(response: WireResponse, request: ServedRequest) -> WireResponse:
        headers = (*response.headers, ("Content-Encoding", "gzip"))
        return msgspec.structs.replace(response, headers=headers, pieces=(gzip.compress(response.body()),))

    return apply


def large_answer(size: int = 50 * MIB) -> Fault:
    """An answer of `size` bytes: its text is replaced by a long one, in many events if it is streamed."""

    def pieces(response: WireResponse) -> Iterator[bytes]:
        body = list(response.pieces)
        place = 1 if len(body) > 1 else 0
        prefix, separator, document = body[place].rpartition(b"data: ")
        content = json.loads(document)
        choice = content["choices"][0]
        choice["delta" if "delta" in choice else "message"]["content"] = _MARK
        head, tail = json.dumps(content).encode().split(_MARK.encode())
        yield from body[:place]
        if not separator:
            yield from (head, *[_FILLER] * (size // len(_FILLER)), tail)
            return
        event = b"%b%b%b%b%b\n\n" % (prefix, separator, head, _FILLER, tail)
        yield from [event] * (size // len(_FILLER))
        yield from body[2:]

    def apply(response: WireResponse, request: ServedRequest) -> WireResponse:
        return msgspec.structs.replace(response, pieces=pieces(response), framing="chunked")

    return apply


ALL: Final[dict[str, Fault]] = {
    "slow first byte": slow_first_byte(3600),
    "no response": no_response(),
    "hang in the middle": hang_after(300),
    "cut before the body": cut_after(0),
    "cut in the middle": cut_after(300),
    "one byte per second": drip(1),
    "duplicated chunks": duplicate_chunks(),
    "re-ordered chunks": reorder_chunks(),
    "malformed JSON": malformed_json(),
    "null": wrong_shape(),
    "a list": wrong_shape([]),
    "choices of another type": wrong_shape({"choices": {"0": "x"}}),
    "deltas of another type": wrong_shape(
        {"choices": [{"index": "0", "delta": ["x"], "message": "x"}], "usage": "many"}
    ),
    "no choices": wrong_shape({"choices": []}),
    "error in the stream": event_in_stream({"error": {"code": 502, "message": "Upstream failed."}, "choices": []}),
    "invalid UTF-8": invalid_utf8(),
    "missing [DONE]": missing_done(),
    "missing finish reason": missing_finish(),
    "trailing garbage": trailing_garbage(),
    "lines with CR LF": crlf_lines(),
    "split at every byte": split_everywhere(),
    "text/plain": content_type("text/plain"),
    "no content type": content_type(""),
    "HTML page": html_page(),
    "redirect": redirect("http://169.254.169.254/latest/meta-data"),
    "Content-Length too large": wrong_length(10),
    "Content-Length too small": wrong_length(-10),
    "body until close": until_close(),
    "not HTTP": not_http(),
    "broken chunk": broken_chunk(),
    "endless headers": endless_headers(),
    "gzip": gzip_body(),
    "gzip bomb": gzip_bomb(),
    "50 MB answer": large_answer(),
    "content filter before the answer": content_filter_error(),
    **{str(code): status(code) for code in (400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504, 529)},
    "429, Retry-After in seconds": status(429, "1"),
    "429, Retry-After as a date": retry_after_date(429, 3600),
    "429, Retry-After in the past": status(429, "Wed, 21 Oct 2015 07:28:00 GMT"),
    "429, Retry-After without sense": status(429, "soon"),
    "429, Retry-After of 10^9 seconds": status(429, "1000000000"),
    "429, quota used up": status(429, error_code="insufficient_quota"),
    "503, Retry-After in seconds": status(503, "2"),
}
"""One fault of each kind, by name."""
