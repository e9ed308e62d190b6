"""Every answer about an asset has the whole set, and no value of it leaves its line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from tests.protocol.media.test_media_type import DOCX, SCRIPTS
from weftwork.protocol.media import asset_headers as module
from weftwork.protocol.media.asset_headers import ERROR_HEADERS, MAX_AGE, SECURITY_HEADERS, asset_headers

SHA256 = "ab" * 32


@pytest.mark.rule("media-13")
def test_the_set() -> None:
    assert asset_headers("image/png", "a.png", SHA256, 60) == [
        (b"content-type", b"image/png"),
        (b"content-disposition", b'inline; filename="a.png"'),
        (b"x-content-type-options", b"nosniff"),
        (b"content-security-policy", b"default-src 'none'; sandbox"),
        (b"cross-origin-resource-policy", b"same-site"),
        (b"referrer-policy", b"no-referrer"),
        (b"cache-control", b"private, max-age=60, immutable"),
        (b"accept-ranges", b"bytes"),
        (b"etag", b'"' + SHA256.encode() + b'"'),
    ]
    assert dict(asset_headers("image/png", "", SHA256, reach="cross-origin"))[b"cross-origin-resource-policy"] == (
        b"cross-origin"
    )
    assert dict(ERROR_HEADERS) == {**dict(SECURITY_HEADERS), b"cache-control": b"no-store"}


@pytest.mark.rule("media-13")
@settings(max_examples=example_count(400), deadline=None)
@given(
    st.text(st.characters(), max_size=60) | st.sampled_from(SCRIPTS),
    st.text(st.characters(), max_size=60),
    st.integers(),
)
def test_no_value_leaves_its_line(media_type: str, name: str, max_age: int) -> None:
    found = asset_headers(media_type, name, SHA256, max_age)
    assert len(dict(found)) == len(found)
    assert set(SECURITY_HEADERS) <= set(found)
    for key, value in found:
        assert key == key.lower()
        assert value.isascii()
        assert value.decode().isprintable()
    kept = int(dict(found)[b"cache-control"].split(b"=")[1].split(b",")[0])
    assert 0 <= kept <= MAX_AGE


@pytest.mark.rule("media-13")
@pytest.mark.parametrize("media_type", SCRIPTS)
def test_no_script_is_served_as_one(media_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last guard: a page of somebody else may ask for it as a script or a style."""
    assert served(media_type) in ("text/plain", "text/html")
    monkeypatch.setattr(module, "is_harmless", lambda name: True)
    assert served(media_type) != "text/plain"


def served(media_type: str) -> str:
    found = dict(asset_headers(media_type, "", SHA256))
    assert found[b"content-disposition"] == b"attachment"
    return found[b"content-type"].decode()


@pytest.mark.rule("media-13")
@pytest.mark.parametrize("media_type", ["text/html", "image/svg+xml", "application/pdf", "text/csv", DOCX])
def test_what_may_run_is_saved(media_type: str) -> None:
    assert served(media_type) == media_type
