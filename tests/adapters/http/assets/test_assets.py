"""Assets over HTTP: all of them or a part, with every header that keeps browsers from running them."""

import hashlib
import json
import re
import time

import pytest

from tests.harness.cases import each_case
from tests.live import Answer, Host
from tests.live.assets import GUARDS, NO_TOKEN, PNG, SAMPLES, UPLOADS, fetch, list_assets, path_of, upload_asset
from tests.live.tokens import comparable
from weftwork.protocol.json import schema

DATA = PNG + hashlib.sha256(b"more").digest() * 3_000
SIZE = len(DATA)
TAG = f'"{hashlib.sha256(DATA).hexdigest()}"'


@pytest.fixture(scope="module")
def url(host: Host) -> str:
    return upload_asset(host, DATA, "?name=photo.png", Content_Type="image/png")["url"]


def guarded(answer: Answer) -> None:
    """Every answer where assets are served has these, and no cookie."""
    assert {name: answer.headers.get(name) for name in GUARDS} == GUARDS
    assert "set-cookie" not in answer.headers
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-01", answer.headers["traceparent"])


def described(answer: Answer) -> None:
    """What an answer says of the asset, whatever part of it follows."""
    guarded(answer)
    assert answer.headers["etag"] == TAG
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-disposition"] == 'inline; filename="photo.png"'
    assert answer.headers["cache-control"] == "private, max-age=86400, immutable"


@pytest.mark.rule("media-30", "media-32")
def test_whoever_has_the_url_has_the_bytes(host: Host, url: str) -> None:
    assert url.startswith(f"{host.address}{UPLOADS}/v1.")
    for path in (url, path_of(url).replace(UPLOADS, SAMPLES)):
        answer = fetch(host, path)
        assert (answer.status, answer.body) == (200, DATA)
        described(answer)
        assert answer.headers["content-length"] == str(SIZE)
        assert "content-range" not in answer.headers
        assert "transfer-encoding" not in answer.headers


@pytest.mark.rule("media-30", "media-32")
def test_a_head_has_no_body_and_no_range(host: Host, url: str) -> None:
    for more in ({}, {"Range": "bytes=1-2"}, {"Range": f"bytes={SIZE}-"}):
        answer = fetch(host, url, "HEAD", **more)
        assert (answer.status, answer.body, answer.headers["content-length"]) == (200, b"", str(SIZE))
        described(answer)
    again = fetch(host, url, "HEAD", If_None_Match=TAG)
    assert (again.status, again.body) == (304, b"")


WANTED: dict[str, tuple[int, int]] = {
    "bytes=0-0": (0, 1),
    "bytes=0-": (0, SIZE),
    "bytes=1-9": (1, 10),
    f"bytes={SIZE - 1}-": (SIZE - 1, SIZE),
    f"bytes={SIZE - 1}-{SIZE - 1}": (SIZE - 1, SIZE),
    f"bytes=5-{SIZE + 100}": (5, SIZE),
    f"bytes=5-{'9' * 50}": (5, SIZE),
    "bytes=-1": (SIZE - 1, SIZE),
    f"bytes=-{SIZE}": (0, SIZE),
    f"bytes=-{SIZE + 1}": (0, SIZE),
    "BYTES=2-3": (2, 4),
}
BEYOND = (f"bytes={SIZE}-", f"bytes={SIZE}-{SIZE + 1}", f"bytes={'9' * 50}-", "bytes=-0")
UNREAD = ("", *"bytes= bytes=- bytes=1-0 bytes=a-b bytes=0-1,3-4 items=0-1 0-1 bytes=0x1-2 bytes=1--2".split())


@pytest.mark.rule("media-30", "media-32")
@each_case("asked", *WANTED)
def test_a_range_is_a_part(host: Host, url: str, asked: str) -> None:
    start, stop = WANTED[asked]
    answer = fetch(host, url, Range=asked)
    assert (answer.status, answer.body) == (206, DATA[start:stop])
    assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/{SIZE}"
    assert answer.headers["content-length"] == str(stop - start)
    described(answer)


@pytest.mark.rule("media-30", "media-32")
@each_case("asked", *BEYOND)
def test_a_range_behind_the_end_is_told_the_size(host: Host, url: str, asked: str) -> None:
    answer = fetch(host, url, Range=asked)
    assert (answer.status, answer.body) == (416, b"")
    assert answer.headers["content-range"] == f"bytes */{SIZE}"
    assert (answer.headers["etag"], answer.headers["cache-control"]) == (TAG, "no-store")
    assert answer.headers["accept-ranges"] == "bytes"
    guarded(answer)


@pytest.mark.rule("media-30")
@each_case("asked", *UNREAD)
def test_what_is_no_single_range_gets_all(host: Host, url: str, asked: str) -> None:
    answer = fetch(host, url, Range=asked)
    assert (answer.status, answer.body) == (200, DATA)
    described(answer)


@pytest.mark.rule("media-30", "media-32")
@each_case("tags", TAG, "*", f"W/{TAG}", f'"other", {TAG}', f'{TAG}, "other"')
def test_who_has_it_already_is_told_so_and_who_has_something_else_gets_it(host: Host, url: str, tags: str) -> None:
    for other in ('"other"', "", TAG.strip('"'), f'"x{TAG[1:]}', TAG.upper()):
        assert fetch(host, url, If_None_Match=other).body == DATA
    for more in ({}, {"Range": "bytes=0-1"}, {"Range": f"bytes={SIZE}-"}):
        answer = fetch(host, url, If_None_Match=tags, **more)
        assert (answer.status, answer.body) == (304, b"")
        assert "content-length" not in answer.headers
        described(answer)


