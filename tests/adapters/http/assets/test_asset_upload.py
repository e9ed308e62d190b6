"""Uploads over HTTP: kept whole, checked and named, or not kept at all."""

import asyncio
import base64
import hashlib
import http.client
import os
import socket
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without
from tests.live import KEY, Answer, Host, in_thread, open_in_process, open_listening, until
from tests.live.assets import PNG, UPLOADS, fetch, list_assets, path_of, post_asset, upload_asset
from weftwork.adapters.http.message import Request
from weftwork.engine.api.assets import MAX_CONCURRENT_UPLOADS
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.json import schema
from weftwork.protocol.timestamps import parse_iso

CAP = 200_000
DAY = 86_400_000


def digest(data: bytes, name: str = "sha-256") -> str:
    return f"{name}=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"


def refused(answer: Answer, status: int, code: str) -> dict[str, Any]:
    assert (answer.status, answer.document["error"]) == (status, code), answer.body
    assert schema.check("error-envelope", answer.document) == []
    return answer.document.get("details", {})


def files(host: Host, data: bytes) -> list[Path]:
    """Where the host has these bytes, of anybody."""
    return list((host.data / "assets").rglob(f"{hashlib.sha256(data).hexdigest()}-*"))


@pytest.mark.rule("media-33")
def test_an_upload_is_told_what_became_of_it(host: Host) -> None:
    answer = post_asset(host, PNG, "?name=one.png&days=3", Content_Type="image/png")
    made = answer.document
    assert schema.check("asset-upload", made) == []
    assert answer.headers["location"] == made["url"]
    assert made["mediaRef"] == f"weftwork-asset:{hashlib.sha256(PNG).hexdigest()}"
    assert (made["bytes"], made["mimeType"], made["name"]) == (len(PNG), "image/png", "one.png")
    assert fetch(host, made["url"]).body == PNG
    assert len(files(host, PNG)) == 1
    data = os.urandom(1_000)
    first, last = upload_asset(host, data), upload_asset(host, data, "?days=3650")
    days = [round((parse_iso(each["expiresAt"]) or 0) / DAY) for each in (first, last)]
    assert days[1] - days[0] == 3650 - 7
    assert "name" not in first
    # The URL lasts for as long as was asked for; the asset stays as long as anybody wants it.
    short = upload_asset(host, data, "?days=1")
    assert days[0] - round((parse_iso(short["expiresAt"]) or 0) / DAY) == 7 - 1
    held = {each["mediaRef"]: each["heldUntil"] for each in list_assets(host)["assets"]}
    assert held[short["mediaRef"]] == last["expiresAt"]


@pytest.mark.rule("media-33")
def test_the_same_bytes_are_there_once_and_none_are_refused(host: Host) -> None:
    refused(post_asset(host, b""), 400, "validation_error")
    refused(host.call("POST", UPLOADS, headers={"Content-Length": "0"}), 400, "validation_error")
    data = os.urandom(5_000)
    made = [upload_asset(host, data, f"?name={name}")["mediaRef"] for name in "abc"]
    assert len(set(made)) == 1
    assert [each["mediaRef"] for each in list_assets(host)["assets"]].count(made[0]) == 1


@pytest.mark.rule("media-33")
@each_case("encoding", "gzip", "br", "identity, gzip", "aes128gcm")
def test_a_packed_body_is_refused(host: Host, encoding: str) -> None:
    data = os.urandom(100)
    refused(post_asset(host, data, Content_Encoding=encoding), 415, "unsupported_media_type")
    assert files(host, data) == []
    assert post_asset(host, data, Content_Encoding="Identity").status == 201


@pytest.mark.rule("media-34")
def test_bytes_that_are_as_promised_are_kept(host: Host) -> None:
    data = os.urandom(300_000)
    name = hashlib.sha256(data).hexdigest()
    assert post_asset(host, data, f"?sha256={name}", Content_Digest=digest(data)).status == 201
    other = f"sha-512=:{base64.b64encode(hashlib.sha512(data).digest()).decode()}:"
    for given in (digest(data), f"{other}, {digest(data)}", other):
        assert post_asset(host, data, Content_Digest=given).status == 201


@pytest.mark.rule("media-34")
@each_case("way", "query", "header", "one of two", "the other of two")
def test_bytes_that_are_not_are_not(host: Host, way: str) -> None:
    data = os.urandom(300_000)
    good, bad = hashlib.sha256(data).hexdigest(), hashlib.sha256(b"").hexdigest()
    query = {"query": bad, "one of two": bad, "the other of two": good}.get(way)
    header = {"header": digest(b""), "one of two": digest(data), "the other of two": digest(b"")}.get(way)
    headers = {"Content_Digest": header} if header else {}
    refused(post_asset(host, data, f"?sha256={query}" if query else "", **headers), 400, "validation_error")
    assert files(host, data) == []
    assert not any((host.data / "assets" / "partial").iterdir())


