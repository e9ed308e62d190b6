"""A page of somebody else: it shows an asset in every way that a page can, and writes down whoever calls.

Browsers take every name under `localhost` for this machine. The page and the assets have names under one site, because
an asset is not given to pages of other sites at all.
"""

import html
from http.server import BaseHTTPRequestHandler

from tests.browser.local_server import LocalServer

PAGES = "pages.weft.localhost"
MEDIA = "media.weft.localhost"
EMBEDDINGS = {
    "img": "<img src='{url}'>",
    "iframe": "<iframe src='{url}'></iframe>",
    "script": "<script src='{url}'></script>",
    "module": "<script type=module src='{url}'></script>",
    "object": "<object data='{url}'></object>",
    "embed": "<embed src='{url}'>",
    "style": "<link rel=stylesheet href='{url}'>",
    "video": "<video src='{url}' preload=auto></video>",
}
LISTENS = (
    "<link rel=icon href='data:,'>"
    "<script>window.heard = []; addEventListener('message', e => heard.push(e.data))</script>"
)


class ForeignPage(LocalServer):
    """Answers /page with the page; everything else is a call that should not have been made."""

    def __init__(self) -> None:
        self.page = ""
        self.calls: list[str] = []
        trap = self

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                shown = self.path == "/page"
                if not shown:
                    trap.calls.append(self.path)
                body = trap.page.encode() if shown else b""
                self.send_response(200 if shown else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        super().__init__(Answers)
        self.address = f"http://{PAGES}:{self.port}"

    def page_showing(self, url: str, *ways: str) -> str:
        """The address of a page that shows the asset in these ways, or in all."""
        shown = [text for way, text in EMBEDDINGS.items() if not ways or way in ways]
        self.page = "<!DOCTYPE html>" + LISTENS + "".join(shown).format(url=html.escape(url))
        return f"{self.address}/page"