@pytest.mark.rule("media-30")
def test_a_range_counts_only_for_the_same_bytes(host: Host, url: str) -> None:
    assert fetch(host, url, Range="bytes=0-1", If_Range=TAG).status == 206
    for other in ('"other"', f"W/{TAG}", "Thu, 01 Jan 2099 00:00:00 GMT", ""):
        answer = fetch(host, url, Range="bytes=0-1", If_Range=other)
        assert (answer.status, answer.body) == (200, DATA)
    assert fetch(host, url, Range=f"bytes={SIZE}-", If_Range='"other"').status == 200


@pytest.mark.rule("media-32")
def test_whatever_is_answered_there_is_guarded(host: Host, url: str) -> None:
    path = path_of(url)
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        answer = host.call(method, path)
        assert answer.status == 405
        assert answer.headers["allow"] == "GET, HEAD"
        guarded(answer)
    for other in (f"{path}/more", f"{UPLOADS}/", f"{path}%00", f"{UPLOADS}/..%2f..", f"{SAMPLES}/x"):
        answer = host.call("GET", other)
        assert answer.status == 404
        guarded(answer)


@pytest.mark.rule("media-32")
@each_case(
    "data, said, served, inline",
    (PNG, "image/png", "image/png", True),
    (PNG, "", "image/png", True),
    (PNG, "text/html", "application/octet-stream", False),
    (b"GIF89a" + b"\0" * 60 + b"<script>alert(1)</script>", "image/gif", "image/gif", True),
    (b"<!doctype html><script>alert(1)</script>", "image/png", "application/octet-stream", False),
    (b"<!doctype html><script>alert(1)</script>", "text/plain", "application/octet-stream", False),
    (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "image/svg+xml", "image/svg+xml", False),
    (b"%PDF-1.7\n%\xe2\xe3", "application/pdf", "application/pdf", False),
    (b"alert(1)", "text/javascript", "text/plain", False),
    (b"\x00\x01\x02\x03", "image/png", "application/octet-stream", False),
)
def test_only_what_cannot_run_is_shown_in_place(host: Host, data: bytes, said: str, served: str, inline: bool) -> None:
    made = upload_asset(host, data, **({"Content_Type": said} if said else {}))
    assert made["mimeType"] == served
    answer = fetch(host, made["url"])
    assert (answer.body, answer.headers["content-type"]) == (data, served)
    assert answer.headers["content-disposition"] == ("inline" if inline else "attachment")
    guarded(answer)


@pytest.mark.rule("media-32")
def test_a_copy_is_kept_no_longer_than_its_url_works(host: Host) -> None:
    body = {"contentBase64": "YWJj" + "ZGVm" * 3, "contentType": "text/plain", "ttlSeconds": 100}
    made = host.call("POST", "/v1/host/sample/media/put", body).document
    shown = list_assets(host, "?limit=1")["assets"][0]
    ages = [re.findall("max-age=([0-9]+)", fetch(host, it["url"]).headers["cache-control"]) for it in (made, shown)]
    ((short,), (read,)) = ages
    assert 0 < int(short) <= 100
    assert 1_700 < int(read) <= 1_800


@pytest.mark.rule("media-30", "media-32")
def test_all_that_is_no_url_of_ours_is_told_the_same(host: Host, url: str) -> None:
    """Changed in one bit, cut, longer, put together from two, percent-encoded, or of another kind."""
    token = url.rsplit("/", 1)[1]
    other = upload_asset(host, b"something else")["url"].rsplit("/", 1)[1]
    version, kid, payload, mark = token.split(".")
    changed = [
        token[:at] + chr(letter ^ (1 << bit)) + token[at + 1 :]
        for at, letter in enumerate(token.encode())
        for bit in range(7)
        if chr(letter ^ (1 << bit)).isprintable() and chr(letter ^ (1 << bit)) not in "/?# %"
    ]
    wrong = [*changed[:: 1 if len(token) < 400 else 2], token[:-1], token[1:], token + "A", token * 2, "x", "a:b:"]
    wrong += [f"{version}.{kid}.{payload}.{other.split('.')[3]}", f"{version}.nobody.{payload}.{mark}"]
    wrong += [f"v2.{kid}.{payload}.{mark}", f"{version}.{kid}.{payload}.{mark[:-1]}%41", "A" * 5_000, token.swapcase()]
    expected = comparable(fetch(host, NO_TOKEN))
    assert expected[0] == 404
    document = json.loads(expected[2])
    assert (document["error"], schema.check("error-envelope", document)) == ("not_found", [])
    assert len(wrong) > 800
    assert {text for text in wrong if comparable(fetch(host, f"{UPLOADS}/{text}")) != expected} == set()
    assert fetch(host, url).status == 200


@pytest.mark.rule("media-30")
def test_a_url_ends_with_its_time(host: Host) -> None:
    """Five seconds later than it says: clocks differ."""
    body = {"contentBase64": "c2hvcnQ=", "contentType": "text/plain", "ttlSeconds": 1}
    made = host.call("POST", "/v1/host/sample/media/put", body).document
    assert fetch(host, made["url"]).body == b"short"
    end = time.monotonic() + 20
    while fetch(host, made["url"]).status == 200:
        assert time.monotonic() < end
        time.sleep(0.2)
    assert comparable(fetch(host, made["url"])) == comparable(fetch(host, NO_TOKEN))
