"""The progress of an outbound request, and the response of one target."""

import msgspec

from weftwork.protocol.net.outbound import Headers


class SendProgress:
    """How far a request, or one of the requests of its redirects, has got."""

    sent = False
    """Whether any byte of it was sent."""

    def begin_sending(self) -> None:
        """Called before each write of the request."""
        self.sent = True

    def begin_reading(self) -> None:
        """Called before each read of the response; at the first time, the whole request was written."""


class RawResponse(msgspec.Struct, frozen=True):
    """The response of one target, with its content decoded."""

    status: int
    headers: Headers
    content: bytes = b""

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)

    @property
    def location(self) -> str | None:
        """The Location header as text. Servers that send bytes outside ASCII use UTF-8."""
        value = self.header("location")
        if value is None or value.isascii():
            return value
        return value.encode("latin-1").decode("utf-8", "replace")
