"""Which IP addresses outbound requests may connect to.

The host has its own tables, because those of Python's `ipaddress` differ between releases. An IPv6 address is checked
together with every IPv4 address embedded in it, because a gateway may translate one into the other.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

Address = IPv4Address | IPv6Address

# fmt: off
PRIVATE_IPV4: Final = tuple(map(IPv4Network, (
    "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",  # private
    "100.64.0.0/10",  # carrier-grade NAT
    "127.0.0.0/8",  # loopback
)))
DENIED_IPV4: Final = tuple(map(IPv4Network, (
    "0.0.0.0/8",  # this network; 0.0.0.0 is loopback in practice
    "100.100.100.200/32",  # metadata service of a cloud
    "168.63.129.16/32",  # wire server of a cloud
    "169.254.0.0/16",  # link-local, metadata services of most clouds
    "192.0.0.0/24",  # protocol assignments, metadata service of a cloud
    "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "233.252.0.0/24",  # documentation
    "192.88.99.0/24",  # 6to4 relays
    "198.18.0.0/15",  # benchmarking
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, broadcast
)))
PRIVATE_IPV6: Final = tuple(map(IPv6Network, ("::1/128", "fc00::/7")))
DENIED_IPV6: Final = tuple(map(IPv6Network, (
    "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID and others
    "2001:db8::/32", "3fff::/20",  # documentation
    "2002::/16",  # 6to4
    "3ffe::/16",  # the former test network
    "fd00:42::42/128", "fd00:ec2::/64", "fd20:ce::254/128",  # metadata services of clouds
)))
# fmt: on
GLOBAL_IPV6: Final = IPv6Network("2000::/3")
"""Global unicast. Addresses outside of it are not routed globally or have a special purpose."""

_COMPATIBLE: Final = IPv6Network("::/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_NAT64_LOCAL: Final = IPv6Network("64:ff9b:1::/48")
_ISATAP: Final = (0x0000_5EFE, 0x0200_5EFE)


def parse_address(text: str) -> Address:
    """Parse an address as the operating system writes it. Raises ValueError for a malformed address, and for one with a
    zone, which is valid on one link only."""
    if "%" in text:
        raise ValueError("an address with a zone")
    return IPv6Address(text) if ":" in text else IPv4Address(text)


def unmap_ipv4(address: Address) -> Address:
    """The IPv4 address of an IPv4-mapped IPv6 address; any other address unchanged."""
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def embedded_ipv4(address: IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that 6to4, Teredo, NAT64 or ISATAP embed in this address, or that are its last 32 bits."""
    bits = int(address)
    low = bits & 0xFFFF_FFFF
    embedded: list[int] = []
    if (address in _COMPATIBLE and low > 1) or address in _NAT64 or address in _NAT64_LOCAL:
        embedded.append(low)
    if address in _NAT64_LOCAL:
        embedded.append((bits >> 48 & 0xFFFF_0000) | (bits >> 40 & 0xFFFF))
    if bits >> 112 == 0x2002:
        embedded.append(bits >> 80 & 0xFFFF_FFFF)
    if bits >> 96 == 0x2001_0000:
        # RFC 4380 section 4: the server's address, and the client's with all bits inverted.
        embedded += [bits >> 64 & 0xFFFF_FFFF, low ^ 0xFFFF_FFFF]
    if bits >> 32 & 0xFFFF_FFFF in _ISATAP:
        embedded.append(low)
    return [IPv4Address(each) for each in embedded]


def is_allowed(address: Address, private: bool = False) -> bool:
    """out-01 (RFC 0076): whether a request may connect to the address. Private networks and loopback need `private`.

    No setting allows metadata services, link-local, multicast and reserved addresses, or addresses that embed one of
    them.
    """
    address = unmap_ipv4(address)
    if isinstance(address, IPv4Address):
        return not _is_within(address, DENIED_IPV4) and (private or not _is_within(address, PRIVATE_IPV4))
    if _is_within(address, DENIED_IPV6):
        return False
    if not all(is_allowed(inner, private) for inner in embedded_ipv4(address)):
        return False
    return address in GLOBAL_IPV6 or (private and _is_within(address, PRIVATE_IPV6))


def _is_within(address: Address, networks: tuple[IPv4Network, ...] | tuple[IPv6Network, ...]) -> bool:
    return any(address in network for network in networks)
