"""Odd requests with their verdicts, as raw bytes."""

from typing import NamedTuple

from tests.hostile.raw_http import AUTH, BODY, HEALTH, HOST, POST

SMUGGLED = (
    b"POST /v1/runs HTTP/1.1\r\n"
    + HOST
    + AUTH
    + b"Content-Type: application/json\r\nContent-Length: 54\r\n\r\n"
    + b'{"workflowId":"conformance-noop","tags":["smuggled!"]}'
)
"""A request that would be seen in the list of runs if anybody took it for one."""
GET = b"GET /health HTTP/1.1\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
SIZE = b"%x" % len(BODY)
CHUNKED_BODY = SIZE + b"\r\n" + BODY + b"\r\n0\r\n\r\n"


class MalformedRequest(NamedTuple):
    """What is sent, and the statuses that come back. `stays`: the connection is in step and can be used again."""

    send: bytes
    statuses: tuple[int, ...] = (400,)
    keeps_connection: bool = False


def _line(line: bytes) -> bytes:
    return line + b"\r\n" + HOST + b"\r\n"


def _get(headers: bytes) -> bytes:
    return GET + HOST + headers + b"\r\n"


def _length(value: bytes) -> bytes:
    return POST + b"Content-Length: " + value + b"\r\n\r\n" + BODY


def _coding(value: bytes) -> bytes:
    return POST + b"Transfer-Encoding: " + value + b"\r\n\r\n" + CHUNKED_BODY


def _chunks(body: bytes) -> bytes:
    return POST + CHUNKED + body


LINES: dict[str, MalformedRequest] = {
    "no HTTP at all": MalformedRequest(b"HELLO\r\n\r\n"),
    "TLS": MalformedRequest(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100)),
    "HTTP/2 preface": MalformedRequest(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "HTTP/0.9": MalformedRequest(b"GET /health\r\n\r\n"),
    "HTTP/0.9 by name": MalformedRequest(_line(b"GET /health HTTP/0.9")),
    "HTTP/1.2": MalformedRequest(_line(b"GET /health HTTP/1.2")),
    "HTTP/2.0": MalformedRequest(_line(b"GET /health HTTP/2.0")),
    "HTTP/3.0": MalformedRequest(_line(b"GET /health HTTP/3.0")),
    "HTTP/1.10": MalformedRequest(_line(b"GET /health HTTP/1.10")),
    "HTTP/11": MalformedRequest(_line(b"GET /health HTTP/11")),
    "http/1.1": MalformedRequest(_line(b"GET /health http/1.1")),
    "another protocol": MalformedRequest(_line(b"GET /health ICE/1.0")),
    "lower case method": MalformedRequest(_line(b"get /health HTTP/1.1")),
    "unknown method": MalformedRequest(_line(b"FETCH /health HTTP/1.1")),
    "endless method": MalformedRequest(b"G" * 9000),
    "tabs for spaces": MalformedRequest(_line(b"GET\t/health\tHTTP/1.1")),
    "space at the end": MalformedRequest(_line(b"GET /health HTTP/1.1 ")),
    "space at the start": MalformedRequest(b" " + HEALTH),
    "three spaces": MalformedRequest(_line(b"GET /hea lth HTTP/1.1")),
    "line ends before": MalformedRequest(b"\r\n\r\n" + HEALTH, (200,), keeps_connection=True),
    "HTTP/1.0": MalformedRequest(b"GET /health HTTP/1.0\r\n\r\n", (200,)),
    "HTTP/1.0 that would stay": MalformedRequest(
        b"GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + SMUGGLED, (200,)
    ),
}

