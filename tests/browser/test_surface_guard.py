"""The invariants of a renderer (RFC 0102), in Chromium: whatever a surface contains, nothing in it runs or is fetched,
and one pressed button is one action."""

import copy
import json
from typing import Any

import pytest

from tests.adapters.http.page.sample_questions import PAYLOADS, POLYGLOTS
from tests.browser import surface_page
from tests.browser.chromium import Chromium
from tests.browser.surface_page import (
    SURFACE_PATH,
    SurfacePage,
    SurfaceServer,
    booking,
    button,
    field,
    payload_of,
    view_of,
)
from tests.harness.cases import fails_without
from tests.live import until

pytestmark = pytest.mark.slow

MORE = """
{"component":"action.button"}
</label><input name=action value=approve>
" id="form" x="
#wfs-1-1
[data-now]
*{display:none}
@import url(//127.0.0.1:9/canary);
expression(alert(1))
-moz-binding:url(//127.0.0.1:9/canary)
<wop-surface url="//127.0.0.1:9/canary"></wop-surface>
<style>:root{--wfs-ink:url(//127.0.0.1:9/canary)}</style>
var(--x,url(//127.0.0.1:9/canary))
{origin}{reason}{type}{limit}
$& $1 $` $'
\\u{202e}
${`${alert(1)}`}
javascript:/*--></title></style></textarea></script></xmp><svg/onload='+/"/+/onmouseover=1/+/[*/[]/+alert(1)//'>
blob:null/x
filesystem:http://127.0.0.1:9/x
view-source:http://127.0.0.1:9/canary
mailto:ann@example.org?cc=eve@example.org
tel:+490000000
<link rel=modulepreload href=//127.0.0.1:9/canary>
<script type=importmap>{"imports":{"x":"//127.0.0.1:9/canary"}}</script>
<script type=speculationrules>{"prefetch":[{"urls":["//127.0.0.1:9/canary"]}]}</script>
<template shadowrootmode=open><img src=x onerror=alert(1)></template>
<input type=submit formaction=javascript:alert(1)>
<button popovertarget=form>x</button>
<a href=//127.0.0.1:9/canary attributionsrc>x</a>
<object data="data:text/html,<script>alert(1)</script>"></object>
toString
hasOwnProperty
valueOf
""".strip().splitlines()
_TEXTS = [*POLYGLOTS, *PAYLOADS, *MORE, *map(str.upper, PAYLOADS[:30])]
HOSTILE = list(dict.fromkeys(text.encode("utf-8", "replace").decode() for text in _TEXTS))
TAGS: set[str] = set("SECTION DIV P H3 H4 H5 H6 LABEL SPAN INPUT SELECT OPTION BUTTON UL LI A".split())
NOTICE_TAGS: set[str] = TAGS | {"DETAILS", "SUMMARY", "PRE"}
INSPECT = """(() => {
  const nodes = [...document.querySelectorAll("#form *")];
  return {
    tags: [...new Set(nodes.map((each) => each.tagName))],
    attributes: [...new Set(nodes.flatMap((each) => each.getAttributeNames()))],
    links: nodes.filter((each) => each.hasAttribute("href")).map((each) => each.getAttribute("href")),
    scripts: document.scripts.length,
    globals: Object.keys(window).filter((each) => each === "ran"),
  };
})()"""
ATTRIBUTES = set(
    """
    class lang dir id role tabindex aria-labelledby aria-busy aria-disabled aria-invalid aria-describedby for type
    autocomplete placeholder required disabled readonly hidden value max data-state data-trust data-field href open
    """.split()
)


def hostile_view(text: str, number: int) -> dict[str, Any]:
    """A surface and a view with the text in every place that can hold one."""
    mark = f"{text[:300]} {number}"
    components = [
        {"component": "heading", "text": mark, "level": 3},
        {"component": "text", "text": text},
        field("text", "a", mark, placeholder=mark, required=True),
        field("date", "b", mark),
        field("select", "c", mark, options=[{"value": mark, "label": mark}, {"value": "other", "label": text}]),
        field("checkbox", "d", mark),
        button("go", mark),
        button("no", mark),
    ]
    view = view_of(payload_of(*components, title=text[:250]), runId=text, nodeId=text, interruptId=text, note=text)
    view["actions"][0]["effect"] = text
    view["actions"][1]["disabledReason"] = text
    return view


