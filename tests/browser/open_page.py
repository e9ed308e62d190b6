"""A visit to the page: a question in a tab, and what the page did meanwhile."""

import contextlib
from collections.abc import Iterator
from typing import Any

from tests.browser.chromium import Chromium, Tab
from tests.browser.question_server import QuestionServer


@contextlib.contextmanager
def open_question(browser: Chromium, question: dict[str, Any], **more: Any) -> Iterator[tuple[QuestionServer, Tab]]:
    """A question in a tab. When it is done, nothing was loaded but the page itself, and nobody complained."""
    with QuestionServer(question, **more) as asker:
        tab = browser.tab()
        tab.screen(1100, 800)
        tab.open(asker.url)
        try:
            yield asker, tab
            assert made_no_requests(asker, tab)
        finally:
            tab.close()


def made_no_requests(asker: QuestionServer, tab: Tab) -> bool:
    """Whether the page did nothing behind anybody's back. The icon of a date field comes with the browser."""
    loaded = [url for url in tab.requests if not url.startswith("data:image/svg+xml;base64,")]
    allowed = [text for text in tab.complaints if "400 (Bad Request)" in text]
    return set(loaded) == {asker.url} and set(asker.paths) == {"/v1/interrupts/token"} and tab.complaints == allowed
