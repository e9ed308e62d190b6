"""The one reading of a URL: it agrees with other readers on the host, or refuses."""

from ipaddress import IPv6Address
from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.net import target as module
from weftwork.protocol.net.target import OutboundPolicy, OutboundRefused, RequestTarget, parse_target, resolve_reference

ANY = OutboundPolicy(private=True)


@pytest.mark.rule("out-02")
@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://example.com", RequestTarget("https", "example.com", 443, "/")),
        ("HTTPS://Example.COM:443/a/B?c=D#e", RequestTarget("https", "example.com", 443, "/a/B?c=D")),
        ("https://example.com.:8443?x", RequestTarget("https", "example.com", 8443, "/?x")),
        ("http://example.com", RequestTarget("http", "example.com", 80, "/")),
        ("https://[2606:4700::1111]:444/", RequestTarget("https", "2606:4700::1111", 444, "/")),
        ("https://[0:0:0:0:0:ffff:7f00:1]/", RequestTarget("https", "::ffff:7f00:1", 443, "/")),
        ("https://xn--bcher-kva.example/ä?ö", RequestTarget("https", "xn--bcher-kva.example", 443, "/%C3%A4?%C3%B6")),
        ("https://ｅｘａｍｐｌｅ。com/", RequestTarget("https", "example.com", 443, "/")),  # noqa: RUF001
        ("https://a_b.example-c.test/%2e%2E/x", RequestTarget("https", "a_b.example-c.test", 443, "/%2e%2E/x")),
        ("https://2130706433/", RequestTarget("https", "2130706433", 443, "/")),
        ("https://example.com/@x:y", RequestTarget("https", "example.com", 443, "/@x:y")),
        ("https://example.com#@x", RequestTarget("https", "example.com", 443, "/")),
    ],
)
def test_what_a_url_means(url: str, found: RequestTarget) -> None:
    assert parse_target(url, ANY) == found
    assert parse_target(found.url, ANY) == found


@pytest.mark.rule("out-02")
@pytest.mark.parametrize(
    ("policy", "urls"),
    [
        (OutboundPolicy(), ["http://example.com/", "https://example.com:80/", "https://example.com:8443/"]),
        (OutboundPolicy(frozenset({8443})), ["https://example.com/", "http://example.com:8443/"]),
        (OutboundPolicy(http=True), ["http://example.com:8080/", "https://example.com:80/", "http://x.local/"]),
        (ANY, ["ftp://example.com/", "https://metadata.google.internal/", "https://example.com:0/", "https://a@b/"]),
    ],
)
def test_what_the_operator_does_not_allow(policy: OutboundPolicy, urls: list[str]) -> None:
    for url in urls:
        with pytest.raises(OutboundRefused):
            parse_target(url, policy)


@pytest.mark.parametrize(
    ("policy", "urls"),
    [
        (OutboundPolicy(frozenset({443, 8443})), ["https://example.com/", "https://example.com:8443/"]),
        (OutboundPolicy(http=True), ["http://example.com/", "https://example.com/", "http://example.com:443/"]),
        (ANY, ["http://localhost:1/", "https://vault.internal:65535/", "http://printer.local/"]),
    ],
)
def test_what_the_operator_allows(policy: OutboundPolicy, urls: list[str]) -> None:
    for url in urls:
        parse_target(url, policy)


# fmt: off
PIECES = st.sampled_from([
    "http://", "https://", "HTTP://", "http:/", "//", "/", "\\", "@", ":", "?", "#", "%", "%40", "%2f", "[", "]", ".",
    "..", "a", "b.test", "example.com", "127.0.0.1", "::1", "[::1]", "80", "8080", "0", "-", "_", " ", "\t", "\n",
    "\u3002", "\uff0f", "\uff20", "\u2100", "\u00ad", "xn--", "é", "&", ";", "'", '"', "<", "|", "^", "~", "*", "+",
])
# fmt: on
URLS = st.lists(PIECES, min_size=1, max_size=8).map("".join).map("http://".__add__) | st.text(max_size=30)


@pytest.mark.rule("out-02")
@settings(max_examples=example_count(500), deadline=None)
@given(URLS)
def test_no_other_reader_finds_another_host(url: str) -> None:
    _agree(url)


def _agree(url: str) -> None:
    try:
        found = parse_target(url, ANY)
    except OutboundRefused:
        return
    assert found.host.isascii()
    assert found.path.startswith("/")
    assert not set(found.path) & set(" \t\r\n\\#")
    assert parse_target(found.url, ANY) == found
    other = urlsplit(found.url)
    assert (other.scheme, other.hostname, other.port or {"http": 80, "https": 443}[other.scheme]) == found.origin
    assert other.username is None
    if url.isascii():
        given_host = (urlsplit(url).hostname or "").removesuffix(".")
        assert (IPv6Address(given_host).compressed if ":" in given_host else given_host) == found.host


def test_a_reader_that_forgives_would_find_another_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the refusals are for: without them this reading and that of others part."""
    monkeypatch.setattr(module, "_parse_authority", lambda text, scheme: (text.partition(":")[0].partition("@")[0], 80))
    with pytest.raises(AssertionError):
        _agree("http://a.test@b.test/")


SEGMENTS = st.lists(st.sampled_from(["a", "b", ".", "..", "c.d"]), max_size=5).map("/".join)
REFERENCES = st.tuples(
    st.sampled_from(["", "/", "./", "../"]), SEGMENTS, st.sampled_from(["", "/", "?q", "?q/../r", "#f"])
)


@settings(max_examples=example_count(500), deadline=None)
@given(SEGMENTS, REFERENCES)
def test_a_reference_means_what_it_means_to_others(path: str, parts: tuple[str, str, str]) -> None:
    base = parse_target(f"https://api.test/{path.lstrip('/')}?old", ANY)
    reference = "".join(parts)
    if "//" in reference:
        return
    found = parse_target(resolve_reference(base, reference), ANY)
    wanted = urlsplit(urljoin(base.url, reference))
    assert found.origin == base.origin
    shown = (wanted.path or "/") + (f"?{wanted.query}" if wanted.query else "")
    if reference.partition("#")[0]:
        assert found.path == shown
    else:
        assert found.path == base.path