@pytest.mark.rule("media-34")
@each_case("given", "sha-256", "sha-256=", "sha-256=::", "sha-256=:AAAA:", "sha-256=:*:", "x,", "sha-256=abc")
def test_a_digest_that_is_none_is_refused(host: Host, given: str) -> None:
    details = refused(post_asset(host, b"x", Content_Digest=given), 400, "validation_error")
    assert details["parameter"] == "Content-Digest"


@each_case(
    "query, parameter",
    *(
        [("?sha256=", "sha256"), ("?sha256=" + "A" * 64, "sha256"), ("?sha256=" + "a" * 63, "sha256")]
        + [(f"?days={days}", "days") for days in ("0", "3651", "-1", "x", "1.5", "")]
    ),
)
def test_a_parameter_out_of_range_is_named(host: Host, query: str, parameter: str) -> None:
    assert refused(post_asset(host, b"x", query), 400, "validation_error")["parameter"] == parameter


NAMES: dict[str, str] = {
    "photo.png": "photo.png",
    "..%2F..%2Fetc%2Fpasswd": "_.._etc_passwd",
    "a%0D%0AX-Evil: 1": "a X-Evil_ 1",
    "a%22%3B filename=%22b.html": "a__ filename=_b.html",
    "a%00b": "ab",
    "invoice%E2%80%AEgnp.exe": "invoicegnp.exe",
    "%C3%A9t%C3%A9.png": "été.png",
}


