"""The seam that keeps bytes for a while, as the conformance suite uses it."""

import base64
from typing import Any

import pytest

from tests.live import Answer, Host, open_in_process
from tests.live.assets import PNG, fetch
from weftwork.protocol.json import schema
from weftwork.protocol.timestamps import parse_iso


def refused(answer: Answer, status: int, code: str) -> dict[str, Any]:
    assert (answer.status, answer.document["error"]) == (status, code), answer.body
    assert schema.check("error-envelope", answer.document) == []
    return answer.document.get("details", {})


@pytest.mark.rule("media-38")
def test_the_seam_keeps_bytes_for_a_while(host: Host) -> None:
    body = {"contentBase64": base64.b64encode(PNG).decode(), "contentType": "image/png", "ttlSeconds": 60}
    answer = host.call("POST", "/v1/host/sample/media/put", body)
    assert answer.status == 201
    made = answer.document
    assert schema.check("media-put-response", made) == []
    assert made["url"] == f"{host.address}/v1/host/sample/assets/{made['token']}"
    served = fetch(host, made["url"])
    assert (served.status, served.body, served.headers["content-type"]) == (200, PNG, "image/png")
    again = host.call("POST", "/v1/host/sample/media/put", {**body, "ttlSeconds": 100.0}).document
    assert schema.check("media-put-response", again) == []
    assert parse_iso(again["expiresAt"]) is not None


@pytest.mark.rule("media-38")
@pytest.mark.parametrize(
    "body",
    [
        {"contentType": "image/png"},
        {"contentBase64": "", "contentType": "image/png"},
        {"contentBase64": "YWJ", "contentType": "image/png"},
        {"contentBase64": "YW J=", "contentType": "image/png"},
        {"contentBase64": "\u00e9\u00e9\u00e9\u00e9", "contentType": "image/png"},
        {"contentBase64": "YWJj"},
        {"contentBase64": "YWJj", "contentType": "image/png", "ttlSeconds": 0},
        {"contentBase64": 1, "contentType": "image/png"},
        [],
    ],
)
def test_the_seam_refuses_what_is_no_base64(host: Host, body: Any) -> None:
    refused(host.call("POST", "/v1/host/sample/media/put", body), 400, "validation_error")


@pytest.mark.rule("media-38")
async def test_the_seam_has_a_cap() -> None:
    async with open_in_process(test_seams=True, max_upload_bytes=3) as inside:
        small, large = ({"contentBase64": text, "contentType": "text/plain"} for text in ("YWJj", "YWJjZA=="))
        assert (await inside.call("POST", "/v1/host/sample/media/put", small)).status == 201
        answer = await inside.call("POST", "/v1/host/sample/media/put", large)
        assert refused(answer, 413, "payload_too_large") == {"limit": 3}
