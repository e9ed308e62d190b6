"""The target of an outbound request. Only this module parses its URL, so the checks and the connection use one
result."""

import re
import unicodedata
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import quote

import msgspec

MAX_URL: Final = 8_192
MAX_HOST: Final = 253
DEFAULT_PORTS: Final = {"https": 443, "http": 80}

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_PORT: Final = re.compile(r"[0-9]{1,5}")
_INVISIBLE_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
_DOTS: Final = str.maketrans(dict.fromkeys("\u3002\uff0e\uff61", "."))
_INTERNAL_SUFFIXES: Final = frozenset({"localhost", "local", "internal"})
_PRINTABLE_ASCII: Final = "".join(map(chr, range(0x21, 0x7F)))


class OutboundRefused(Exception):
    """A request that must not be sent. `blocked` is `ssrf` or `upgrade`. The message quotes nothing of the request."""

    def __init__(self, message: str, blocked: str = "ssrf") -> None:
        super().__init__(message)
        self.blocked = blocked


class OutboundPolicy(msgspec.Struct, frozen=True):
    """Which targets the operator allows. `private` allows private networks, with https or http and on any port."""

    ports: frozenset[int] = frozenset({443})
    http: bool = False
    private: bool = False

    def allows_port(self, scheme: str, port: int) -> bool:
        return self.private or port in self.ports or (scheme == "http" and port == DEFAULT_PORTS["http"])


class RequestTarget(msgspec.Struct, frozen=True):
    """A URL that was parsed and is allowed. `host` is a name or an address without brackets, in lower case."""

    scheme: str
    host: str
    port: int
    path: str
    """The path with the query."""

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def parse_target(url: str, policy: OutboundPolicy) -> RequestTarget:
    """out-02 (RFC 0076): parse a URL. Raises OutboundRefused for a URL that is ambiguous or not allowed."""
    if len(url) > MAX_URL:
        raise OutboundRefused(f"The URL is longer than {MAX_URL} characters.")
    if "\\" in url or any(unicodedata.category(each) in _INVISIBLE_CATEGORIES for each in url):
        raise OutboundRefused("The URL contains a space, a backslash or an invisible character; percent-encode it.")
    match = _SCHEME.match(url)
    scheme = match[1].lower() if match else ""
    if scheme not in DEFAULT_PORTS:
        raise OutboundRefused("The scheme of the URL must be https or http.")
    if scheme == "http" and not (policy.http or policy.private):
        raise OutboundRefused("http URLs are blocked; use https, or allow http with the setting fetch_http.")
    if not url.startswith("//", len(scheme) + 1):
        raise OutboundRefused("The URL has no host.")
    rest = url[len(scheme) + 3 :]
    authority_end = next((at for at, each in enumerate(rest) if each in "/?#"), len(rest))
    host, port = _parse_authority(rest[:authority_end], scheme)
    if not policy.allows_port(scheme, port):
        raise OutboundRefused("The port of the URL is blocked; allow it with the setting fetch_ports.")
    if host.startswith("metadata") or (not policy.private and host.rpartition(".")[2] in _INTERNAL_SUFFIXES):
        raise OutboundRefused("The host of the URL is a name for internal use, which is blocked.")
    path = rest[authority_end:].partition("#")[0]
    path = path if path.startswith("/") else f"/{path}"
    return RequestTarget(scheme, host, port, path if path.isascii() else quote(path, safe=_PRINTABLE_ASCII))


def resolve_reference(base: RequestTarget, reference: str) -> str:
    """Resolve a reference against a target (RFC 3986 section 5). The result is not checked yet; use `parse_target`."""
    if _SCHEME.match(reference):
        return reference
    if reference.startswith("//"):
        return f"{base.scheme}:{reference}"
    origin = f"{base.scheme}://{base.authority}"
    path, mark, query = base.path.partition("?")
    relative = reference.partition("#")[0]
    if not relative:
        return f"{origin}{path}{mark}{query}"
    if relative.startswith("?"):
        return f"{origin}{path}{relative}"
    segments, mark, query = relative.partition("?")
    if not segments.startswith("/"):
        segments = f"{path.rpartition('/')[0]}/{segments}"
    return f"{origin}{_remove_dot_segments(segments)}{mark}{query}"


def _parse_authority(text: str, scheme: str) -> tuple[str, int]:
    if "@" in text or "%" in text:
        raise OutboundRefused("The host of the URL must not have credentials or percent-escapes.")
    if text.startswith("["):
        inner, bracket, after = text[1:].partition("]")
        if not bracket or (after and not after.startswith(":")):
            raise OutboundRefused("The host of the URL is not a valid IPv6 address.")
        host, colon, port = _parse_ipv6(inner), after[:1], after[1:]
    else:
        name, colon, port = text.partition(":")
        host = _parse_host_name(name)
    if not colon:
        return host, DEFAULT_PORTS[scheme]
    if not _PORT.fullmatch(port) or not 0 < int(port) < 65_536:
        raise OutboundRefused("The port of the URL must be a number from 1 to 65535.")
    return host, int(port)


def _parse_ipv6(text: str) -> str:
    try:
        return IPv6Address(text).compressed
    except ValueError:
        raise OutboundRefused("The host of the URL is not a valid IPv6 address.") from None


def _parse_host_name(text: str) -> str:
    """The name in the normalised form that is checked, resolved and sent as the Host header. A number in any notation,
    such as an IPv4 address, is treated as a name."""
    name = unicodedata.normalize("NFKC", text.translate(_DOTS)).translate(_DOTS).lower().removesuffix(".")
    if not name.isascii():
        raise OutboundRefused("The host of the URL is not ASCII; write it in its xn-- form.")
    if len(name) > MAX_HOST or not _NAME.fullmatch(name):
        raise OutboundRefused("The host of the URL is not a valid host name.")
    return name


def _remove_dot_segments(path: str) -> str:
    result: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == ".." and result:
            result.pop()
        elif segment not in (".", ".."):
            result.append(segment)
    if segments[-1] in (".", ".."):
        result.append("")
    return "/" + "/".join(result)
