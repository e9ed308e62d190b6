"""A visit to the page: a question in a tab, and what the page did meanwhile."""

import contextlib
from collections.abc import Iterator
from typing import Any

from tests.browser.chromium import Chromium, Tab
from tests.browser.question_server import Asker


@contextlib.contextmanager
def opened(browser: Chromium, question: dict[str, Any], **more: Any) -> Iterator[tuple[Asker, Tab]]:
    """A question in a tab. When it is done, nothing was loaded but the page itself, and nobody complained."""
    with Asker(question, **more) as asker:
        tab = browser.tab()
        tab.screen(1100, 800)
        tab.open(asker.url)
        try:
            yield asker, tab
            assert quiet(asker, tab)
        finally:
            tab.close()


def quiet(asker: Asker, tab: Tab) -> bool:
    """Whether the page did nothing behind anybody's back. The icon of a date field comes with the browser."""
    loaded = [url for url in tab.requests if not url.startswith("data:image/svg+xml;base64,")]
    allowed = [text for text in tab.complaints if "400 (Bad Request)" in text]
    return set(loaded) == {asker.url} and set(asker.paths) == {"/v1/interrupts/token"} and tab.complaints == allowed
