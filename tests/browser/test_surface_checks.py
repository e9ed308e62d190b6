"""The module judges a payload as the host does: the same verdict for hundreds of changed surfaces."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browser import surface_page
from tests.browser.chromium import Chromium
from tests.browser.surface_page import BOOKING, SurfacePage, booking, button, field, payload_of, view_of
from tests.harness.cases import fails_without
from weftwork.protocol.json import schema
from weftwork.protocol.surfaces import limits
from weftwork.protocol.surfaces.limits import check_limits
from weftwork.protocol.surfaces.surface import COMPONENTS

pytestmark = pytest.mark.slow

KIND = "envelopes/ui.a2ui-surface"
VALUES: list[Any] = [None, True, 0, 7, 2.5, -1, "", "x", "resume", "0.9.1", "field.text", [], {}, ["x"], {"a": 1}]
IDS = [
    "", "a b", "é", "action", "__proto__", "constructor", "prototype", "openwop.x", "openwop", ".", "..", "...", "a/b",
    "guest", "book", "x" * 128, "x" * 129, "a\n", "Action", "hasOwnProperty", "toString",
]  # fmt: skip


def is_valid(payload: Any) -> bool:
    """The verdict of the host."""
    return not schema.check(KIND, payload) and not check_limits(payload)


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in members:
        yield from paths(inner, (*path, name))


def changed(payload: Any, path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    copied = copy.deepcopy(payload)
    holder = copied
    for step in path[:-1]:
        holder = holder[step]
    change(holder, path[-1])
    return copied


def mutants() -> list[Any]:
    """Surfaces with one change each: every value replaced, every member removed, added or renamed, and the limits."""
    base = payload_of(*BOOKING, reasoning="Because.")
    found: list[Any] = [base, *VALUES]
    for path in paths(base):
        if not path:
            continue
        for value in VALUES:
            found.append(changed(base, path, lambda holder, name, value=value: holder.__setitem__(name, value)))
        found.append(changed(base, path, lambda holder, name: holder.pop(name)))
        if isinstance(get(base, path), dict):
            for name in ("more", "__proto__", "partial", "component"):
                found.append(changed(base, (*path, name), lambda holder, at: holder.__setitem__(at, "x")))
    for name in IDS:
        found.append(payload_of(field("text", name), button("go")))
        found.append(payload_of(field("text", "f"), button(name)))
        found.append(payload_of(field("text", "guest"), field("date", name), button("book")))
    found += limit_cases()
    # Some of them with a second change.
    chance = random.Random(7)
    for _ in range(100):
        twice = copy.deepcopy(chance.choice(found))
        where = [path for path in paths(twice) if path]
        if where:
            value = chance.choice(VALUES)
            twice = changed(twice, chance.choice(where), lambda holder, at, value=value: holder.__setitem__(at, value))
        found.append(twice)
    return found


def get(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def limit_cases() -> Iterator[Any]:
    """Each limit, reached and exceeded, also with characters that are two units of UTF-16."""
    for sign in ("x", "\U0001f9f5"):
        for over in (0, 1):
            yield payload_of(button("go"), title=sign * (limits.MAX_TITLE + over))
            yield payload_of({"component": "text", "text": sign * (limits.MAX_TEXT + over)})
            yield payload_of({"component": "heading", "text": sign * (limits.MAX_TEXT + over)})
            yield payload_of(field("text", "f", sign * (limits.MAX_LABEL + over)))
            yield payload_of(field("text", "f", placeholder=sign * (limits.MAX_LABEL + over)))
            yield payload_of(options(1, "v" * 3, sign * (limits.MAX_LABEL + over)))
            yield payload_of(options(1, sign * (limits.MAX_OPTION_VALUE - 1 + over), "l"))
            five = [{"component": "text", "text": sign * limits.MAX_TEXT}] * 5
            yield payload_of(*five, *([{"component": "text", "text": "x"}] * over), title=None)
    for over in (0, 1):
        yield payload_of(*[{"component": "text", "text": "x"}] * (limits.MAX_COMPONENTS + over))
        yield payload_of(options(limits.MAX_OPTIONS + over))
        yield payload_of(*[options(limits.MAX_OPTIONS, name=f"s{number}") for number in range(5)], *[options(1)] * over)
    yield payload_of(field("select", "s", options=[{"value": "a", "label": "A"}, {"value": "a", "label": "B"}]))


def options(count: int, value: str = "v", label: str = "l", name: str = "s") -> dict[str, Any]:
    return field("select", name, options=[{"value": f"{value}{n}"[:2000], "label": label} for n in range(count)])


@pytest.mark.rule("surf-60")
def test_the_module_and_the_host_have_the_same_verdict(browser: Chromium) -> None:
    payloads = mutants()
    verdicts = [is_valid(each) for each in payloads]
    assert len(payloads) > 800
    assert 40 < sum(verdicts) < len(verdicts) - 400
    with SurfacePage(browser) as page:
        found: list[bool] = []
        for start in range(0, len(payloads), 100):
            part = json.dumps(json.dumps(payloads[start : start + 100]))
            found += page.run(f"JSON.parse({part}).map(each => kit.checkSurface(each).length === 0)")
    wrong = [
        (json.dumps(each)[:300], verdict)
        for each, verdict, seen in zip(payloads, verdicts, found, strict=True)
        if verdict is not seen
    ]
    assert wrong == []


@pytest.mark.rule("surf-60")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("else if (seen.has(id))", "else if (false)"),
        ("RESERVED_FIELD_IDS.includes(id)", "false"),
        ("!ID.test(id) ||", ""),
        ("PATH_STEPS.includes(id)", "false"),
        ('fault("additionalProperties")', "undefined"),
        ("if (options > MAX.allOptions)", "if (false)"),
        ("if (total > MAX.allText)", "if (false)"),
        ("if (components.length > MAX.components)", "if (false)"),
    ],
)
def test_a_missing_check_changes_a_verdict(
    browser: Chromium, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    monkeypatch.setattr(surface_page, "EDITS", ((old, new),))
    payloads = [each for each in mutants() if not is_valid(each)]
    with SurfacePage(browser) as page:
        text = json.dumps(json.dumps(payloads))
        assert page.run(f"JSON.parse({text}).some(each => kit.checkSurface(each).length === 0)")


ONE_OF_EACH = payload_of(*BOOKING[:2], *BOOKING[2:4], *BOOKING[5:7], button("book"), title="All types")


@pytest.mark.rule("surf-02")
@fails_without(surface_page, "EDITS", (('"field.date"(form', '"field.moment"(form'),))
def test_every_type_of_the_table_has_a_renderer(browser: Chromium) -> None:
    types = [str(each.__struct_config__.tag) for each in COMPONENTS]
    assert [each["component"] for each in ONE_OF_EACH["surface"]["components"]] == types
    with SurfacePage(browser) as page:
        page.show(view_of(ONE_OF_EACH))
        assert page.run("document.querySelectorAll('.wfs-unknown').length") == 0
        assert page.run("document.querySelector('.wfs-body').children.length") == 1 + len(types)


@fails_without(surface_page, "EDITS", (("if (this.hasUnknown)", "if (false)"),))
def test_an_unknown_component_is_a_notice_and_no_button_works(browser: Chromium) -> None:
    view = booking()
    view["payload"]["surface"]["components"].insert(3, {"component": "field.rating", "id": "stars", "scale": 5})
    with SurfacePage(browser) as page:
        page.show(view)
        assert "cannot be shown here (field.rating)" in page.text(".wfs-unknown")
        assert "First night" in page.text()
        assert page.state == "blocked"
        page.fill_in()
        page.press("Book it")
        assert page.pressed == []


@pytest.mark.rule("surf-60")
@fails_without(surface_page, "EDITS", (("if (view.render === false || faults.length)", "if (false)"),))
def test_what_is_not_valid_is_stored_but_not_rendered(browser: Chromium) -> None:
    bad = payload_of(field("text", "a"), field("text", "a"), button("go"), reasoning="secret thoughts")
    cases: list[Any] = [
        view_of(bad),
        view_of(payload_of(button("go"), catalogVersion="9.9")),
        booking(render=False, diagnostics=[{"pointer": "/surface", "message": "was stored by an older host"}]),
        view_of({"catalogVersion": "0.9.1"}),
        view_of(None),
        {},
    ]
    with SurfacePage(browser) as page:
        for view in cases:
            page.show(view)
            assert "stored, but it is not shown" in page.text()
            assert page.run("document.querySelectorAll('.wfs button, .wfs input').length") == 0
            page.run("document.querySelector('.wfs details').open = true")
            assert "secret thoughts" not in page.text()
            assert page.state == "invalid"
        page.show(cases[2])
        assert "was stored by an older host" in page.text()
        for nothing in ("null", "undefined", "7", "[]", "'x'", "{payload: () => 1}"):
            page.run(f"show({nothing})")
            assert page.state == "invalid"
