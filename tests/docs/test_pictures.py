"""Pictures on the pages: whole, described for those who cannot see them, readable on light and on dark, and true."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.docs.pages import ROOT, links, pages
from tests.live import start_host, write_workflows
from tests.live.child_workflows import PARENT, await_tree, child_workflows
from tests.live.steering import answer_over_http

PICTURES = sorted((ROOT / "docs" / "assets").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
DARK = re.compile(r"@media \(prefers-color-scheme: dark\) \{(.*?)\n    \}", re.DOTALL)
RULE = re.compile(r"(\.?[\w]+) \{([^}]*)\}")
COLOUR = re.compile(r"(fill|stroke): (#[0-9a-f]{6})")


def parsed(path: Path) -> ElementTree.Element:
    return ElementTree.fromstring(path.read_text("utf-8"))


def colours(css: str) -> dict[tuple[str, str], str]:
    """Class and property -> colour."""
    return {(name, kind): colour for name, body in RULE.findall(css) for kind, colour in COLOUR.findall(body)}


def schemes(path: Path) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]]:
    css = next(parsed(path).iter(f"{SVG}style")).text or ""
    found = DARK.search(css)
    assert found is not None, "there is nothing for a dark page"
    return colours(css[: found.start()]), colours(found[1])


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_every_picture_is_on_a_page_with_words() -> None:
    shown = {link for page in pages() for link in links(page.read_text("utf-8")) if link.endswith(".svg")}
    assert {Path(link).name for link in shown} == {path.name for path in PICTURES}
    for page in pages():
        assert "![](" not in page.read_text("utf-8")


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_a_picture_is_described(path: Path) -> None:
    root = parsed(path)
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "title desc"
    for name in ("title", "desc"):
        (found,) = root.findall(f"{SVG}{name}")
        assert (found.get("id"), len(found.text or "") > 20) == (name, True)


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_a_picture_is_readable_on_light_and_on_dark(path: Path) -> None:
    light, dark = schemes(path)
    used = {name for each in parsed(path).iter() for name in (each.get("class") or "").split()}
    assert {name for name, _ in light} == {name for name, _ in dark}
    assert used >= {name.removeprefix(".") for name, _ in light if name != "text"}, "a style that nothing has"
    texts = {f".{name}" for each in parsed(path).iter(f"{SVG}text") for name in (each.get("class") or "").split()}
    for scheme in (light, dark):
        page = scheme[".page", "fill"]
        # What has an edge of its own holds texts.
        grounds = [
            page,
            *(scheme[name, "fill"] for name, kind in scheme if kind == "stroke" and (name, "fill") in scheme),
        ]
        for (name, kind), colour in scheme.items():
            if name in texts | {"text"} and kind == "fill":
                assert all(contrast(colour, ground) >= 4.5 for ground in grounds), (name, colour)
            elif kind == "stroke" or name in (".bar", ".gone", ".good", ".bad", ".tip"):
                assert contrast(colour, page) >= 3.0, (name, colour)


def test_the_logs_of_the_picture_are_those_of_a_host(tmp_path: Path) -> None:
    flows = write_workflows(tmp_path / "flows", *child_workflows())
    with start_host(tmp_path, "--workflows", flows, store="memory") as host:
        run_id = host.create(PARENT)
        child = await_tree(host, run_id, *["waiting-input"] * 2)[1]["runId"]
        assert answer_over_http(host, child, "ask", 1).status == 200
        logs = [[event["type"] for event in host.log(each)] for each in (run_id, child)]
    told = parsed(ROOT / "docs" / "assets" / "child-logs.svg").findtext(f"{SVG}desc") or ""
    listed = [", ".join(f"{at} {kind}" for at, kind in enumerate(log)) for log in logs]
    assert f"The parent has {listed[0]}. The child has {listed[1]}." in told
    drawn = [each.text for each in parsed(ROOT / "docs" / "assets" / "child-logs.svg").iter(f"{SVG}text")]
    assert [text for text in drawn if text in {*logs[0], *logs[1]}] == [*logs[0], *logs[1]]


def test_the_answers_of_the_picture_are_those_of_the_page(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "model-answers.md").read_text("utf-8")
    files = dict(re.findall(r"^cat > (\S+) <<'END'\n(.*?)^END$", page, re.MULTILINE | re.DOTALL))
    script = tmp_path / "script.toml"
    script.write_text(files["script.toml"], "utf-8")
    flows = write_workflows(tmp_path / "flows", json.loads(files["booking.json"]))
    with start_host(tmp_path, "--workflows", flows, "--model-script", str(script), store="memory") as host:
        run_id = host.create("booking")
        await_tree(host, run_id, "waiting-input")
        assert answer_over_http(host, run_id, "book", {"answers": {"people": "4"}}).status == 200
        log = [event["type"] for event in host.log(run_id)]
    picture = parsed(ROOT / "docs" / "assets" / "model-answer.svg")
    told = picture.findtext(f"{SVG}desc") or ""
    assert f"The log has {', '.join(f'{at} {kind}' for at, kind in enumerate(log))}. " in told
    assert [text for text in (each.text for each in picture.iter(f"{SVG}text")) if text in log] == log
