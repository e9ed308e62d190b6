"""How far a request got, and what came back from one target."""

import msgspec

from weftwork.protocol.net.outbound import Headers


class SendProgress(msgspec.Struct):
    """Whether anything of a request, with its redirects, was handed to the network."""

    sent: bool = False


class RawResponse(msgspec.Struct, frozen=True):
    """What one target answered; the content is decoded."""

    status: int
    headers: Headers
    content: bytes = b""

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)

    @property
    def location(self) -> str | None:
        """Where a redirect leads, as text: bytes beyond ASCII are UTF-8 there, if they are anything."""
        found = self.header("location")
        if found is None or found.isascii():
            return found
        return found.encode("latin-1").decode("utf-8", "replace")
