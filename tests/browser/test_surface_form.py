"""A surface in a page as a person has it: fields, errors, the keyboard, updates while it arrives, and its end."""

import json
from typing import Any

import pytest

from tests.browser import surface_page
from tests.browser.chromium import Chromium
from tests.browser.surface_page import BOOKING, SurfacePage, booking, button, field, payload_of, view_of
from tests.harness.cases import each_case, fails_without

pytestmark = pytest.mark.slow

TAB, BACK_TAB, ENTER, SPACE, DOWN = ("Tab", 9), ("Tab", 9), ("Enter", 13, "\r"), (" ", 32, " "), ("ArrowDown", 40)


def focused(page: SurfacePage) -> str:
    """The text of the label or of the element that has the focus."""
    return page.run(
        "(() => { const e = document.activeElement;"
        " const label = e.id && document.querySelector(`label[for='${e.id}']`);"
        " return label ? label.firstChild.data : e.innerText.split('\\n')[0]; })()"
    )


def press_enter(page: SurfacePage) -> None:
    page.tab.press(*ENTER)
    page.settle()


def test_a_pressed_button_calls_back_with_what_was_entered(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.show(booking())
        page.fill_in()
        page.choose("Breakfast", False)
        page.press("Book it")
        values = {"guest": "Ada", "arrival": "2026-02-03", "room": "r2", "breakfast": False}
        assert page.pressed == [["book", values, {"surfaceId": "env-1", "target": "resume"}]]
        assert page.state == "sent"
        assert focused(page) == "Your answer was recorded."
        assert page.run("document.querySelector('.wfs button').disabled")


@pytest.mark.rule("surf-70")
@fails_without(surface_page, "EDITS", (("const note = why ?? effect;", "const note = why;"),))
def test_what_a_button_of_an_approval_decides_is_below_it(browser: Chromium) -> None:
    actions = [{"id": "accept", "label": "Reject it", "target": "resume", "effect": "Approve"}]
    with SurfacePage(browser) as page:
        page.show(view_of(payload_of(button("accept", "Reject it")), actions=actions))
        assert "Reject it" in page.text(".wfs button")
        assert page.text(".wfs-reason").strip() == "Approve"
        page.press("Reject it")
        assert page.pressed == [["accept", {}, {"surfaceId": "env-1", "target": "resume"}]]


@fails_without(surface_page, "EDITS", (("(entry.component.required && read() === undefined", "(false"),))
def test_required_fields_bite_and_the_first_one_gets_the_focus(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.show(booking())
        assert page.run("document.querySelector('.wfs select').selectedIndex") == 0
        page.fill("Name", "   ")
        page.press("Book it")
        assert (page.pressed, focused(page)) == ([], "Name")
        rows = page.run("[...document.querySelectorAll('.wfs-errors li')].map(each => each.innerText)")
        assert rows == [f"{name}: This field must be filled in." for name in ("Name", "First night", "Room")]
        invalid = page.run("[...document.querySelectorAll('[aria-invalid=true]')].length")
        described = page.run(
            "[...document.querySelectorAll('[aria-invalid=true]')]"
            ".map(each => document.getElementById(each.getAttribute('aria-describedby')).innerText)"
        )
        assert (invalid, set(described)) == (3, {"This field must be filled in."})
        page.tab.click(".wfs-errors li:nth-child(3) a")
        assert focused(page) == "Room"
        assert page.run("location.hash") == ""
        page.fill_in()
        assert page.run("document.querySelectorAll('[aria-invalid]').length") == 0
        page.press("Book it")
        assert page.pressed[0][0] == "book"


@fails_without(surface_page, "EDITS", (("control.validity.badInput || ", ""),))
def test_half_a_date_is_an_error_also_if_the_field_is_optional(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.show(view_of(payload_of(field("date", "day"), button("go"))))
        page.run(f"document.querySelector({page.control('Day')!r}).focus()")
        page.tab.press("1", 49, "1")
        page.press("Go")
        assert "Enter a complete date." in page.text(".wfs-errors")
        assert page.pressed == []


@fails_without(surface_page, "EDITS", (("isLonger(control.value, MAX.value)", "false"),))
def test_a_text_that_the_host_would_refuse_is_not_sent(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.show(view_of(payload_of(field("text", "note"), button("go"))))
        page.run(f"document.querySelector({page.control('Note')!r}).value = 'x'.repeat(65537)")
        page.press("Go")
        assert "Enter 65536 or fewer characters." in page.text(".wfs-errors")
        assert page.pressed == []


def test_empty_optional_fields_are_left_out(browser: Chromium) -> None:
    fields = [field("text", "a"), field("date", "b"), field("select", "c", options=surface_page.OPTIONS)]
    with SurfacePage(browser) as page:
        page.show(view_of(payload_of(*fields, field("checkbox", "d"), button("go"))))
        assert page.text("option") == "No answer"
        page.press("Go")
        assert page.pressed[0][1] == {"d": False}


def test_what_the_server_refuses_is_shown_at_its_field(browser: Chromium) -> None:
    violations = [
        {"pointer": "/values/arrival", "field": "arrival", "message": "This night is taken."},
        {"pointer": "/answers/room", "message": "Choose another room."},
        {"pointer": "/values", "message": "The house is full."},
    ]
    error = f"new kit.SurfaceError('The values are not valid.', {json.dumps({'violations': violations})})"
    with SurfacePage(browser) as page:
        page.show(booking(), f"{{onAction: async () => {{ throw {error}; }}}}")
        page.fill_in()
        page.press("Book it")
        page.settle()
        rows = page.run("[...document.querySelectorAll('.wfs-errors li')].map(each => each.innerText)")
        assert rows == ["First night: This night is taken.", "Room: Choose another room.", "The house is full."]
        assert (focused(page), page.state) == ("First night", "open")
        assert not page.run("document.querySelector('.wfs button').disabled")


@each_case(
    "thrown, said, state",
    ("new Error('The network is down.')", "The network is down.", "open"),
    ("new kit.SurfaceError('Too late.', {code: 'interrupt_already_resolved'})", "already answered", "closed"),
    ("new kit.SurfaceError('Too late.', {code: 'interrupt_expired'})", "deadline", "closed"),
    ("new kit.SurfaceError('x', {code: 'constructor'})", "x", "open"),
    ("undefined", "", "sent"),
    ("null", "did not accept", "open"),
    ("'text'", "did not accept", "open"),
    ("{violations: [null, {message: {}}]}", "did not accept", "open"),
)
def test_a_failed_action_says_what_happened(browser: Chromium, thrown: str, said: str, state: str) -> None:
    with SurfacePage(browser) as page:
        end = f"throw {thrown}" if state != "sent" else "return"
        page.show(view_of(payload_of(button("go"))), f"{{onAction: async () => {{ {end}; }}}}")
        page.press("Go")
        page.settle()
        assert said in page.text()
        assert page.state == state


def test_the_keyboard_is_enough(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.show(booking())
        page.run("document.querySelector('main').tabIndex = -1; document.querySelector('main').focus()")
        order: list[str] = []
        page.tab.press(*TAB)
        page.tab.write("Ada")
        order.append(focused(page))
        page.tab.press(*TAB)
        order.append(focused(page))
        for digit in "02032026":
            page.tab.press(digit, ord(digit), digit)
        while focused(page) == "First night":
            page.tab.press(*TAB)
        order.append(focused(page))
        page.tab.press(*DOWN)
        page.tab.press(*TAB)
        order.append(focused(page))
        page.tab.press(*SPACE)
        page.tab.press(*TAB)
        order.append(focused(page))
        page.tab.press(*TAB)
        order.append(focused(page))
        page.tab.press(*TAB)
        assert page.run("document.activeElement.id") == "after"
        assert order == ["Name", "First night", "Room", "Breakfast", "Book it", "Ask me later"]
        page.run("document.querySelector('.wfs button').focus()")
        press_enter(page)
        values = {"guest": "Ada", "arrival": "2026-02-03", "room": "r1", "breakfast": False}
        assert [each[:2] for each in page.pressed] == [["book", values]]


@fails_without(surface_page, "EDITS", (("if (buttons.length === 1)", "if (buttons.length)"),))
def test_enter_presses_a_button_only_if_there_is_one(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.run(
            "const around = document.createElement('form'); window.outer = 0; around.id = 'form';"
            "around.addEventListener('submit', (event) => { event.preventDefault(); outer++; });"
            "document.getElementById('form').replaceWith(around)"
        )
        for count, expected in ((2, []), (1, ["b0"])):
            buttons = [button(f"b{number}") for number in range(count)]
            page.show(view_of(payload_of(field("text", "note"), *buttons)))
            page.fill("Note", "x")
            press_enter(page)
            assert [each[0] for each in page.pressed] == expected
        assert page.run("outer") == 0


def arriving(count: int, **more: Any) -> dict[str, Any]:
    """The view while the first components have arrived, and the title and half of the next one."""
    half = [{"component": "field.text", "id": "ne"}] if count < len(BOOKING) else []
    return view_of(payload_of(*BOOKING[:count], *half), surfaceId=None, partial=True, **more)


@fails_without(surface_page, "EDITS", (("let entry = this.entries.get(key);", "let entry;"),))
def test_a_surface_that_arrives_keeps_what_was_typed_and_the_focus(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        # The data of a frame of the event stream, which names the node but no recorded surface.
        page.show({"nodeId": "ask", "contentTrust": "trusted", "partial": {"isPartial": True}, "payload": {}})
        assert (page.state, page.run("document.querySelector('.wfs').ariaBusy")) == ("partial", "true")
        page.update(arriving(3))
        page.fill("Name", "Ada")
        page.run("document.activeElement.setSelectionRange(1, 2); window.field = document.activeElement")
        for count in range(4, len(BOOKING) + 1):
            page.update(arriving(count))
            assert page.run("document.querySelectorAll('.wfs-body > *').length") == 1 + count
        assert page.run("[...document.querySelectorAll('.wfs button')].every(each => each.disabled)")
        page.choose("Room", "1")
        renamed = json.loads(json.dumps(BOOKING).replace('"Name"', '"Full name"'))
        page.update(view_of(payload_of({"component": "text", "text": "Before"}, *renamed), surfaceId="env-9"))
        assert page.run(
            "document.activeElement === window.field && [field.value, field.selectionStart, field.selectionEnd]"
        ) == ["Ada", 1, 2]
        assert (page.state, focused(page)) == ("open", "Full name")
        page.choose("First night", "2026-02-03")
        page.press("Book it")
        assert page.pressed[0][1]["room"] == "r2"


def test_an_update_for_another_surface_starts_anew(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.show(booking())
        page.fill_in()
        page.press("Book it")
        page.update(booking())
        assert page.state == "sent"
        page.update(booking(surfaceId="env-2"))
        assert page.state == "open"
        assert page.run(f"document.querySelector({page.control('Name')!r}).value") == ""


def test_an_answer_from_elsewhere_closes_the_form_and_leaves_what_was_typed(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.show(booking())
        page.fill_in()
        page.update(booking(status="answered"))
        assert (page.state, focused(page)) == ("closed", "Name")
        assert page.run("[document.activeElement.value, document.activeElement.readOnly]") == ["Ada", True]
        page.press("Book it")
        assert page.pressed == []


def test_headings_do_not_jump_and_buttons_stay_in_their_order(browser: Chromium) -> None:
    cases = {(5, 2): ["H3", "H4", "H4"], (2, 5): ["H3", "H4", "H5"], (6, 1, 6): ["H3", "H4", "H4", "H5"]}
    with SurfacePage(browser) as page:
        for levels, tags in cases.items():
            headings = [{"component": "heading", "text": "x", "level": level} for level in levels]
            page.show(view_of(payload_of(*headings)))
            found = page.run("[...document.querySelectorAll('.wfs :is(h1,h2,h3,h4,h5,h6)')].map(each => each.tagName)")
            assert found == tags
        page.show(view_of(payload_of(button("no"), field("text", "why"), button("yes"))), "{headingLevel: 2}")
        order = page.run("[...document.querySelectorAll('.wfs-body > *')].map(each => each.innerText)")
        assert order == ["Book a room", "No", "Why", "Yes"]
        assert page.run("document.querySelector('.wfs-title').tagName") == "H2"


def test_texts_come_from_one_object(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        keys = page.run("Object.keys(kit.MESSAGES).filter(each => !['lang', 'dir'].includes(each))")
        messages = {**{each: f"«{each}»" for each in keys}, "lang": "de", "dir": "rtl", "origin": "«von {origin}»"}
        page.show(booking(contentTrust="untrusted"), json.dumps({"messages": messages, "origin": "acme"}))
        page.press("Book it")
        own = page.run(
            "[...document.querySelectorAll('.wfs-frame p, .wfs-end, .wfs-required, .wfs-errors > p, .wfs-error')]"
            ".map(each => each.innerText).filter(Boolean)"
        )
        assert all(each.startswith("«") for each in own)
        assert "«von acme»" in own
        assert page.run("[document.querySelector('.wfs').lang, document.querySelector('.wfs').dir]") == ["de", "rtl"]
        assert page.run("document.querySelector('.wfs-body').lang") == ""


@pytest.mark.parametrize("leak", ["if (false)", "(window.kept ??= []).push(this); if (this.sheet)"])
def test_what_is_left_behind_is_seen(browser: Chromium, monkeypatch: pytest.MonkeyPatch, leak: str) -> None:
    monkeypatch.setattr(surface_page, "EDITS", (("if (this.sheet)", leak),))
    with pytest.raises(AssertionError):
        test_destroy_leaves_nothing_behind(browser)


def test_destroy_leaves_nothing_behind(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        few, many = after_destroying(page, 3), after_destroying(page, 40)
        assert few[0] == many[0] == 0
        # The browser itself keeps the elements of one surface, such as the last one that had the focus.
        assert many[1] < few[1] + 200
        assert many[2] <= few[2]


def after_destroying(page: SurfacePage, number: int) -> tuple[int, int, int]:
    for _ in range(number):
        page.show(booking())
        page.update(booking(status="answered"))
        page.run("form.destroy(); form.destroy(); form.update({}); window.form = null")
        assert page.run("document.getElementById('form').childNodes.length") == 0
    return counts(page)


def counts(page: SurfacePage) -> tuple[int, int, int]:
    """Adopted sheets, and the nodes and listeners that are alive in the page."""
    page.tab.call("HeapProfiler.collectGarbage")
    found = page.tab.call("Memory.getDOMCounters")
    return page.run("document.adoptedStyleSheets.length"), found["nodes"], found["jsEventListeners"]


def test_a_second_surface_in_an_element_replaces_the_first(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.show(booking())
        page.run("window.first = form")
        page.show(booking(surfaceId="env-2"))
        page.run("first.destroy(); first.update({})")
        assert page.run("document.querySelectorAll('.wfs').length") == 1
        assert page.run("document.adoptedStyleSheets.length") == 1


def test_the_styles_can_be_left_out_and_follow_a_shadow_root(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.show(booking(), "{styles: false}")
        assert page.run("document.adoptedStyleSheets.length") == 0
        page.run("form.destroy(); document.getElementById('form').attachShadow({mode: 'open'})")
        page.run(
            "window.inner = document.createElement('div'); document.getElementById('form').shadowRoot.append(inner);"
            f"window.form = kit.renderSurface(inner, {json.dumps(booking())});"
        )
        assert page.run("[document.adoptedStyleSheets.length, inner.getRootNode().adoptedStyleSheets.length]") == [0, 1]
        assert page.run("getComputedStyle(inner.firstChild).borderTopWidth") == "1px"