TARGETS: dict[str, MalformedRequest] = {
    "absolute": MalformedRequest(_line(b"GET http://elsewhere/health HTTP/1.1")),
    "absolute with our name": MalformedRequest(_line(b"GET http://x/health HTTP/1.1")),
    "absolute https": MalformedRequest(_line(b"GET https://x/health HTTP/1.1")),
    "a file": MalformedRequest(_line(b"GET file:///health HTTP/1.1")),
    "authority": MalformedRequest(_line(b"GET x:80 HTTP/1.1")),
    "CONNECT": MalformedRequest(_line(b"CONNECT x:443 HTTP/1.1") + SMUGGLED),
    "CONNECT to a path": MalformedRequest(_line(b"CONNECT /health HTTP/1.1"), (405,), keeps_connection=True),
    "TRACE": MalformedRequest(_line(b"TRACE /health HTTP/1.1"), (405,), keeps_connection=True),
    "OPTIONS *": MalformedRequest(_line(b"OPTIONS * HTTP/1.1"), (404,), keeps_connection=True),
    "GET *": MalformedRequest(_line(b"GET * HTTP/1.1"), (404,), keeps_connection=True),
    "fragment": MalformedRequest(_line(b"GET /health#x HTTP/1.1")),
    "query alone": MalformedRequest(_line(b"GET ?x HTTP/1.1")),
    "no slash": MalformedRequest(_line(b"GET health HTTP/1.1")),
    "two slashes": MalformedRequest(_line(b"GET //x/health HTTP/1.1"), (404,), keeps_connection=True),
    "dots": MalformedRequest(_line(b"GET /v1/../health HTTP/1.1"), (401,), keeps_connection=True),
    "NUL": MalformedRequest(_line(b"GET /hea\x00lth HTTP/1.1")),
    "control byte": MalformedRequest(_line(b"GET /hea\x01lth HTTP/1.1")),
    "DEL": MalformedRequest(_line(b"GET /hea\x7flth HTTP/1.1")),
    "tab": MalformedRequest(_line(b"GET /hea\tlth HTTP/1.1")),
    "no ASCII": MalformedRequest(_line(b"GET /hea\xfflth HTTP/1.1")),
    "no ASCII in the query": MalformedRequest(_line(b"GET /health?\xff HTTP/1.1")),
    "line end inside": MalformedRequest(_line(b"GET /hea\nlth HTTP/1.1")),
}

HEADERS: dict[str, MalformedRequest] = {
    "no Host": MalformedRequest(GET + b"\r\n"),
    "two Hosts": MalformedRequest(GET + HOST + HOST + b"\r\n", (400,), keeps_connection=True),
    "two different Hosts": MalformedRequest(GET + HOST + b"Host: y\r\n\r\n", (400,), keeps_connection=True),
    "folded": MalformedRequest(_get(b"X: a\r\n b\r\n")),
    "folded with a tab": MalformedRequest(_get(b"X: a\r\n\tb\r\n")),
    "folded first": MalformedRequest(GET + b" X: a\r\n" + HOST + b"\r\n"),
    "bare LF everywhere": MalformedRequest(b"GET /health HTTP/1.1\nHost: x\n\n"),
    "bare LF behind a value": MalformedRequest(_get(b"X: a\nContent-Length: 5\r\n")),
    "bare LF at the end": MalformedRequest(GET + HOST + b"X: a\r\n\n"),
    "bare CR in a value": MalformedRequest(_get(b"X: a\rY: b\r\n")),
    "bare CR everywhere": MalformedRequest(b"GET /health HTTP/1.1\rHost: x\r\r"),
    "NUL in a value": MalformedRequest(_get(b"X: a\x00b\r\n")),
    "control byte in a value": MalformedRequest(_get(b"X: a\x01b\r\n")),
    "escape in a value": MalformedRequest(_get(b"X: a\x1bb\r\n")),
    "DEL in a value": MalformedRequest(_get(b"X: a\x7fb\r\n")),
    "no ASCII in a value": MalformedRequest(_get(b"X: a\xffb\r\n"), (200,), keeps_connection=True),
    "NUL in a name": MalformedRequest(_get(b"X\x00: a\r\n")),
    "control byte in a name": MalformedRequest(_get(b"X\x01: a\r\n")),
    "no ASCII in a name": MalformedRequest(_get(b"X\xc3\xa9: a\r\n")),
    "space in a name": MalformedRequest(_get(b"X y: a\r\n")),
    "space before the colon": MalformedRequest(_get(b"X : a\r\n")),
    "tab before the colon": MalformedRequest(_get(b"X\t: a\r\n")),
    "bracket in a name": MalformedRequest(_get(b"X(: a\r\n")),
    "no name": MalformedRequest(_get(b": a\r\n")),
    "no colon": MalformedRequest(_get(b"abc\r\n")),
    "length with a space before its colon": MalformedRequest(POST + b"Content-Length : 33\r\n\r\n" + BODY),
    "101 headers": MalformedRequest(GET + HOST + b"X: a\r\n" * 100 + b"\r\n"),
    "100 headers": MalformedRequest(GET + HOST + b"X: a\r\n" * 99 + b"\r\n", (200,), keeps_connection=True),
}

