"""A page of somebody else: it shows an asset in every way that a page can, and writes down whoever calls.

Browsers take every name under `localhost` for this machine. The page and the assets have names under one site, because
an asset is not given to pages of other sites at all.
"""

import html
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

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


class ForeignPage:
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

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.port = self._server.server_port
        self.address = f"http://{PAGES}:{self.port}"

    def page_showing(self, url: str, *ways: str) -> str:
        """The address of a page that shows the asset in these ways, or in all."""
        shown = [text for way, text in EMBEDDINGS.items() if not ways or way in ways]
        self.page = "<!DOCTYPE html>" + LISTENS + "".join(shown).format(url=html.escape(url))
        return f"{self.address}/page"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(120)
