"""The page in a real Chromium: whatever a question holds, nothing runs, nothing is loaded, nobody frames it."""

import pytest

from tests.adapters.http.page.sample_questions import CANARY, KINDS, PAYLOADS, POLYGLOTS, approval, with_text_everywhere
from tests.browser.chromium import Chromium
from tests.browser.open_page import made_no_requests, open_question
from tests.browser.question_server import QuestionServer
from weftwork.adapters.http.page import markup, pages
from weftwork.adapters.http.page.site import HEADERS
from weftwork.protocol.forms.visible_text import mark_hidden

pytestmark = pytest.mark.slow


def test_hidden_turns_of_direction_do_not_leave_their_place(browser: Chromium) -> None:
    with open_question(browser, with_text_everywhere(approval(), "\u202e\u2066 evorppA")) as (_, tab):
        said = tab.evaluate("document.body.innerText")
        assert mark_hidden("\u202e") in said
        assert "\u202e" not in said


def test_what_is_drawn_beyond_its_place_is_not_drawn_over_the_words_of_the_host(browser: Chromium) -> None:
    """As letters are that pile up, which not every font has: here the title is moved up."""
    moved = "document.querySelector('.content h2').style.cssText = 'position: relative; top: -4rem; background: red';"
    free = "document.querySelector('.content').style.cssText = 'overflow: visible; contain: none';"
    pictures: list[str] = []
    for change in ("", moved, moved + free):
        with open_question(browser, approval(description="Z" + "\u0301\u0302\u0303" * 60)) as (_, tab):
            tab.evaluate(change)
            clip = tab.evaluate(
                "(() => { const b = document.querySelector('.tag').getBoundingClientRect();"
                " return {x: b.x, y: b.y, width: b.width, height: b.height, scale: 1}; })()"
            )
            pictures.append(tab.call("Page.captureScreenshot", format="png", clip=clip)["data"])
    plain, guarded, unguarded = pictures
    assert guarded == plain
    assert unguarded != plain


def test_whatever_a_question_holds_nothing_runs_and_nothing_is_loaded(browser: Chromium) -> None:
    for name in ("approval", "clarification", "custom", "low confidence", "odd"):
        for payload in (*POLYGLOTS, " ".join(PAYLOADS[:60]), " ".join(PAYLOADS[60:])):
            with open_question(browser, with_text_everywhere(KINDS[name], payload)) as (_, tab):
                assert tab.alerts == 0
                assert tab.evaluate("document.scripts.length + document.images.length + document.links.length") == 0


def hostile(monkeypatch: pytest.MonkeyPatch, trap: QuestionServer) -> bytes:
    """The page as it would be if nothing were escaped. No policy keeps a page from leading elsewhere by itself."""
    texts = [*POLYGLOTS, *(text for text in PAYLOADS if "refresh" not in text)]
    with monkeypatch.context() as patched:
        patched.setattr(markup, "escape", lambda text: text.encode("utf-8", "replace").decode())
        document = pages.render_question(approval(title="x", description="".join(texts)), "token")
    return document.replace(CANARY.encode(), trap.url.encode())


def test_the_policy_holds_even_if_nothing_were_escaped(browser: Chromium, monkeypatch: pytest.MonkeyPatch) -> None:
    without = [(name, value) for name, value in HEADERS if name != b"content-security-policy"]
    for headers, guarded in ((HEADERS, True), (without, False)):
        with (
            QuestionServer(approval()) as trap,
            QuestionServer(approval(), headers, hostile(monkeypatch, trap)) as asker,
        ):
            tab = browser.tab()
            tab.open(asker.url)
            tab.close()
            # Without the policy the same page does what it wants.
            assert (tab.alerts == 0) is guarded
            assert (trap.paths == []) is guarded
            assert not made_no_requests(asker, tab)


def test_another_sheet_is_kept_out(browser: Chromium) -> None:
    document = pages.render_question(approval(), "token").replace(b"<style>", b"<style>*{display:none}")
    with QuestionServer(approval(), None, document) as asker:
        tab = browser.tab()
        tab.open(asker.url)
        assert tab.evaluate("getComputedStyle(document.body).display") == "block"
        assert tab.evaluate("getComputedStyle(document.body).marginTop") == "8px"
        assert any("style" in text for text in tab.complaints)
        tab.close()


def test_the_page_is_shown_in_no_frame(browser: Chromium) -> None:
    free = [(name, value) for name, value in HEADERS if name not in (b"content-security-policy", b"x-frame-options")]
    for headers, guarded in ((HEADERS, True), (free, False)):
        with QuestionServer(approval(), headers) as framed:
            document = f'<!doctype html><iframe src="{framed.url}"></iframe>'.encode()
            with QuestionServer(approval(), [], document) as around:
                tab = browser.tab()
                tab.open(around.url)
                (inner,) = tab.call("Page.getFrameTree")["frameTree"]["childFrames"]
                assert (inner["frame"]["url"] != framed.url) is guarded
                tab.close()
