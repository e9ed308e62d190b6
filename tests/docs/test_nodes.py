"""Each node type has a page as its declaration says, with an example; pictures are whole, described and true."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.docs.page_tool import copy_tree, run_tool
from tests.docs.pages import ROOT, blocks, links, pages
from tests.harness.cases import each_case
from tests.harness.definitions import edge, node, workflow
from tests.live import start_host, write_workflows
from tests.live.child_workflows import PARENT, await_tree, child_workflows
from tests.live.steering import answer_over_http
from weftwork.adapters.memory.store import MemoryStore
from weftwork.adapters.nodes.builtin import ALIASES
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.protocol.json import schema
from weftwork.wiring.node_types import builtin_node_types, declarations_by_type

TOOL = "node_pages.py"
FOLDER = Path("docs", "reference", "nodes")
TYPES = declarations_by_type(builtin_node_types())
OWN = [type_id for type_id in TYPES if type_id not in ALIASES]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return copy_tree(tmp_path, TOOL)


def page(type_id: str) -> str:
    return (ROOT / FOLDER / f"{type_id}.md").read_text("utf-8")


def test_the_pages_are_up_to_date() -> None:
    assert run_tool(ROOT, TOOL, "--check") == (0, "")


def test_every_node_type_has_a_page_and_every_page_a_node_type() -> None:
    assert {"core.noop", "core.delay", "conformance.requiresMissing"} <= set(OWN)
    assert sorted(path.stem for path in (ROOT / FOLDER).glob("*")) == sorted(OWN)
    index = (ROOT / "docs" / "reference" / "nodes.md").read_text("utf-8")
    assert [type_id for type_id in OWN if f"[{type_id}](nodes/{type_id}.md)" not in index] == []
    assert [alias for alias in ALIASES if f"| `{alias}` | [{ALIASES[alias]}]" not in index] == []
    assert [alias for alias, meant in ALIASES.items() if f"`{alias}`" not in page(meant)] == []


def test_a_stale_a_missing_and_a_forgotten_page_are_seen_and_mended(tree: Path) -> None:
    stale, missing, forgotten = (tree / FOLDER / f"{name}.md" for name in ("core.noop", "core.delay", "core.gone"))
    stale.write_text(stale.read_text("utf-8").replace("`pure`", "`impure`"), "utf-8")
    missing.unlink()
    forgotten.write_text("# core.gone\n", "utf-8")
    status, said = run_tool(tree, TOOL, "--check")
    assert status == 1
    assert said.splitlines() == [
        f"docs/reference/nodes/{name}.md is stale: run `make docs`" for name in ("core.delay", "core.gone", "core.noop")
    ]
    assert run_tool(tree, TOOL) == (0, "")
    assert run_tool(tree, TOOL, "--check") == (0, "")
    assert missing.read_text("utf-8") == page("core.delay")
    assert stale.read_text("utf-8") == page("core.noop")
    assert not forgotten.exists()


def example(type_id: str) -> dict[str, Any]:
    shown = [block.code for block in blocks(page(type_id)) if block.language == "json"]
    return json.loads(shown[-1])


def around(one: dict[str, Any]) -> dict[str, Any]:
    """A workflow in which an example can stand: with the nodes and the variables that it names."""
    text = json.dumps(one)
    sources = {port["nodeId"] for port in one["inputs"].values() if port["type"] == "connection"}
    sources |= set(re.findall(r"\bnodes\.(\w+)", text))
    names = {port["variableName"] for port in one["inputs"].values() if port["type"] == "variable"}
    names |= set(re.findall(r"\bvariables\.(\w+)", text))
    variables = [{"name": name, "type": "object"} for name in sorted(names)]
    return workflow([*map(node, sorted(sources)), one], [edge(each, one["id"]) for each in sorted(sources)], variables)


def registered(document: dict[str, Any]) -> list[Any]:
    async def ask() -> list[Any]:
        store = MemoryStore()
        await store.open()
        return list(await WorkflowCatalog(store.definitions, TYPES).register(document))

    return asyncio.run(ask())


@each_case("type_id", *OWN)
def test_the_example_of_a_page_can_be_registered(type_id: str) -> None:
    one = example(type_id)
    assert one["typeId"] == type_id
    assert schema.check_inline(TYPES[type_id].config, one["config"], "") == []
    assert registered(around(one)) == []


def test_an_example_that_does_not_fit_is_seen() -> None:
    assert registered(around({**example("core.delay"), "config": {"delayMs": "long"}}))


@each_case("type_id", *OWN)
def test_a_page_names_every_member_of_its_schemas(type_id: str) -> None:
    declaration, text = TYPES[type_id], page(type_id)
    wanted = [
        name for part in ("inputs", "outputs", "config") for name in getattr(declaration, part).get("properties", {})
    ]
    assert [name for name in wanted if f"| `{name}` |" not in text] == []
    assert declaration.title in text
    assert f"`{declaration.effect}`" in text
    assert ("`instant`" in text) == declaration.instant


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


@each_case("path", *PICTURES)
def test_a_picture_is_described(path: Path) -> None:
    root = parsed(path)
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "title desc"
    for name in ("title", "desc"):
        (found,) = root.findall(f"{SVG}{name}")
        assert (found.get("id"), len(found.text or "") > 20) == (name, True)


# A terminal has a background of its own; tests/docs/test_picture.py has its contrast.
ON_THE_PAGE = [path for path in PICTURES if path.stem != "run"]


@each_case("path", *ON_THE_PAGE)
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