LENGTHS: dict[str, MalformedRequest] = {
    "and a coding": MalformedRequest(POST + b"Content-Length: 5\r\n" + CHUNKED + b"0\r\n\r\n" + SMUGGLED),
    "behind a coding": MalformedRequest(
        POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + SMUGGLED
    ),
    "twice": MalformedRequest(POST + b"Content-Length: 33\r\n" * 2 + b"\r\n" + BODY),
    "two of them": MalformedRequest(POST + b"Content-Length: 33\r\nContent-Length: 0\r\n\r\n" + BODY + SMUGGLED),
    "as a list": MalformedRequest(_length(b"33, 33")),
    "with a plus": MalformedRequest(_length(b"+33")),
    "negative": MalformedRequest(_length(b"-33")),
    "hexadecimal": MalformedRequest(_length(b"0x21")),
    "a fraction": MalformedRequest(_length(b"33.0")),
    "with a space": MalformedRequest(_length(b"3 3")),
    "underscored": MalformedRequest(_length(b"3_3")),
    "of other digits": MalformedRequest(_length(b"\xef\xbc\x93\xef\xbc\x93")),
    "empty": MalformedRequest(_length(b"")),
    "beyond 64 bits": MalformedRequest(_length(b"99999999999999999999999")),
    "the largest": MalformedRequest(_length(b"18446744073709551615"), (413,)),
    "with zeros": MalformedRequest(_length(b"0000000033"), (201,), keeps_connection=True),
    "with spaces around": MalformedRequest(_length(b" 33 \t"), (201,), keeps_connection=True),
    "of a GET": MalformedRequest(GET + HOST + b"Content-Length: 184\r\n\r\n" + SMUGGLED, (200,)),
    "too short": MalformedRequest(_length(b"32") + SMUGGLED, (400, 400)),
}