@pytest.mark.rule("media-32", "media-33")
@each_case("given", *NAMES)
def test_a_name_is_made_harmless(host: Host, given: str) -> None:
    made = upload_asset(host, PNG, f"?name={given.replace(' ', '%20')}", Content_Type="image/png")
    assert made["name"] == NAMES[given]
    for nothing in ("", "%00", "...", "%2F", "%0A"):
        assert "name" not in upload_asset(host, PNG, f"?name={nothing}")
    with socket.create_connection(("127.0.0.1", host.port), 10) as raw:
        raw.sendall(f"HEAD {path_of(made['url'])} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        said = b""
        while chunk := raw.recv(65_536):
            said += chunk
    lines = said.split(b"\r\n")
    assert not any(line.lower().startswith(b"x-evil") for line in lines)
    (shown,) = [line for line in lines if line.startswith(b"content-disposition: ")]
    assert shown.isascii()
    assert shown.count(b'"') == 2
    assert b"\x00" not in shown


def post(port: int, *pieces: bytes, length: int | None = None) -> tuple[int, bytes]:
    """An upload in pieces, chunked unless its length is declared."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        headers = {"Authorization": f"Bearer {KEY}"}
        if length is not None:
            headers["Content-Length"] = str(length)
        with suppress(ConnectionError):
            # The host may refuse before it has read everything; its answer is there all the same.
            connection.request("POST", UPLOADS, iter(pieces), headers, encode_chunked=length is None)
        answer = connection.getresponse()
        return answer.status, answer.read()


async def with_cap(size: int, declared: bool, **settings: Any) -> tuple[int, int]:
    """The status of an upload of so many bytes, and how many assets there are then."""
    async with open_listening(max_upload_bytes=CAP, **settings) as served:
        data = b"x" * size
        pieces = [data[at : at + 65_536] for at in range(0, size, 65_536)]
        status, _ = await in_thread(lambda: post(served.port, *pieces, length=size if declared else None))
        return status, (await served.in_process.call("GET", UPLOADS)).document["usage"]["assets"]


@pytest.mark.rule("media-33")
@pytest.mark.parametrize("declared", [True, False], ids=["declared", "chunked"])
def test_an_upload_is_as_large_as_the_cap_at_most(declared: bool) -> None:
    for size in (CAP - 1, CAP):
        assert asyncio.run(with_cap(size, declared)) == (201, 1)
    for size in (CAP + 1, CAP * 3):
        assert asyncio.run(with_cap(size, declared)) == (413, 0)


@pytest.mark.rule("media-33")
def test_a_declared_length_over_the_cap_is_refused_unread(host: Host) -> None:
    with host.connect() as connection:
        lines = f"POST {UPLOADS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Length: {2**40}\r\n\r\n"
        connection.sendall(lines.encode())
        said = b""
        while chunk := connection.recv(65_536):
            said += chunk
    assert said.startswith(b"HTTP/1.1 413 ")
    assert b'"details":{"limit":26214400}' in said


@pytest.mark.rule("media-33")
def test_who_asks_first_is_told_whether_to_send(host: Host) -> None:
    """As curl does with large bodies."""
    start = f"POST {UPLOADS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nExpect: 100-continue\r\n"
    with host.connect() as connection:
        connection.sendall(f"{start}Content-Length: 3\r\n\r\n".encode())
        assert connection.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"abc")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 201 ")
    with host.connect() as connection:
        connection.sendall(f"{start}Content-Length: {2**40}\r\n\r\n".encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 413 ")


@pytest.mark.rule("media-33")
async def test_a_tenant_that_is_full_is_told_how_full() -> None:
    async with open_in_process(max_asset_bytes_per_tenant=1_000) as inside:
        sent: Any = {"text": "x" * 600}
        assert (await inside.call("POST", UPLOADS, sent)).status == 201
        answer = await inside.call("POST", UPLOADS, {"text": "y" * 600})
        assert refused(answer, 413, "payload_too_large") == {"quota": 1_000, "used": 612}
        usage = (await inside.call("GET", UPLOADS)).document["usage"]
        assert usage == {"assets": 1, "bytes": 612, "quota": 1_000, "quotaUsed": 612}
        # The same bytes take no more room.
        assert (await inside.call("POST", UPLOADS, sent)).status == 201
        assert (await inside.call("POST", UPLOADS, {"text": "y" * 600}, key="key-of-other")).status == 201


@pytest.mark.rule("media-33")
async def test_a_store_that_is_down_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*arguments: Any) -> Any:
        raise StoreUnavailable("away")

    async with open_in_process() as inside:
        made = (await inside.call("POST", UPLOADS, {"a": 1})).document
        monkeypatch.setattr(inside.host.blobs, "sink", away)
        monkeypatch.setattr(inside.host.blobs, "source", away)
        answer = await inside.call("POST", UPLOADS, {"a": 2})
        assert refused(answer, 503, "service_unavailable") == {"retryAfter": 1}
        answer = await inside.call("GET", path_of(made["url"]))
        assert refused(answer, 503, "service_unavailable") == {"retryAfter": 1}
        assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"


@pytest.mark.rule("media-33")
def test_a_tenant_has_so_many_uploads_under_way(host: Host) -> None:
    head = f"POST {UPLOADS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Length: 9\r\n\r\nabc".encode()
    waiting = [host.connect() for _ in range(MAX_CONCURRENT_UPLOADS)]
    try:
        for each in waiting:
            each.sendall(head)
        answer = until(lambda: answer if (answer := post_asset(host, b"one more")).status != 201 else None, "a refusal")
        assert refused(answer, 429, "rate_limited") == {"retryAfter": 1}
        assert post_asset(host, b"of somebody else", key="key-of-other").status == 201
        for each in waiting:
            each.sendall(b"defghi")
            assert each.recv(65_536).startswith(b"HTTP/1.1 201 ")
    finally:
        for each in waiting:
            each.close()
    assert post_asset(host, b"one more").status == 201


@pytest.mark.rule("media-33")
def test_a_form_is_refused(host: Host) -> None:
    """As `curl -F file=@x` sends it: the wrapping would be the asset."""
    data = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello\r\n--x--\r\n'
    for kind in ("multipart/form-data; boundary=x", "Multipart/Form-Data", "multipart/form-data"):
        answer = post_asset(host, data, Content_Type=kind)
        assert (answer.status, answer.document["error"]) == (415, "unsupported_media_type")
        assert "--data-binary @FILE" in answer.document["message"]
        assert files(host, data) == []
    assert post_asset(host, data, Content_Type="application/x-www-form-urlencoded").status == 201, (
        "curl says it unasked"
    )


@fails_without(Request, "check_encoding", lambda request: request.headers.pop(b"content-type", None), match="201")
async def test_a_form_is_known_by_its_type() -> None:
    async with open_in_process() as inside:
        form = {"content-type": "multipart/form-data; boundary=x"}
        assert (await inside.call("POST", UPLOADS, {"a": 1}, headers=form)).status == 415


@pytest.mark.rule("media-33")
def test_bytes_that_were_lost_are_back_when_they_are_sent_again(host: Host) -> None:
    data = os.urandom(700)
    made = upload_asset(host, data)
    (file,) = files(host, data)
    file.unlink()
    assert fetch(host, made["url"]).status == 503
    again = upload_asset(host, data)
    assert again["mediaRef"] == made["mediaRef"]
    assert fetch(host, made["url"]).body == fetch(host, again["url"]).body == data
    assert len(files(host, data)) == 1
