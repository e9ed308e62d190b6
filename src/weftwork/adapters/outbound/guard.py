"""The address guard: a name is resolved once per connection, and the host connects only to checked addresses."""

import socket
from collections.abc import Callable
from typing import Final

from weftwork.adapters.outbound.resolver import Resolver
from weftwork.ports.outbound import FetchRefused
from weftwork.protocol.net.address import Address, is_allowed, parse_address, unmap_ipv4

NOT_PUBLIC: Final = "The target is not a public address."
"""The same message for every refused address, so that responses do not reveal the internal network."""


class Unreachable(Exception):
    """A name has no address to connect to. The message contains nothing from a name server."""


class AddressGuard:
    """out-05 (RFC 0076): checks every address of a name before a connection.

    With `private`, addresses of private networks and of this machine are allowed as well.
    """

    def __init__(
        self, resolver: Resolver, private: bool = False, judge: Callable[[Address, bool], bool] = is_allowed
    ) -> None:
        self._resolver = resolver
        self._private = private
        self._is_allowed = judge

    async def resolve(self, host: str, port: int) -> list[Address]:
        """The addresses of a name. Raises FetchRefused if one of them is not allowed, or Unreachable."""
        try:
            texts = await self._resolver.resolve(host, port)
        except (OSError, UnicodeError):
            raise Unreachable("The host name could not be resolved.") from None
        addresses = list(dict.fromkeys(self.check(text) for text in texts))
        if not addresses:
            raise Unreachable("The host name has no address.")
        return addresses

    def check(self, text: str) -> Address:
        """The parsed address. Raises FetchRefused if it is not allowed or, without `private`, is of this machine."""
        try:
            address = unmap_ipv4(parse_address(text))
        except ValueError:
            raise FetchRefused("ssrf", NOT_PUBLIC) from None
        if not self._is_allowed(address, self._private) or (not self._private and is_own_address(address)):
            raise FetchRefused("ssrf", NOT_PUBLIC)
        return address

    def check_peer(self, pinned: Address, peer: str) -> None:
        """Raise FetchRefused if a connection has another peer than the checked address."""
        if self.check(peer) != pinned:
            raise FetchRefused("ssrf", NOT_PUBLIC)


def is_own_address(address: Address) -> bool:
    """Whether the address belongs to this machine.

    Then the kernel would also select it as the source address. Connecting a UDP socket sends no packet.
    """
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((str(address), 443))
        except OSError:
            return False
        return str(probe.getsockname()[0]) == str(address)