def hostile_notice(text: str) -> dict[str, Any]:
    """The same text where it is not valid: as a type, an id, a member, a status, a trust, a diagnostic."""
    payload = payload_of({"component": text, text: text}, field("text", text, text), button("go", text), title=text)
    return view_of(
        payload,
        diagnostics=[{"pointer": text, "message": text}, text, {"pointer": {text: 1}}, [{text: 1}]],
        status=text,
        contentTrust=text,
    )


def inspect(page: SurfacePage, tags: set[str]) -> None:
    found = page.run(INSPECT)
    assert set(found["tags"]) <= tags, found["tags"]
    assert set(found["attributes"]) <= ATTRIBUTES, found["attributes"]
    assert all(each.startswith("#wfs-") for each in found["links"])
    assert (found["scripts"], found["globals"]) == (1, [])


@pytest.mark.rule("surf-61")
def test_200_hostile_texts_in_every_place_run_nothing_and_fetch_nothing(browser: Chromium) -> None:
    assert len(HOSTILE) >= 200
    with SurfacePage(browser) as page:
        for number, text in enumerate(HOSTILE):
            page.show(hostile_view(text, number), json.dumps({"origin": text}))
            assert page.state == "open", text
            # Pressed with a gap, so that errors repeat the labels, and then with the text as the value.
            page.run("document.querySelector('.wfs button').click()")
            page.run(f"document.querySelector('.wfs input').value = {json.dumps('v' + text)}")
            page.run("document.querySelector('.wfs select').selectedIndex = 1")
            page.run("document.querySelector('.wfs button').click()")
            inspect(page, TAGS)
        assert page.run("pressed.map(([id]) => id)") == ["go"] * len(HOSTILE)
        values = page.run("pressed.map(([, values]) => values)")
        for number, (text, sent) in enumerate(zip(HOSTILE, values, strict=True)):
            assert sent["c"] == f"{text[:300]} {number}"
            assert sent.keys() == {"a", "c", "d"}


