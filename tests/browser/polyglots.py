"""Files that are two things at once, and names that are more than a name: made here, some four hundred of them."""

from itertools import cycle, product
from typing import NamedTuple

from tests.protocol.media.file_heads import AVIF, FRAME, M4A, MP4, OGG, WEBM

TRAP = b"http://trap.invalid"
"""Stands in the files for the address of the trap."""
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63f8ffff3f0005fe02fe0def46b8"
    "0000000049454e44ae426082"
)
DOT = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")


class Polyglot(NamedTuple):
    what: str
    declared: str
    name: str
    body: bytes

    def with_trap_address(self, trap: str) -> bytes:
        """The body, with the address of the trap in it."""
        body = self.body
        for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
            body = body.replace(TRAP.decode().encode(encoding), trap.encode(encoding))
        return body


SCRIPT_MARK = (
    b"window.ran=1;console.error('polyglot ran');"
    b"try{top.postMessage('polyglot ran','*')}catch(e){}new Image().src='" + TRAP + b"/ran';"
)
SCRIPT = b"<script>" + SCRIPT_MARK + b"</script><script src=" + TRAP + b"/s.js></script>"
LOADING_MARKUP = (
    b"<img src=" + TRAP + b"/i.png onerror=\"" + SCRIPT_MARK.replace(b"'", b"&#39;") + b'">'
    + b"<link rel=stylesheet href=" + TRAP + b"/c.css>"
    + b"<iframe src=" + TRAP + b"/f></iframe><meta http-equiv=refresh content='0;url=" + TRAP + b"/r'>"
)  # fmt: skip
PAGE = b"<!DOCTYPE html><html><body>" + SCRIPT + LOADING_MARKUP
SVG = b"<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' width='9' height='9'"
EVENT = SCRIPT_MARK.replace(b"'", b"&apos;")


