"""Files that are two things at once, served by a host to a real Chromium: nothing in them runs or calls anybody."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tests.browser.chromium import Chromium, Tab
from tests.browser.foreign_page import EMBEDDINGS, MEDIA, PAGES, ForeignPage
from tests.browser.polyglots import PAGE, PIXEL, SCRIPT_MARK, Polyglot, bodies, corpus
from tests.harness.definitions import FULL
from tests.live.host import Host, start_host
from tests.live.listening_host import ListeningHost, in_thread, open_listening
from weftwork.adapters.http.routes import assets as asset_routes
from weftwork.protocol.media.asset_headers import SECURITY_HEADERS
from weftwork.protocol.media.media_types import INLINE_TYPES
from weftwork.protocol.wire.v1.assets import ASSET_PREFIX

pytestmark = pytest.mark.slow

FILES = corpus() if FULL else corpus()[: len(bodies())]
PARTS = 4


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with start_host(tmp_path_factory.mktemp("polyglots")) as host:
        yield host


@pytest.fixture
def trap() -> Iterator[ForeignPage]:
    with ForeignPage() as trap:
        yield trap


def upload(host: Any, file: Polyglot, trap: ForeignPage) -> str:
    """The URL of the file."""
    path = f"{ASSET_PREFIX.rstrip('/')}?name={quote(file.name)}"
    headers = {"Content-Type": file.declared} if file.declared else {}
    answer = host.call("POST", path, headers=headers, body=file.with_trap_address(trap.address))
    assert answer.status == 201, (file, answer.body)
    return f"http://{MEDIA}:{host.port}{urlsplit(answer.document['url']).path}"


class Visit:
    """What a person with the URL meets with, by each way in. Nothing is forgotten: what comes late is seen later."""

    def __init__(self, tab: Tab, trap: ForeignPage) -> None:
        self._tab, self._trap = tab, trap
        self._allowed: set[str] = set()

    def directly(self, url: str) -> list[str]:
        """What went wrong."""
        there = self._tab.visit(url)
        if there:
            self._wait()
        wrong = (
            ["a script was in the page"]
            if there and self._tab.evaluate("window.ran || document.scripts.length")
            else []
        )
        return wrong + self._calls(url)

    def shown(self, url: str, *ways: str) -> list[str]:
        """What went wrong."""
        page = self._trap.page_showing(url, *ways)
        assert self._tab.visit(page)
        self._wait()
        wrong = ["a script ran"] if self._tab.evaluate("window.ran || heard.length") else []
        return wrong + self._calls(url, page)

    def _wait(self) -> None:
        """Two frames are drawn: what begins with the page has begun."""
        for _ in range(2):
            self._tab.call("Page.captureScreenshot", format="jpeg", quality=1)

    def _calls(self, *allowed: str) -> list[str]:
        self._allowed.update(allowed)
        asked = [url for url in self._tab.requests if url.startswith("http") and url not in self._allowed]
        said = [text for text in self._tab.complaints if "polyglot ran" in text]
        return [f"{text} was called" for text in (*asked, *self._trap.calls)] + said


@pytest.mark.rule("media-13")
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_runs_and_nobody_is_called(browser: Chromium, host: Host, trap: ForeignPage, part: int) -> None:
    tab = browser.tab()
    try:
        visit = Visit(tab, trap)
        for file in FILES[part::PARTS]:
            url = upload(host, file, trap)
            assert has_guards(host, url), file
            assert visit.directly(url) == [], file[:3]
            assert visit.shown(url) == [], file[:3]
    finally:
        tab.close()


def has_guards(host: Host, url: str) -> bool:
    """Whether every guard stands on the answer, and what is not to be shown is saved."""
    answer = host.call("GET", urlsplit(url).path, key=None)
    assert answer.status == 200, answer.body
    found = [answer.headers.get(name.decode()) == value.decode() for name, value in SECURITY_HEADERS]
    way = "inline" if answer.headers["content-type"] in INLINE_TYPES else "attachment"
    return all(found) and answer.headers["content-disposition"].split(";")[0] == way


@pytest.mark.rule("media-07")
def test_a_picture_is_still_a_picture(browser: Chromium, host: Host, trap: ForeignPage) -> None:
    url = upload(host, Polyglot("pixel", "image/png", "a.png", PIXEL), trap)
    tab = browser.tab()
    try:
        assert tab.visit(url)
        assert tab.evaluate("document.images[0].naturalWidth") == 1
        assert tab.visit(trap.page_showing(url, "img"))
        assert tab.evaluate("document.images[0].naturalWidth") == 1
        assert tab.visit(trap.page_showing(url, "img").replace(PAGES, "pages.other.localhost"))
        assert tab.evaluate("document.images[0].naturalWidth") == 0, "pages of other sites do not get it"
    finally:
        tab.close()


def test_there_are_enough_of_them() -> None:
    found = corpus()
    assert len(found) >= 300
    assert len({(file.declared, file.body) for file in found}) == len(found)
    assert len(FILES) >= (300 if FULL else 40)


# Without the refresh, which would take the tab elsewhere while it is asked what it shows.
STAYING_PAGE = PAGE.partition(b"<meta")[0]
UNGUARDED = [
    (Polyglot("html", "text/html", "", STAYING_PAGE), ""),
    (Polyglot("html", "text/html", "", PAGE), "iframe"),
    (Polyglot("html", "text/html", "", PAGE), "object"),
    (Polyglot("html", "text/html", "", PAGE), "embed"),
    (Polyglot("script", "text/javascript", "", SCRIPT_MARK), "script"),
]


@pytest.mark.parametrize(("file", "way"), UNGUARDED)
async def test_without_the_headers_it_does_run(
    browser: Chromium, trap: ForeignPage, monkeypatch: pytest.MonkeyPatch, file: Polyglot, way: str
) -> None:
    """So each of these ways in is one, and is seen when it is open."""
    assert way in ("", *EMBEDDINGS)
    monkeypatch.setattr(asset_routes, "asset_headers", lambda media_type, *_: [(b"content-type", media_type.encode())])

    async def proof() -> list[str]:
        async with open_listening() as served:
            return await in_thread(visited, browser, served, trap, file, way)

    found = await proof()
    assert any("ran" in text or "script" in text for text in found), found
    assert any("was called" in text for text in found), found


def visited(browser: Chromium, served: ListeningHost, trap: ForeignPage, file: Polyglot, way: str) -> list[str]:
    host = Host.__new__(Host)
    host.port = served.port
    url = upload(host, file, trap)
    tab = browser.tab()
    try:
        visit = Visit(tab, trap)
        return visit.shown(url, way) if way else visit.directly(url)
    finally:
        tab.close()
