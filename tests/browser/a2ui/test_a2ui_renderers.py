"""The official renderers of A2UI show an exported surface, and a click comes back as exactly one answer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.a2ui.renderers import INSTALL, has_renderers, write_page
from tests.browser.chromium import Chromium, Tab
from tests.harness.definitions import node
from tests.live import Host, until
from tests.live.fixtures import host as host
from tests.live.steering import await_status, flow, register
from tests.protocol.surfaces.a2ui.surfaces import PAYLOAD, Json
from weftwork.a2ui import MEDIA_TYPE, decode_messages, fold_action, to_messages
from weftwork.protocol.surfaces.actions import BoundSurface, resolve_action
from weftwork.protocol.surfaces.surface import parse_surface

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_renderers(), reason=f"not installed: .venv/bin/python {' '.join(INSTALL)}"),
    pytest.mark.parametrize("renderer", ["lit", "react"]),
]
SURFACE = parse_surface(PAYLOAD)
assert SURFACE is not None
HOSTILE = (
    "<img src=x onerror=alert(1)> **bold** [link](https://evil.example/) ![image](https://evil.example/i.png)\n"
    "https://evil.example/ <script>alert(1)</script>\n\n- list\n1. list\n    code\n# heading `code` &amp; a | b\n---"
)


class Page:
    """A tab with one of the renderers."""

    def __init__(self, tab: Tab, renderer: str) -> None:
        self.tab, self._renderer = tab, renderer

    def show(self, messages: list[Json]) -> None:
        self.tab.evaluate(f"show({json.dumps(self._renderer)}, {json.dumps(messages)})")

    def update(self, messages: list[Json]) -> None:
        self.tab.evaluate(f"update({json.dumps(messages)})")

    def count(self, selector: str) -> int:
        return self.tab.evaluate(f"all({json.dumps(selector)}).length")

    def text(self) -> str:
        return self.tab.evaluate("text()")

    def wait_for(self, selector: str, count: int) -> None:
        until(lambda: self.count(selector) == count, f"{count} elements {selector}, found {self.count(selector)}")

    def actions(self) -> list[Json]:
        return self.tab.evaluate("JSON.parse(JSON.stringify(actions))")

    def click(self, selector: str, index: int = 0) -> None:
        """A press of the mouse in the middle of an element."""
        place = self.tab.evaluate(
            f"(() => {{ const e = all({json.dumps(selector)})[{index}]; e.scrollIntoView({{block: 'center'}});"
            " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            at = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
            self.tab.call("Input.dispatchMouseEvent", type=kind, **at)

    def type(self, selector: str, text: str) -> None:
        self.tab.evaluate(f"all({json.dumps(selector)})[0].focus()")
        self.tab.write(text)

    def set_date(self, text: str) -> None:
        """A date field takes no text; this is what its calendar does."""
        self.tab.evaluate(
            "(() => { const e = all('input[type=date]')[0];"
            " Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(e, "
            f"{json.dumps(text)});"
            " for (const kind of ['input', 'change'])"
            " e.dispatchEvent(new Event(kind, {bubbles: true, composed: true})); })()"
        )


@pytest.fixture
def page(browser: Chromium, renderer: str, tmp_path: Path) -> Iterator[Page]:
    tab = browser.tab()
    tab.screen(800, 1000)
    url = write_page(tmp_path).as_uri()
    tab.open(url)
    try:
        yield Page(tab, renderer)
        # The script and the icons of fields come from this machine; nothing else was asked for.
        assert [each for each in tab.requests if not each.startswith(("file:", "data:"))] == []
        assert tab.alerts == 0
    finally:
        tab.close()


def fill(page: Page) -> None:
    page.wait_for("button", 2)
    page.type("input[type=text]", "Ann")
    page.set_date("2026-11-20")
    page.click("input[type=radio]", 1)
    page.click("input[type=checkbox]")


def test_a_click_becomes_one_answer(page: Page) -> None:
    page.show(to_messages(PAYLOAD, surface_id="env-1"))
    fill(page)
    until(lambda: page.count("button:disabled") == 0, "enabled buttons")
    page.click("button")
    until(lambda: page.actions() != [], "an action")
    (action,) = page.actions()
    assert action["name"] == "openwop.resume"
    action_id, values = fold_action(PAYLOAD, action, surface_id="env-1")
    assert SURFACE is not None
    assert resolve_action(BoundSurface(SURFACE, "custom"), action_id, values) == {
        "guest": "Ann",
        "arrival": "2026-11-20",
        "room": "r2",
        "breakfast": False,
        "action": "book",
    }


def test_every_component_is_shown(page: Page) -> None:
    page.show(to_messages(PAYLOAD, surface_id="env-1"))
    page.wait_for("button", 2)
    shown = page.text()
    for component in PAYLOAD["surface"]["components"]:
        for text in (
            component.get("text"),
            component.get("label"),
            *(each["label"] for each in component.get("options", [])),
        ):
            assert text is None or text in shown
    assert "Trip" in shown
    fields = ("h2", 1), ("h3", 1), ("input[type=text]", 1), ("input[type=date]", 1), ("input[type=radio]", 2)
    for selector, count in (*fields, ("input[type=checkbox]:checked", 1), ("input[type=radio]:checked", 0)):
        assert page.count(selector) == count, selector


def test_no_button_works_before_required_fields_are_filled(page: Page) -> None:
    page.show(to_messages(PAYLOAD, surface_id="env-1"))
    page.wait_for("button", 2)
    for index in range(2):
        page.click("button", index)
    page.wait_for("button:disabled", 2)
    assert page.actions() == []


def test_a_partial_surface_is_inert_until_it_is_complete(page: Page) -> None:
    page.show(to_messages(PAYLOAD, surface_id="env-1", partial=True))
    fill(page)
    page.wait_for("button:disabled", 2)
    for index in range(2):
        page.click("button", index)
    assert page.actions() == []
    page.update(to_messages(PAYLOAD, surface_id="env-1", create=False))
    fill(page)
    page.wait_for("button:disabled", 0)
    page.click("button", 1)
    until(lambda: page.actions() != [], "an action")
    assert [fold_action(PAYLOAD, each)[0] for each in page.actions()] == ["ask"]


def test_a_refused_action_is_disabled(page: Page) -> None:
    page.show(to_messages(PAYLOAD, surface_id="env-1", disabled_actions={"ask": "Not here."}))
    fill(page)
    page.wait_for("button:disabled", 1)
    page.click("button", 1)
    page.click("button", 0)
    until(lambda: page.actions() != [], "an action")
    assert [fold_action(PAYLOAD, each)[0] for each in page.actions()] == ["book"]


def test_a_hostile_text_is_shown_as_it_was_written(page: Page) -> None:
    listed: list[Any] = [
        {"component": "heading", "text": HOSTILE.replace("\n", " ")},
        {"component": "text", "text": HOSTILE},
        {"component": "field.text", "id": "f", "label": HOSTILE.replace("\n", " ")},
        {"component": "action.button", "id": "b", "label": HOSTILE, "action": {"target": "resume"}},
    ]
    payload = {"catalogVersion": "0.9.1", "surface": {"title": HOSTILE.replace("\n", " "), "components": listed}}
    page.show(to_messages(payload, surface_id="env-1", agent_display_name=HOSTILE))
    page.wait_for("button", 1)
    # The Markdown of the renderers arrives later than the rest.
    until(lambda: page.count("p") == 2, "two paragraphs of Markdown")
    shown = page.text()
    # A newline of the source follows each break.
    assert shown.count(HOSTILE.replace("\n", "\n\n")) == 2, shown
    assert shown.count(HOSTILE.replace("\n", " ")) >= 3
    for selector in (
        "main a",
        "main img",
        "main strong",
        "main code",
        "main li",
        "main script",
        "main table",
        "main hr",
    ):
        name = selector.split()[1]
        assert page.count(name) == page.count(f"body > {name}"), name


RUN: Json = {
    "title": "Your delivery",
    "components": [
        {"component": "field.date", "id": "day", "label": "Day", "required": True},
        {"component": "field.select", "id": "time", "label": "Time", "options": [{"value": "am", "label": "Morning"}]},
        {"component": "action.button", "id": "send", "label": "Send it", "action": {"target": "resume"}},
    ],
}


def test_a_run_of_a_real_host_is_answered_once(page: Page, host: Host) -> None:
    config = {"timeoutMs": 600_000, "surface": RUN}
    register(host, flow("a2ui-live", [node("ask", "core.ui.surface", config=config)]))
    run_id = host.create("a2ui-live")
    await_status(host, run_id, "waiting-input")
    name = host.snapshot(run_id)["interrupt"]["surface"]["envelopeId"]
    path = f"/v1/host/weftwork/runs/{run_id}/surfaces/{name}"
    answer = host.call("GET", path, headers={"Accept": MEDIA_TYPE})
    assert (answer.status, answer.headers["content-type"]) == (200, MEDIA_TYPE)
    page.show(decode_messages(answer.body))
    page.wait_for("button", 1)
    page.set_date("2026-11-27")
    page.click("input[type=radio]")
    page.wait_for("button:disabled", 0)
    page.click("button")
    until(lambda: page.actions() != [], "an action")
    body = json.dumps(page.actions()[0]).encode()
    sent = [host.call("POST", f"{path}/actions/send", body=body, headers={"Content-Type": MEDIA_TYPE}) for _ in "ab"]
    assert [each.status for each in sent] == [200, 409]
    await_status(host, run_id, "completed")
    (resolved,) = [each["payload"] for each in host.log(run_id) if each["type"] == "interrupt.resolved"]
    assert resolved["resumeValue"] == {"day": "2026-11-27", "time": "am", "action": "send"}
    later = host.call("GET", path, headers={"Accept": MEDIA_TYPE})
    page.show(decode_messages(later.body))
    page.wait_for("button:disabled", 1)
