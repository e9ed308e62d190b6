"""The one reading of a URL, and the table of addresses: what is outside stays out, and no wrapping hides an address."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network
from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import for_all
from weftwork.protocol.net import address
from weftwork.protocol.net import target as module
from weftwork.protocol.net.target import OutboundPolicy, OutboundRefused, RequestTarget, parse_target, resolve_reference

ANY = OutboundPolicy(private=True)


@pytest.mark.rule("out-02")
@each_case(
    "url, found",
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
)
def test_what_a_url_means(url: str, found: RequestTarget) -> None:
    assert parse_target(url, ANY) == found
    assert parse_target(found.url, ANY) == found


@pytest.mark.rule("out-02")
@each_case(
    "policy, urls",
    (OutboundPolicy(), ["http://example.com/", "https://example.com:80/", "https://example.com:8443/"]),
    (OutboundPolicy(frozenset({8443})), ["https://example.com/", "http://example.com:8443/"]),
    (OutboundPolicy(http=True), ["http://example.com:8080/", "https://example.com:80/", "http://x.local/"]),
    (ANY, ["ftp://example.com/", "https://metadata.google.internal/", "https://example.com:0/", "https://a@b/"]),
)
def test_what_the_operator_does_not_allow(policy: OutboundPolicy, urls: list[str]) -> None:
    for url in urls:
        with pytest.raises(OutboundRefused):
            parse_target(url, policy)


@each_case(
    "policy, urls",
    (OutboundPolicy(frozenset({443, 8443})), ["https://example.com/", "https://example.com:8443/"]),
    (OutboundPolicy(http=True), ["http://example.com/", "https://example.com/", "http://example.com:443/"]),
    (ANY, ["http://localhost:1/", "https://vault.internal:65535/", "http://printer.local/"]),
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
@for_all(250, URLS, full=10_000)
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


@for_all(250, SEGMENTS, REFERENCES, full=10_000)
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


# fmt: off
PUBLIC = (
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255", "100.128.0.0",
    "126.255.255.255", "128.0.0.0", "168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0",
    "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0",
    "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
    "2001:200::1", "2001:4860:4860::8888", "2003::1", "2606:4700:4700::1111", "2a00:1450:4001:82b::200e",
    "::ffff:8.8.8.8", "2a00:1450::5efe:808:808",
)
NEVER = (
    "0.0.0.0", "0.255.255.255", "100.100.100.200", "168.63.129.16", "169.254.169.254", "169.254.0.0", "192.0.0.192",
    "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::2", "::7f00:1", "::169.254.169.254", "::ffff:0.0.0.0",
    "::ffff:169.254.169.254", "::ffff:0:7f00:1", "64:ff9b::808:808", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808",
    "100::1", "100:0:0:1::1", "2001::808:808", "2001:1::1", "2001:1ff:ffff::", "2001:db8::1", "2002:808:808::1",
    "2002:a9fe:a9fe::", "3ffe::1", "3fff::1", "3fff:fff::1", "4000::1", "5f00::1", "fe80::1", "febf::1", "fec0::1",
    "feff::1", "ff02::1", "fd00:ec2::254", "fd20:ce::254", "fd00:42::42",
)
INSIDE = (
    "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1", "127.255.255.255", "172.16.0.0",
    "172.31.255.255", "192.168.0.0", "192.168.255.255", "::1", "fc00::1", "fd00::2", "fdff::1", "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
)


# fmt: on
@pytest.mark.rule("out-01")
@each_case("texts, always, private", (PUBLIC, True, True), (NEVER, False, False), (INSIDE, False, True))
def test_the_table(texts: tuple[str, ...], always: bool, private: bool) -> None:
    for text in texts:
        found = address.parse_address(text)
        assert (address.is_allowed(found), address.is_allowed(found, private=True)) == (always, private), text


@each_case("text", "fe80::1%eth0", "::1%1", "", "127.1", "0x7f000001", "0177.0.0.1", "1.2.3.4 ", "[::1]")
def test_what_is_no_address_or_has_a_zone_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        address.parse_address(text)


def wrapped(bits: int) -> list[IPv6Address]:
    """An IPv4 address inside IPv6 addresses, by each of the ways."""
    high, low = bits >> 16, bits & 0xFFFF
    ones = bits ^ 0xFFFF_FFFF
    return [
        IPv6Address((0xFFFF << 32) | bits),
        IPv6Address(bits),
        IPv6Address((0x0064_FF9B << 96) | bits),
        IPv6Address((0x0064_FF9B_0001 << 80) | bits),
        IPv6Address((0x0064_FF9B_0001 << 80) | (high << 64) | (low << 40)),
        IPv6Address((0x2002 << 112) | (bits << 80) | 1),
        IPv6Address((0x2001 << 112) | (bits << 64) | 0xFFFF_FFFF),
        IPv6Address((0x2001 << 112) | (0x0808_0808 << 64) | ones),
        IPv6Address((0x2A00_1450 << 96) | (0x5EFE << 32) | bits),
        IPv6Address((0x2A00_1450 << 96) | (0x0200_5EFE << 32) | bits),
    ]


BITS = st.integers(2, 2**32 - 1)


@pytest.mark.rule("out-01")
@for_all(100, BITS, st.booleans(), full=4_000)
def test_no_wrapping_hides_an_address(bits: int, private: bool) -> None:
    inner = IPv4Address(bits)
    for outer in wrapped(bits):
        assert inner in [*address.embedded_ipv4(outer), address.unmap_ipv4(outer)]
        assert not address.is_allowed(outer, private) or address.is_allowed(inner, private)


@pytest.mark.parametrize("inside", ["127.0.0.1", "10.0.0.1", "169.254.169.254"])
def test_wrapped_addresses_would_not_be_seen_by_the_networks_alone(
    inside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer = wrapped(int(IPv4Address(inside)))
    assert not any(address.is_allowed(each) for each in outer)
    monkeypatch.setattr(address, "embedded_ipv4", lambda each: [])
    monkeypatch.setattr(address, "DENIED_IPV6", ())
    monkeypatch.setattr(address, "GLOBAL_IPV6", IPv6Network("::/0"))
    monkeypatch.setattr(address, "unmap_ipv4", lambda each: each)
    assert all(address.is_allowed(each) for each in outer)


@for_all(150, st.integers(0, 2**32 - 1), full=6_000)
def test_an_ipv4_address_is_public_exactly_outside_the_table(bits: int) -> None:
    found = IPv4Address(bits)
    listed = [network for network in (*address.PRIVATE_IPV4, *address.DENIED_IPV4) if found in network]
    assert address.is_allowed(found) == (not listed)
    # Whatever Python holds for private, the table does too.
    assert not (found.is_private and address.is_allowed(found))


@for_all(150, st.integers(0, 2**128 - 1), full=6_000)
def test_an_ipv6_address_is_public_only_among_the_assigned(bits: int) -> None:
    found = IPv6Address(bits)
    if address.is_allowed(found) and found.ipv4_mapped is None:
        assert found in address.GLOBAL_IPV6
        assert found.is_global
