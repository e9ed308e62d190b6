"""Uploads that are not what they seem: forms around the bytes, and bytes that the host only believes to have."""

import asyncio
import hashlib
import os
from pathlib import Path

import pytest

from tests.live import Host, open_in_process
from tests.live.assets import UPLOADS, fetch, post_asset, upload_asset
from weftwork.adapters.http.routes import assets


def files(host: Host, data: bytes) -> list[Path]:
    """Where the host has these bytes, of anybody."""
    return list((host.data / "assets").rglob(f"{hashlib.sha256(data).hexdigest()}-*"))


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


def test_without_a_look_at_its_type_a_form_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async def status() -> int:
        async with open_in_process() as inside:
            form = {"content-type": "multipart/form-data; boundary=x"}
            return (await inside.call("POST", UPLOADS, {"a": 1}, headers=form)).status

    assert asyncio.run(status()) == 415
    monkeypatch.setattr(assets, "_content_type", lambda request: "")
    assert asyncio.run(status()) == 201


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