def bodies() -> dict[str, tuple[str, bytes]]:
    """What each is said to be where that is worst, and its bytes."""
    wide = PAGE.decode()
    return {
        "html": ("text/html", PAGE),
        "html as an image": ("image/png", PAGE),
        "html as text": ("text/plain", PAGE),
        "html behind a byte order mark": ("text/plain", b"\xef\xbb\xbf" + PAGE),
        "html behind spaces and comments": ("text/plain", b" \t\r\n\x0c<!-- GIF89a -->\n" + PAGE),
        "html behind control characters": ("text/plain", b"\x00\x0b\x01" + PAGE),
        "html in wide letters": ("text/plain", ("\ufeff" + wide).encode("utf-16-le")),
        "html in wide letters, the other way": ("text/html", ("\ufeff" + wide).encode("utf-16-be")),
        "html in wide letters without a mark": ("text/html; charset=utf-16le", wide.encode("utf-16-le")),
        "html in seven bits": ("text/html; charset=utf-7", wide.encode("utf-7")),
        "html in seven bits behind its mark": ("text/plain; charset=utf-7", b"+/v8-" + wide.encode("utf-7")),
        "html in another alphabet": ("text/html; charset=iso-2022-jp", b"\x1b$B\x1b(B" + PAGE),
        "html in mail": ("message/rfc822", b"MIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n" + PAGE),
        "html in parts": (
            "multipart/x-mixed-replace; boundary=b",
            b"--b\r\nContent-Type: text/html\r\n\r\n" + PAGE + b"\r\n--b--",
        ),
        "xhtml": (
            "application/xhtml+xml",
            b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><body><script>"
            + SCRIPT_MARK
            + b"</script></body></html>",
        ),
        "xml with a style": (
            "text/xml",
            b"<?xml version='1.0'?><?xml-stylesheet type='text/xsl' href='" + TRAP + b"/x.xsl'?><a xmlns='urn:a'/>",
        ),
        "svg with a script": ("image/svg+xml", SVG + b"><script>" + SCRIPT_MARK + b"</script></svg>"),
        "svg with an event": ("image/svg+xml", SVG + b" onload='" + EVENT + b"'><rect width='9' height='9'/></svg>"),
        "svg with a page inside": (
            "image/svg+xml",
            SVG
            + b"><foreignObject width='9' height='9'><iframe xmlns='http://www.w3.org/1999/xhtml' src='"
            + TRAP
            + b"/f'/><body xmlns='http://www.w3.org/1999/xhtml' onload='"
            + EVENT
            + b"'/></foreignObject></svg>",
        ),
        "svg with links": (
            "image/svg+xml",
            SVG
            + b"><image xlink:href='"
            + TRAP
            + b"/i.png'/><use xlink:href='"
            + TRAP
            + b"/u.svg#a'/><style>@import '"
            + TRAP
            + b"/c.css';</style><animate attributeName='x' begin='0s' dur='1s' onbegin='"
            + EVENT
            + b"'/></svg>",
        ),
        "svg as a png": ("image/png", b"<!-- \x89PNG -->" + SVG + b" onload='" + EVENT + b"'></svg>"),
        "svg as text": ("text/plain", b"\xef\xbb\xbf" + SVG + b" onload='" + EVENT + b"'></svg>"),
        "script": ("text/javascript", SCRIPT_MARK),
        "script as json": ("application/json", b"[1];" + SCRIPT_MARK),
        "script as a table": ("text/csv", b"a=1\n" + SCRIPT_MARK),
        "script in a module": ("application/javascript", b"export default 1;" + SCRIPT_MARK),
        "style": ("text/css", b"@import '" + TRAP + b"/c.css';body{background:url(" + TRAP + b"/b.png)}"),
        "gif and script": ("image/gif", b"GIF89a/*" + DOT[6:] + b"*/=1;" + SCRIPT_MARK),
        "gif and script as script": ("text/javascript", b"GIF89a=1;" + SCRIPT_MARK),
        "gif and html": ("image/gif", DOT + PAGE),
        "png and html": ("image/png", PIXEL + PAGE),
        "png and html as html": ("text/html", PIXEL + PAGE),
        "jpeg and script": ("image/jpeg", b"\xff\xd8\xff\xe0/**/JFIF\x00*/=1;" + SCRIPT_MARK),
        "jpeg and html": ("image/jpeg", b"\xff\xd8\xff\xfe\x10\x00" + PAGE),
        "webp and html": ("image/webp", b"RIFF\x24\x00\x00\x00WEBPVP8 " + PAGE),
        "avif and html": ("image/avif", AVIF + PAGE),
        "riff and script": ("audio/wav", b"RIFF=1/*\x00WAVEfmt */;" + SCRIPT_MARK),
        "pdf and html": ("application/pdf", b"%PDF-1.4\n" + PAGE + b"\n%%EOF"),
        "pdf with a script": (
            "application/pdf",
            b"%PDF-1.4\n1 0 obj<</Type/Catalog/OpenAction<</S/URI/URI("
            + TRAP
            + b"/p)>>/AA<</O<</S/JavaScript/JS(app.alert(1))>>"
            b">>>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF",
        ),
        "mp4 and html": ("video/mp4", MP4 + PAGE),
        "mp4 that begins with html": ("video/mp4", b"<!--ftypisom-->" + PAGE),
        "m4a and html": ("audio/mp4", M4A + PAGE),
        "webm and html": ("video/webm", WEBM + PAGE),
        "mp3 and html": ("audio/mpeg", FRAME * 2 + PAGE),
        "ogg and html": ("audio/ogg", OGG + PAGE),
        "zip and html": ("application/zip", b"PK\x03\x04" + PAGE),
        "gzip and html": ("application/gzip", b"\x1f\x8b\x08\x00" + PAGE),
        "nothing and html": ("application/octet-stream", b"\x00\xff\x00\xff" + PAGE),
    }


TYPES = (
    "",
    "text/html",
    "image/png",
    "text/plain; charset=utf-7",
    "image/svg+xml",
    "text/javascript",
    "application/pdf",
)
NAMES = (
    "a.html",
    "a.png\r\nContent-Type: text/html\r\n\r\n<script>",
    'a.png"; filename="b.html',
    "a.html%00.png",
    "a.html\0.png",
    "gnp.\u202elmth.a",
    "../../../a.html",
    "C:\\a.hta",
    "🧵.svg",
    "a.png\u2028\u2029\x85",
    "'; filename*=UTF-8''b.html",
    "x" * 900 + ".html",
    "",
    ".",
)


def corpus() -> list[Polyglot]:
    """Each body as what it is worst as; then each as everything else. A part of it from the start is a fair sample."""
    found = bodies()
    files: dict[tuple[str, bytes], str] = {}
    for what, (declared, body) in found.items():
        files.setdefault((declared, body), what)
    for declared, (what, (_, body)) in product(TYPES, found.items()):
        files.setdefault((declared, body), what)
    names = cycle(NAMES)
    return [Polyglot(what, declared, next(names), body) for (declared, body), what in files.items()]
