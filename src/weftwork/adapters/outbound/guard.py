"""The address guard: a name is resolved once per connection, and the host connects only to checked addresses."""

import socket
from collections.abc import Callable
from typing import Final

from weftwork.adapters.outbound.resolver import Resolver
from weftwork.ports.outbound import FetchRefused
from weftwork.protocol.net.address import Address, is_allowed, parse_address, unmap_ipv4

NOT_PUBLIC: Final = "The target is not a public address."
"""For every address that is refused: an answer that told them apart would draw a map of the inside."""


class Unreachable(Exception):
    """There is nothing to connect to; the message is ours."""


class AddressGuard:
    """out-05 (RFC 0076): judges addresses, all that a name has.

    With `private`, those of private networks and of this machine are allowed too.
    """

    def __init__(
        self, resolver: Resolver, private: bool = False, judge: Callable[[Address, bool], bool] = is_allowed
    ) -> None:
        self._resolver = resolver
        self._private = private
        self._is_allowed = judge

    async def resolve(self, host: str, port: int) -> list[Address]:
        """The addresses of a name, all of them allowed. Raises FetchRefused if a single one is not, or Unreachable."""
        try:
            texts = await self._resolver.resolve(host, port)
        except (OSError, UnicodeError):
            raise Unreachable("The name of the host could not be resolved.") from None
        found = list(dict.fromkeys(self.check(text) for text in texts))
        if not found:
            raise Unreachable("The name of the host has no address.")
        return found

    def check(self, text: str) -> Address:
        """The address, if it is allowed and not one of this machine. Raises FetchRefused."""
        try:
            address = unmap_ipv4(parse_address(text))
        except ValueError:
            raise FetchRefused("ssrf", NOT_PUBLIC) from None
        if not self._is_allowed(address, self._private) or (not self._private and is_own_address(address)):
            raise FetchRefused("ssrf", NOT_PUBLIC)
        return address

    def check_peer(self, pinned: Address, peer: str) -> None:
        """The other end of a connection is what was connected to, and still allowed. Raises FetchRefused."""
        if self.check(peer) != pinned:
            raise FetchRefused("ssrf", NOT_PUBLIC)


def is_own_address(address: Address) -> bool:
    """Whether this machine has the address: it would then send from there to there. No packet leaves."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((str(address), 443))
        except OSError:
            return False
        return str(probe.getsockname()[0]) == str(address)
