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
WHOLE = SIZE + b"\r\n" + BODY + b"\r\n0\r\n\r\n"


class Case(NamedTuple):
    """What is sent, and the statuses that come back. `stays`: the connection is in step and can be used again."""

    send: bytes
    statuses: tuple[int, ...] = (400,)
    stays: bool = False


def _line(line: bytes) -> bytes:
    return line + b"\r\n" + HOST + b"\r\n"


def _get(headers: bytes) -> bytes:
    return GET + HOST + headers + b"\r\n"


def _length(value: bytes) -> bytes:
    return POST + b"Content-Length: " + value + b"\r\n\r\n" + BODY


def _coding(value: bytes) -> bytes:
    return POST + b"Transfer-Encoding: " + value + b"\r\n\r\n" + WHOLE


def _chunks(body: bytes) -> bytes:
    return POST + CHUNKED + body


LINES: dict[str, Case] = {
    "no HTTP at all": Case(b"HELLO\r\n\r\n"),
    "TLS": Case(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100)),
    "HTTP/2 preface": Case(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "HTTP/0.9": Case(b"GET /health\r\n\r\n"),
    "HTTP/0.9 by name": Case(_line(b"GET /health HTTP/0.9")),
    "HTTP/1.2": Case(_line(b"GET /health HTTP/1.2")),
    "HTTP/2.0": Case(_line(b"GET /health HTTP/2.0")),
    "HTTP/3.0": Case(_line(b"GET /health HTTP/3.0")),
    "HTTP/1.10": Case(_line(b"GET /health HTTP/1.10")),
    "HTTP/11": Case(_line(b"GET /health HTTP/11")),
    "http/1.1": Case(_line(b"GET /health http/1.1")),
    "another protocol": Case(_line(b"GET /health ICE/1.0")),
    "lower case method": Case(_line(b"get /health HTTP/1.1")),
    "unknown method": Case(_line(b"FETCH /health HTTP/1.1")),
    "endless method": Case(b"G" * 9000),
    "tabs for spaces": Case(_line(b"GET\t/health\tHTTP/1.1")),
    "space at the end": Case(_line(b"GET /health HTTP/1.1 ")),
    "space at the start": Case(b" " + HEALTH),
    "three spaces": Case(_line(b"GET /hea lth HTTP/1.1")),
    "line ends before": Case(b"\r\n\r\n" + HEALTH, (200,), stays=True),
    "HTTP/1.0": Case(b"GET /health HTTP/1.0\r\n\r\n", (200,)),
    "HTTP/1.0 that would stay": Case(b"GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + SMUGGLED, (200,)),
}

TARGETS: dict[str, Case] = {
    "absolute": Case(_line(b"GET http://elsewhere/health HTTP/1.1")),
    "absolute with our name": Case(_line(b"GET http://x/health HTTP/1.1")),
    "absolute https": Case(_line(b"GET https://x/health HTTP/1.1")),
    "a file": Case(_line(b"GET file:///health HTTP/1.1")),
    "authority": Case(_line(b"GET x:80 HTTP/1.1")),
    "CONNECT": Case(_line(b"CONNECT x:443 HTTP/1.1") + SMUGGLED),
    "CONNECT to a path": Case(_line(b"CONNECT /health HTTP/1.1"), (405,), stays=True),
    "TRACE": Case(_line(b"TRACE /health HTTP/1.1"), (405,), stays=True),
    "OPTIONS *": Case(_line(b"OPTIONS * HTTP/1.1"), (404,), stays=True),
    "GET *": Case(_line(b"GET * HTTP/1.1"), (404,), stays=True),
    "fragment": Case(_line(b"GET /health#x HTTP/1.1")),
    "query alone": Case(_line(b"GET ?x HTTP/1.1")),
    "no slash": Case(_line(b"GET health HTTP/1.1")),
    "two slashes": Case(_line(b"GET //x/health HTTP/1.1"), (404,), stays=True),
    "dots": Case(_line(b"GET /v1/../health HTTP/1.1"), (401,), stays=True),
    "NUL": Case(_line(b"GET /hea\x00lth HTTP/1.1")),
    "control byte": Case(_line(b"GET /hea\x01lth HTTP/1.1")),
    "DEL": Case(_line(b"GET /hea\x7flth HTTP/1.1")),
    "tab": Case(_line(b"GET /hea\tlth HTTP/1.1")),
    "no ASCII": Case(_line(b"GET /hea\xfflth HTTP/1.1")),
    "no ASCII in the query": Case(_line(b"GET /health?\xff HTTP/1.1")),
    "line end inside": Case(_line(b"GET /hea\nlth HTTP/1.1")),
}

HEADERS: dict[str, Case] = {
    "no Host": Case(GET + b"\r\n"),
    "two Hosts": Case(GET + HOST + HOST + b"\r\n", (400,), stays=True),
    "two different Hosts": Case(GET + HOST + b"Host: y\r\n\r\n", (400,), stays=True),
    "folded": Case(_get(b"X: a\r\n b\r\n")),
    "folded with a tab": Case(_get(b"X: a\r\n\tb\r\n")),
    "folded first": Case(GET + b" X: a\r\n" + HOST + b"\r\n"),
    "bare LF everywhere": Case(b"GET /health HTTP/1.1\nHost: x\n\n"),
    "bare LF behind a value": Case(_get(b"X: a\nContent-Length: 5\r\n")),
    "bare LF at the end": Case(GET + HOST + b"X: a\r\n\n"),
    "bare CR in a value": Case(_get(b"X: a\rY: b\r\n")),
    "bare CR everywhere": Case(b"GET /health HTTP/1.1\rHost: x\r\r"),
    "NUL in a value": Case(_get(b"X: a\x00b\r\n")),
    "control byte in a value": Case(_get(b"X: a\x01b\r\n")),
    "escape in a value": Case(_get(b"X: a\x1bb\r\n")),
    "DEL in a value": Case(_get(b"X: a\x7fb\r\n")),
    "no ASCII in a value": Case(_get(b"X: a\xffb\r\n"), (200,), stays=True),
    "NUL in a name": Case(_get(b"X\x00: a\r\n")),
    "control byte in a name": Case(_get(b"X\x01: a\r\n")),
    "no ASCII in a name": Case(_get(b"X\xc3\xa9: a\r\n")),
    "space in a name": Case(_get(b"X y: a\r\n")),
    "space before the colon": Case(_get(b"X : a\r\n")),
    "tab before the colon": Case(_get(b"X\t: a\r\n")),
    "bracket in a name": Case(_get(b"X(: a\r\n")),
    "no name": Case(_get(b": a\r\n")),
    "no colon": Case(_get(b"abc\r\n")),
    "length with a space before its colon": Case(POST + b"Content-Length : 33\r\n\r\n" + BODY),
    "101 headers": Case(GET + HOST + b"X: a\r\n" * 100 + b"\r\n"),
    "100 headers": Case(GET + HOST + b"X: a\r\n" * 99 + b"\r\n", (200,), stays=True),
}

LENGTHS: dict[str, Case] = {
    "and a coding": Case(POST + b"Content-Length: 5\r\n" + CHUNKED + b"0\r\n\r\n" + SMUGGLED),
    "behind a coding": Case(POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + SMUGGLED),
    "twice": Case(POST + b"Content-Length: 33\r\n" * 2 + b"\r\n" + BODY),
    "two of them": Case(POST + b"Content-Length: 33\r\nContent-Length: 0\r\n\r\n" + BODY + SMUGGLED),
    "as a list": Case(_length(b"33, 33")),
    "with a plus": Case(_length(b"+33")),
    "negative": Case(_length(b"-33")),
    "hexadecimal": Case(_length(b"0x21")),
    "a fraction": Case(_length(b"33.0")),
    "with a space": Case(_length(b"3 3")),
    "underscored": Case(_length(b"3_3")),
    "of other digits": Case(_length(b"\xef\xbc\x93\xef\xbc\x93")),
    "empty": Case(_length(b"")),
    "beyond 64 bits": Case(_length(b"99999999999999999999999")),
    "the largest": Case(_length(b"18446744073709551615"), (413,)),
    "with zeros": Case(_length(b"0000000033"), (201,), stays=True),
    "with spaces around": Case(_length(b" 33 \t"), (201,), stays=True),
    "of a GET": Case(GET + HOST + b"Content-Length: 184\r\n\r\n" + SMUGGLED, (200,)),
    "too short": Case(_length(b"32") + SMUGGLED, (400, 400)),
}

CODINGS: dict[str, Case] = {
    "chunked": Case(_coding(b"chunked"), (201,), stays=True),
    "in mixed case": Case(_coding(b"cHuNkEd"), (201,), stays=True),
    "twice in a list": Case(_coding(b"chunked, chunked")),
    "twice": Case(POST + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n" + WHOLE),
    "identity": Case(_coding(b"identity")),
    "identity behind": Case(_coding(b"chunked, identity")),
    "identity before": Case(POST + b"Transfer-Encoding: identity\r\n" + CHUNKED + WHOLE),
    "identity in another header": Case(POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"),
    "gzip": Case(_coding(b"gzip")),
    "gzip before": Case(_coding(b"gzip, chunked")),
    "xchunked": Case(_coding(b"xchunked")),
    "quoted": Case(_coding(b'"chunked"')),
    "comma before": Case(_coding(b",chunked")),
    "with a parameter": Case(_coding(b"chunked;q=1")),
    "vertical tab before": Case(_coding(b"\x0bchunked")),
    "empty": Case(_coding(b"")),
    "of HTTP/1.0": Case(POST.replace(b"HTTP/1.1", b"HTTP/1.0") + CHUNKED + WHOLE),
    "of a GET": Case(GET + HOST + CHUNKED + b"0\r\n\r\n" + SMUGGLED, (200,)),
}

CHUNKS: dict[str, Case] = {
    "no number": Case(_chunks(b"zz\r\n" + BODY + b"\r\n0\r\n\r\n")),
    "negative": Case(_chunks(b"-1\r\n" + BODY + b"\r\n0\r\n\r\n")),
    "with a plus": Case(_chunks(b"+" + WHOLE)),
    "0x": Case(_chunks(b"0x" + WHOLE)),
    "beyond 64 bits": Case(_chunks(b"f" * 17 + b"\r\n" + BODY)),
    "empty size": Case(_chunks(b"\r\n" + BODY + b"\r\n0\r\n\r\n")),
    "space behind the size": Case(_chunks(SIZE + b" \r\n" + BODY + b"\r\n0\r\n\r\n")),
    "zeros before the size": Case(_chunks(b"0" * 40 + WHOLE), (201,), stays=True),
    "no line end behind": Case(_chunks(SIZE + b"\r\n" + BODY + b"0\r\n\r\n")),
    "longer than said": Case(_chunks(SIZE + b"\r\n" + BODY + b"xx\r\n0\r\n\r\n")),
    "shorter than said": Case(_chunks(b"22\r\n" + BODY + b"\r\n0\r\n\r\n" + SMUGGLED)),
    "bare LF": Case(_chunks(SIZE + b"\n" + BODY + b"\n0\n\n")),
    "bare LF behind": Case(_chunks(SIZE + b"\r\n" + BODY + b"\n0\r\n\r\n")),
    "extensions": Case(_chunks(SIZE + b';a=b;c="d"\r\n' + BODY + b"\r\n0\r\n\r\n"), (201,), stays=True),
    "LF in an extension": Case(_chunks(SIZE + b";a\nb\r\n" + BODY + b"\r\n0\r\n\r\n")),
    "CR in an extension": Case(_chunks(SIZE + b";a\rb\r\n" + BODY + b"\r\n0\r\n\r\n")),
    "NUL in an extension": Case(_chunks(SIZE + b";a\x00b\r\n" + BODY + b"\r\n0\r\n\r\n")),
    "trailer": Case(_chunks(WHOLE[:-2] + b"X: y\r\n\r\n"), (201,), stays=True),
    "trailer that would be a header": Case(_chunks(WHOLE[:-2] + b"X-Dedup: no\r\n\r\n"), (201,), stays=True),
    "trailer with a length": Case(_chunks(WHOLE[:-2] + b"Content-Length: 5\r\n\r\nhello")),
    "trailer with a coding": Case(_chunks(WHOLE[:-2] + b"Transfer-Encoding: chunked\r\n\r\n")),
    "trailer without a colon": Case(_chunks(WHOLE[:-2] + b"X y\r\n\r\n")),
    "one byte at a time": Case(
        _chunks(b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n"), (201,), stays=True
    ),
}

_UPGRADE = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"

UPGRADES: dict[str, Case] = {
    "h2c": Case(_get(b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n"), (200,), True),
    "websocket": Case(_get(b"Connection: Upgrade\r\nUpgrade: websocket\r\n"), (200,), stays=True),
    "with a request behind": Case(_get(_UPGRADE) + HEALTH, (200, 200), stays=True),
    "with two behind": Case(_get(_UPGRADE) * 2 + HEALTH, (200, 200, 200), stays=True),
    "with a body": Case(POST + _UPGRADE + b"Content-Length: 33\r\n\r\n" + BODY),
    "with a body that is a request": Case(POST + _UPGRADE + b"Content-Length: 184\r\n\r\n" + SMUGGLED),
    "with chunks": Case(POST + _UPGRADE + CHUNKED + WHOLE),
}

PIPELINES: dict[str, Case] = {
    "two": Case(HEALTH * 2, (200, 200), stays=True),
    "seventeen": Case(HEALTH * 17, (200,) * 17, stays=True),
    "behind a body": Case(POST + b"Content-Length: 33\r\n\r\n" + BODY + HEALTH, (201, 200), stays=True),
    "junk behind": Case(HEALTH + b"GARBAGE\r\n\r\n" + SMUGGLED, (200, 400)),
    "junk in the middle": Case(HEALTH * 3 + b"GARBAGE\r\n\r\n" + SMUGGLED, (200, 200, 200, 400)),
    "no Host behind": Case(HEALTH + GET + b"\r\n" + SMUGGLED, (200, 400)),
    "a torn body behind": Case(HEALTH + _chunks(b"zz\r\n" + SMUGGLED), (200, 400)),
    "behind the last": Case(_get(b"Connection: close\r\n") + SMUGGLED, (200,)),
    "behind a refusal": Case(GET + b"\r\n" + SMUGGLED),
    "behind an unread body": Case(_length(b"33").replace(AUTH, b"") + SMUGGLED, (401,)),
    "expecting": Case(POST + b"Expect: 100-continue\r\nContent-Length: 33\r\n\r\n" + BODY, (100, 201), stays=True),
    "expecting something else": Case(POST + b"Expect: x\r\nContent-Length: 33\r\n\r\n" + BODY, (201,), stays=True),
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
CASES: dict[str, Case] = {f"{kind}: {name}": case for kind, table in TABLES.items() for name, case in table.items()}
