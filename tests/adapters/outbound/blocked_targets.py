# ruff: noqa: RUF001
"""Places that no request may reach, in every spelling: PORT stands for the port of the trap."""

from ipaddress import IPv4Address, IPv6Address

# fmt: off
INSIDE = (
    "0.0.0.0", "0.0.0.1", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.0.0.2",
    "127.255.255.254", "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.2",
    "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1",
    "255.255.255.255",
)
IPV6 = (
    "::", "::1", "::2", "::127.0.0.1", "::169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "100::1",
    "2001::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:a9fe:a9fe::", "3ffe::1", "3fff::1",
    "5f00::1", "4000::1", "fc00::1", "fd00::2", "fd00:ec2::254", "fd20:ce::254", "fe80::1", "fec0::1", "ff02::1",
    "::ffff:0:127.0.0.1",
)
LOOPBACK = (
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7F000001", "0x7f.1", "0177.0.0.1", "0177.1",
    "017700000001", "0x7f.0.0.1", "0x7f.0x0.0x0.0x1", "127.0.0.1.", "127.0.0.2", "127.127.127.127", "0", "00", "0x0",
    "0.0.0.0", "①②⑦.0.0.1", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "１２７.0.0.1", "①②⑦。⓪。⓪。①",
    "⑫⑦.0.0.1", "𝟭𝟮𝟳.𝟬.𝟬.𝟭", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]", "[::FFFF:127.0.0.1]",
)
"""All of these lead to a listener on every address of the machine, if nobody minds."""
NAMES = (
    "localhost", "LOCALHOST", "localhost.", "x.localhost", "x.localhost.", "printer.local", "vault.internal",
    "metadata", "metadata.google.internal", "METADATA.google.internal.", "metadata.example.com", "ｌｏｃａｌｈｏｓｔ",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "ℓocalhost", "localhost。", "x。localhost", "ſ.localhost", "local\u00adhost", "local\u200bhost",
)
TRICKS = (
    "http://evil@127.0.0.1:PORT/", "http://127.0.0.1:PORT@example.com/", "http://example.com@127.0.0.1:PORT/",
    "http://a:b@127.0.0.1:PORT/", "http://@127.0.0.1:PORT/", "http://example.com\\@127.0.0.1:PORT/",
    "http:\\\\127.0.0.1:PORT\\", "http://127.0.0.1:PORT\\@example.com/", "http://127.0.0.1\t:PORT/",
    "http://127.0.0.1\n:PORT/", "http://127.0.0.1:PORT/\r\nHost: x", "http://127.0.0.1 :PORT/", " http://127.0.0.1:PORT/",
    "http://127.0.0.1:PORT/ ", "http://\u00a0127.0.0.1:PORT/", "http://127.0.0.1:PORT/\x00", "http://127.0.0.1\x7f:PORT/",
    "http://%31%32%37.0.0.1:PORT/", "http://127%2e0%2e0%2e1:PORT/", "http://localhost%00.example.com:PORT/",
    "http://127.0.0.1%23.example.com:PORT/", "http://[::1%25lo]:PORT/", "http://[::1%lo]:PORT/",
    "http://[fe80::1%25eth0]:PORT/", "http://[::ffff:127.0.0.1%eth0]:PORT/", "http://[127.0.0.1]:PORT/",
    "http://[v1.x]:PORT/", "http://[::1]x:PORT/", "http://[::1:PORT/", "http://::1:PORT/", "http:/127.0.0.1:PORT/",
    "http:127.0.0.1:PORT/", "//127.0.0.1:PORT/", "127.0.0.1:PORT/", "http:///127.0.0.1:PORT/", "http://?127.0.0.1:PORT",
    "http://#@127.0.0.1:PORT/", "http://:PORT/", "http://127.0.0.1:PORT:80/", "http://127.0.0.1:+PORT/",
    "http://127.0.0.1:０PORT/", "http://127.0.0.1:/", "http://127.0.0.1..:PORT/", "http://.127.0.0.1:PORT/",
    "http://127.0.0.1:PORT#@example.com/", "http://127.0.0.1:PORT?@example.com/", "hTTp://127.0.0.1:PORT/",
    "ftp://127.0.0.1:PORT/", "file:///etc/passwd", "gopher://127.0.0.1:PORT/_GET", "ws://127.0.0.1:PORT/",
    "wss://127.0.0.1:PORT/", "unix:///run/docker.sock", "http+unix://%2Frun%2Fdocker.sock/", "data:text/plain,x",
    "javascript:alert(1)", "dict://127.0.0.1:PORT/", "ldap://127.0.0.1:PORT/", "", "http", "http://", "https://",
    "http://a℀127.0.0.1:PORT/", "http://example.com／@127.0.0.1:PORT/", "http://127.0.0.1：PORT/",
    "http://xn--/:PORT", "http://-127.0.0.1:PORT/", "http://" + "a" * 64 + ".example.com:PORT/",
    "http://127.0.0.1:PORT/" + "a" * 9000, "http://bücher.example:PORT/", "http://faß.example:PORT/",
)
# fmt: on


def spellings(address: str) -> list[str]:
    """An IPv4 address as a host: as numbers, and inside IPv6 addresses of every kind."""
    bits = int(IPv4Address(address))
    parts = address.split(".")
    high, low = bits >> 16, bits & 0xFFFF
    turned = bits ^ 0xFFFF_FFFF
    return [
        address,
        str(bits),
        hex(bits),
        ".".join(hex(int(part)) for part in parts),
        ".".join(f"0{int(part):o}" for part in parts),
        f"{parts[0]}.{bits & 0xFFFFFF}",
        *(
            f"[{form}]"
            for form in (
                f"::ffff:{address}",
                f"::ffff:{high:x}:{low:x}",
                f"::{address}",
                f"64:ff9b::{address}",
                f"64:ff9b:1::{address}",
                f"64:ff9b:1:{high:x}:{low >> 8:x}:{(low & 0xFF) << 8:x}::",
                f"2002:{high:x}:{low:x}::1",
                f"2001:0:{high:x}:{low:x}::1",
                f"2001:0:808:808::{turned >> 16:x}:{turned & 0xFFFF:x}",
                f"2a00:1450::5efe:{address}",
                f"2a00:1450::200:5efe:{address}",
            )
        ),
    ]


def denied_urls() -> list[str]:
    hosts = [spelling for address in INSIDE for spelling in spellings(address)]
    hosts += [f"[{IPv6Address(each)}]" for each in IPV6] + [*LOOPBACK, *NAMES]
    return [*(f"http://{host}:PORT/" for host in hosts), *TRICKS]