CODINGS: dict[str, MalformedRequest] = {
    "chunked": MalformedRequest(_coding(b"chunked"), (201,), keeps_connection=True),
    "in mixed case": MalformedRequest(_coding(b"cHuNkEd"), (201,), keeps_connection=True),
    "twice in a list": MalformedRequest(_coding(b"chunked, chunked")),
    "twice": MalformedRequest(POST + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n" + CHUNKED_BODY),
    "identity": MalformedRequest(_coding(b"identity")),
    "identity behind": MalformedRequest(_coding(b"chunked, identity")),
    "identity before": MalformedRequest(POST + b"Transfer-Encoding: identity\r\n" + CHUNKED + CHUNKED_BODY),
    "identity in another header": MalformedRequest(
        POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"
    ),
    "gzip": MalformedRequest(_coding(b"gzip")),
    "gzip before": MalformedRequest(_coding(b"gzip, chunked")),
    "xchunked": MalformedRequest(_coding(b"xchunked")),
    "quoted": MalformedRequest(_coding(b'"chunked"')),
    "comma before": MalformedRequest(_coding(b",chunked")),
    "with a parameter": MalformedRequest(_coding(b"chunked;q=1")),
    "vertical tab before": MalformedRequest(_coding(b"\x0bchunked")),
    "empty": MalformedRequest(_coding(b"")),
    "of HTTP/1.0": MalformedRequest(POST.replace(b"HTTP/1.1", b"HTTP/1.0") + CHUNKED + CHUNKED_BODY),
    "of a GET": MalformedRequest(GET + HOST + CHUNKED + b"0\r\n\r\n" + SMUGGLED, (200,)),
}

CHUNKS: dict[str, MalformedRequest] = {
    "no number": MalformedRequest(_chunks(b"zz\r\n" + BODY + b"\r\n0\r\n\r\n")),
    "negative": MalformedRequest(_chunks(b"-1\r\n" + BODY + b"\r\n0\r\n\r\n")),
    "with a plus": MalformedRequest(_chunks(b"+" + CHUNKED_BODY)),
    "0x": MalformedRequest(_chunks(b"0x" + CHUNKED_BODY)),
    "beyond 64 bits": MalformedRequest(_chunks(b"f" * 17 + b"\r\n" + BODY)),
    "empty size": MalformedRequest(_chunks(b"\r\n" + BODY + b"\r\n0\r\n\r\n")),
    "space behind the size": MalformedRequest(_chunks(SIZE + b" \r\n" + BODY + b"\r\n0\r\n\r\n")),
    "zeros before the size": MalformedRequest(_chunks(b"0" * 40 + CHUNKED_BODY), (201,), keeps_connection=True),
    "no line end behind": MalformedRequest(_chunks(SIZE + b"\r\n" + BODY + b"0\r\n\r\n")),
    "longer than said": MalformedRequest(_chunks(SIZE + b"\r\n" + BODY + b"xx\r\n0\r\n\r\n")),
    "shorter than said": MalformedRequest(_chunks(b"22\r\n" + BODY + b"\r\n0\r\n\r\n" + SMUGGLED)),
    "bare LF": MalformedRequest(_chunks(SIZE + b"\n" + BODY + b"\n0\n\n")),
    "bare LF behind": MalformedRequest(_chunks(SIZE + b"\r\n" + BODY + b"\n0\r\n\r\n")),
    "extensions": MalformedRequest(
        _chunks(SIZE + b';a=b;c="d"\r\n' + BODY + b"\r\n0\r\n\r\n"), (201,), keeps_connection=True
    ),
    "LF in an extension": MalformedRequest(_chunks(SIZE + b";a\nb\r\n" + BODY + b"\r\n0\r\n\r\n")),
    "CR in an extension": MalformedRequest(_chunks(SIZE + b";a\rb\r\n" + BODY + b"\r\n0\r\n\r\n")),
    "NUL in an extension": MalformedRequest(_chunks(SIZE + b";a\x00b\r\n" + BODY + b"\r\n0\r\n\r\n")),
    "trailer": MalformedRequest(_chunks(CHUNKED_BODY[:-2] + b"X: y\r\n\r\n"), (201,), keeps_connection=True),
    "trailer that would be a header": MalformedRequest(
        _chunks(CHUNKED_BODY[:-2] + b"X-Dedup: no\r\n\r\n"), (201,), keeps_connection=True
    ),
    "trailer with a length": MalformedRequest(_chunks(CHUNKED_BODY[:-2] + b"Content-Length: 5\r\n\r\nhello")),
    "trailer with a coding": MalformedRequest(_chunks(CHUNKED_BODY[:-2] + b"Transfer-Encoding: chunked\r\n\r\n")),
    "trailer without a colon": MalformedRequest(_chunks(CHUNKED_BODY[:-2] + b"X y\r\n\r\n")),
    "one byte at a time": MalformedRequest(
        _chunks(b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n"), (201,), keeps_connection=True
    ),
}

_UPGRADE = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"

UPGRADES: dict[str, MalformedRequest] = {
    "h2c": MalformedRequest(
        _get(b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n"), (200,), True
    ),
    "websocket": MalformedRequest(
        _get(b"Connection: Upgrade\r\nUpgrade: websocket\r\n"), (200,), keeps_connection=True
    ),
    "with a request behind": MalformedRequest(_get(_UPGRADE) + HEALTH, (200, 200), keeps_connection=True),
    "with two behind": MalformedRequest(_get(_UPGRADE) * 2 + HEALTH, (200, 200, 200), keeps_connection=True),
    "with a body": MalformedRequest(POST + _UPGRADE + b"Content-Length: 33\r\n\r\n" + BODY),
    "with a body that is a request": MalformedRequest(POST + _UPGRADE + b"Content-Length: 184\r\n\r\n" + SMUGGLED),
    "with chunks": MalformedRequest(POST + _UPGRADE + CHUNKED + CHUNKED_BODY),
}

PIPELINES: dict[str, MalformedRequest] = {
    "two": MalformedRequest(HEALTH * 2, (200, 200), keeps_connection=True),
    "seventeen": MalformedRequest(HEALTH * 17, (200,) * 17, keeps_connection=True),
    "behind a body": MalformedRequest(
        POST + b"Content-Length: 33\r\n\r\n" + BODY + HEALTH, (201, 200), keeps_connection=True
    ),
    "junk behind": MalformedRequest(HEALTH + b"GARBAGE\r\n\r\n" + SMUGGLED, (200, 400)),
    "junk in the middle": MalformedRequest(HEALTH * 3 + b"GARBAGE\r\n\r\n" + SMUGGLED, (200, 200, 200, 400)),
    "no Host behind": MalformedRequest(HEALTH + GET + b"\r\n" + SMUGGLED, (200, 400)),
    "a torn body behind": MalformedRequest(HEALTH + _chunks(b"zz\r\n" + SMUGGLED), (200, 400)),
    "behind the last": MalformedRequest(_get(b"Connection: close\r\n") + SMUGGLED, (200,)),
    "behind a refusal": MalformedRequest(GET + b"\r\n" + SMUGGLED),
    "behind an unread body": MalformedRequest(_length(b"33").replace(AUTH, b"") + SMUGGLED, (401,)),
    "expecting": MalformedRequest(
        POST + b"Expect: 100-continue\r\nContent-Length: 33\r\n\r\n" + BODY, (100, 201), keeps_connection=True
    ),
    "expecting something else": MalformedRequest(
        POST + b"Expect: x\r\nContent-Length: 33\r\n\r\n" + BODY, (201,), keeps_connection=True
    ),
}

TABLES = {
    "line": LINES,
    "target": TARGETS,
    "header": HEADERS,
    "length": LENGTHS,
    "coding": CODINGS,
    "chunk": CHUNKS,
    "upgrade": UPGRADES,
    "pipeline": PIPELINES,
}
CASES: dict[str, MalformedRequest] = {
    f"{kind}: {name}": case for kind, table in TABLES.items() for name, case in table.items()
}