@pytest.mark.rule("surf-61")
def test_hostile_texts_in_notices_and_errors_run_nothing(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        for text in HOSTILE:
            page.show(hostile_notice(text))
            page.run("document.querySelectorAll('details').forEach(each => each.open = true)")
            inspect(page, NOTICE_TAGS)
            fault = {"pointer": f"/values/{text}", "field": text, "message": text}
            about = json.dumps({"code": text, "violations": [fault]})
            thrown = f"Object.assign(new Error({json.dumps(text)}), {about})"
            page.show(booking(blockedReason=text))
            page.show(view_of(payload_of(button("go"))), f"{{onAction: async () => {{ throw {thrown}; }}}}")
            page.run("document.querySelector('.wfs button').click()")
            page.settle()
            inspect(page, NOTICE_TAGS)


@pytest.mark.rule("surf-61")
def test_the_watch_sees_markup_requests_and_scripts(browser: Chromium) -> None:
    """The page of the tests notices a renderer that builds markup: without this, the tests above could not fail."""
    sabotage = "node.replaceChildren(visible(next.text)), true)"
    edits = ((sabotage, "node.insertAdjacentHTML('beforeend', next.text), true)"),)
    view = view_of(payload_of({"component": "text", "text": "<img src=//127.0.0.1:9/canary onerror=alert(1)>"}))
    policies = {
        surface_page.POLICY: "trusted",
        "default-src 'self' 'unsafe-inline'": "img-src",
        "default-src * 'unsafe-inline'": "http://127.0.0.1:9/canary",
        "default-src *; script-src 'self' 'unsafe-inline'": "a script ran",
    }
    for policy, expected in policies.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(surface_page, "EDITS", edits)
            page = SurfacePage(browser, SurfaceServer(policy=policy))
            page.__enter__()
            page.run(f"try {{ show({json.dumps(view)}) }} catch {{}}")
            page.settle()
            found = page.breaches()
            with pytest.raises(AssertionError):
                page.__exit__(None, None, None)
            assert any(expected in each for each in found), found


@pytest.mark.rule("surf-61")
@fails_without(surface_page, "EDITS", (("    .replace(HIDDEN, (found)", "    .replace(/$^/, (found)"),))
def test_characters_that_reorder_text_are_shown(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.show(hostile_view("\u202eevorppA\u2066", 1))
        assert "⟦U+202E⟧evorppA⟦U+2066⟧" in page.text(".wfs button")
        said = page.run("document.querySelector('.wfs').textContent")
        assert not {"\u202e", "\u2066"} & set(said)


@pytest.mark.rule("surf-61")
@fails_without(surface_page, "EDITS", (("overflow:hidden;contain:paint;isolation:isolate;", ""),))
def test_content_is_not_drawn_over_the_frame(browser: Chromium) -> None:
    view = view_of(payload_of({"component": "text", "text": "Z"}, button("go")))
    pictures: list[str] = []
    move = "const s = new CSSStyleSheet(); s.replaceSync('.wfs-title{position:relative;top:-4rem;background:red}');"
    for change in ("", f"(() => {{ {move} document.adoptedStyleSheets.push(s); }})()"):
        with SurfacePage(browser) as page:
            page.show(view)
            page.run(change or "1")
            clip = page.run(
                "(() => { const b = document.querySelector('.wfs-frame').getBoundingClientRect();"
                " return {x: b.x, y: b.y, width: b.width, height: b.height, scale: 1}; })()"
            )
            pictures.append(page.tab.call("Page.captureScreenshot", format="png", clip=clip)["data"])
    assert pictures[0] == pictures[1]


@pytest.mark.rule("surf-63")
@fails_without(surface_page, "EDITS", (("RESERVED_FIELD_IDS.includes(id)", "false"),))
def test_no_field_can_have_the_name_of_the_pressed_button(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        for name in ("action", "__proto__", "constructor", "prototype", "openwop.action"):
            page.show(view_of(payload_of(field("text", name, "Name"), button("reject"))))
            assert page.state == "invalid"


@pytest.mark.rule("surf-63")
@fails_without(
    surface_page,
    "EDITS",
    (
        ("RESERVED_FIELD_IDS.includes(id)", "false"),
        ("Object.fromEntries(values)", "[...values].reduce((all, [k, v]) => { all[k] = v; return all; }, {})"),
    ),
)
def test_a_reserved_field_that_came_through_changes_neither_button_nor_prototype(
    browser: Chromium, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even without the check, each value is a member of its own, and the button is not among the values."""
    if not surface_page.EDITS:
        monkeypatch.setattr(surface_page, "EDITS", (("RESERVED_FIELD_IDS.includes(id)", "false"),))
    with SurfacePage(browser) as page:
        page.show(view_of(payload_of(field("text", "action", "A"), field("text", "__proto__", "P"), button("reject"))))
        page.fill("A", "approve")
        page.fill("P", "x")
        page.press("Reject")
        assert page.run("[pressed[0][0], Object.keys(pressed[0][1]).sort()]") == ["reject", ["__proto__", "action"]]
        assert page.run("({}).x") is None
    monkeypatch.undo()


@pytest.mark.rule("surf-63")
@fails_without(surface_page, "EDITS", (("if (this.isSending || ", "if ("),))
def test_a_double_click_sends_once(browser: Chromium) -> None:
    with SurfacePage(browser, SurfaceServer()) as page:
        page.connect()
        page.fill_in()
        page.server.gate.clear()
        page.run("(() => { const b = document.querySelector('.wfs button'); b.click(); b.click(); b.click(); })()")
        page.press("Ask me later")
        page.tab.press("Enter", 13, "\r")
        assert page.state == "sending"
        page.server.gate.set()
        until(lambda: page.state == "sent", "the answer")
        page.run("document.querySelector('.wfs button').disabled = false")
        page.run("document.querySelector('.wfs button').click()")
        page.settle()
        posts = [path for path in page.server.paths if path.startswith("POST")]
        assert posts == [f"POST {SURFACE_PATH}/actions/book"]
        assert page.server.posts[0]["body"] == {
            "values": {"guest": "Ada", "arrival": "2026-02-03", "room": "r2", "breakfast": True}
        }
        answer = {"guest": "Ada", "arrival": "2026-02-03", "room": "r2", "breakfast": True, "action": "book"}
        assert page.server.actions == [("book", answer)]


DEAD: dict[str, tuple[Any, str]] = {
    "partial": ({"partial": True}, "still arriving"),
    "partial payload": ({"payload": payload_of(button("go"), partial=True)}, "still arriving"),
    "partial object": ({"partial": {"isPartial": True}}, "still arriving"),
    "partial of another form": ({"partial": "yes"}, "still arriving"),
    "blocked": ({"blockedReason": "Untrusted content cannot approve."}, "Untrusted content cannot approve."),
    "diagnostics": ({"diagnostics": [{"pointer": "", "message": "odd"}]}, "reports errors"),
    "answered": ({"status": "answered"}, "already answered"),
    "cancelled": ({"status": "cancelled"}, "withdrawn"),
    "unknown status": ({"status": "constructor"}, "This form is closed."),
    "no status": ({"status": None}, "This form is closed."),
    "not offered": ({"actions": []}, "does not offer this button"),
    "no actions": ({"actions": None}, "does not offer this button"),
    "another target": ({"actions": [{"id": "go", "label": "Go", "target": "exchange"}]}, "does not offer"),
    "disabled": (
        {"actions": [{"id": "go", "label": "Go", "target": "resume", "disabledReason": "Not in a conversation."}]},
        "Not in a conversation.",
    ),
}


@pytest.mark.rule("surf-63")
@fails_without(
    surface_page,
    "EDITS",
    (("|| this.deadness() || this.inertness(entry.component) !== undefined", ""),),
)
def test_a_surface_that_cannot_be_answered_sends_nothing_and_says_why(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        for name, (change, said) in DEAD.items():
            page.show({**view_of(payload_of(button("go"))), **change})
            assert said in page.text(), name
            assert page.run("document.querySelector('.wfs button').disabled"), name
            # Also if the attribute is removed from outside.
            page.run("(() => { const b = document.querySelector('.wfs button'); b.disabled = false; b.click(); })()")
            assert page.pressed == [], name
        page.show(view_of(payload_of(button("go"))), "{onAction: undefined}")
        assert "preview" in page.text()
        assert page.run("document.querySelector('.wfs button').disabled")


@pytest.mark.rule("surf-63")
@pytest.mark.parametrize("value", [False, None, {"isPartial": False}])
def test_a_final_surface_can_be_answered(browser: Chromium, value: Any) -> None:
    with SurfacePage(browser) as page:
        page.show(view_of(payload_of(button("go")), partial=value))
        page.press("Go")
        assert page.run("pressed.length") == 1


def test_the_trust_of_the_content_is_in_the_frame(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        untrusted = "untrusted source"
        cases = {"trusted": "only content from trusted", "untrusted": untrusted, None: untrusted, "Trusted": untrusted}
        for trust, said in cases.items():
            page.show(booking(contentTrust=trust))
            assert said in page.text(".wfs-frame")


def test_the_view_is_not_read_again_after_it_was_rendered(browser: Chromium) -> None:
    view = copy.deepcopy(booking())
    with SurfacePage(browser) as page:
        page.run(f"window.view = {json.dumps(view)}; show(view)")
        page.run("view.payload.surface.components[7].id = 'later'; view.payload.surface.components[2].id = 'other'")
        page.fill_in()
        page.press("Book it")
        assert page.pressed[0][0] == "book"
        assert page.pressed[0][1]["guest"] == "Ada"
