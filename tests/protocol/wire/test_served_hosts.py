"""For which host names requests are answered."""

import pytest

from tests.harness.cases import each_case
from weftwork.protocol.wire.served_hosts import is_allowed_host, is_served, served_hosts

NAMES = frozenset({"flows.example.org", "[2001:db8::1]", "10.0.0.5"})


@pytest.mark.rule("wire-05")
@each_case(
    "header",
    *("flows.example.org", "flows.example.org:443", "FLOWS.Example.Org", "flows.example.org.", "10.0.0.5:8787"),
    *("[2001:db8::1]", "[2001:DB8::1]:80", "localhost", "localhost:8787", "127.0.0.1:1", "127.1.2.3", "[::1]:8787"),
)
def test_names_that_are_served(header: str) -> None:
    assert is_served(NAMES, header)


@pytest.mark.rule("wire-05")
@each_case(
    "header",
    *(
        "",
        "example.org",
        "flows.example.org.evil.example",
        "evil.example",
        "127.evil.example",
        "127.0.0.1.evil.example",
    ),
    *("localhost.evil.example", "flows.example.org:", "flows.example.org:80:80", "10.0.0.50"),
    "flows.example.org/",
    *(
        "user@flows.example.org",
        "flows.example.org flows",
        "[::2]",
        "2001:db8::1",
        "[2001:db8::1",
        "0.0.0.0",
        "x" * 300,
    ),
)
def test_names_that_are_not_served(header: str) -> None:
    assert not is_served(NAMES, header)


@each_case(
    "allowed, urls, names",
    ((), ("", ""), None),
    (("*",), ("https://a.example",), None),
    ((), ("https://A.example:8443/base", "http://[2001:DB8::1]:80"), {"a.example", "[2001:db8::1]"}),
    (("B.example.",), ("https://a.example", ""), {"a.example", "b.example"}),
    (("b.example",), ("", ""), {"b.example"}),
)
def test_the_names_come_from_the_list_and_the_urls(
    allowed: tuple[str, ...], urls: tuple[str, ...], names: set[str] | None
) -> None:
    assert served_hosts(allowed, urls) == names


def test_what_can_be_in_the_list() -> None:
    assert all(map(is_allowed_host, ("*", "a", "A.example", "10.0.0.5", "[::1]", "a_b.example")))
    assert not any(map(is_allowed_host, ("", "a:80", "http://a", "a/b", "*.a", "::1", " a", "a,b")))
