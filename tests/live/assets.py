"""Assets of a real host: bytes that go in and the URLs that come back."""

import hashlib
from typing import Any

from tests.live.host import KEY, Answer, Host

UPLOADS = "/v1/host/weftwork/assets"
SAMPLES = "/v1/host/sample/assets"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
"""Looks like a picture, and is none."""
GUARDS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "same-site",
    "referrer-policy": "no-referrer",
}
"""What every answer has where assets are served."""
NO_TOKEN = f"{UPLOADS}/v1.k.AAAA.{'A' * 43}"


def post_asset(host: Host, data: bytes, query: str = "", key: str | None = KEY, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return host.call("POST", UPLOADS + query, body=data, key=key, headers=named)


def upload_asset(host: Host, data: bytes, query: str = "", key: str = KEY, **headers: str) -> dict[str, Any]:
    answer = post_asset(host, data, query, key, **headers)
    assert answer.status == 201, answer.body
    assert answer.document["sha256"] == hashlib.sha256(data).hexdigest()
    return answer.document


def path_of(url: str) -> str:
    """The part of a URL that stands behind the host."""
    assert url.startswith("http"), url
    return "/" + url.split("/", 3)[3]


def fetch(host: Host, url: str, method: str = "GET", **headers: str) -> Answer:
    """By whoever has the URL, without a key."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return host.call(method, path_of(url) if url.startswith("http") else url, key=None, headers=named)


def list_assets(host: Host, query: str = "", key: str = KEY) -> dict[str, Any]:
    answer = host.call("GET", UPLOADS + query, key=key)
    assert answer.status == 200, answer.body
    return answer.document
