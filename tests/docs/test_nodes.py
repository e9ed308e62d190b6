"""Each node type has a page, which is what its declaration says, and whose example can be registered."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.page_tool import copy_tree, run_tool
from tests.docs.pages import ROOT, blocks
from tests.harness.definitions import edge, node, workflow
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


@pytest.mark.parametrize("type_id", OWN)
def test_the_example_of_a_page_can_be_registered(type_id: str) -> None:
    one = example(type_id)
    assert one["typeId"] == type_id
    assert schema.check_inline(TYPES[type_id].config, one["config"], "") == []
    assert registered(around(one)) == []


def test_an_example_that_does_not_fit_is_seen() -> None:
    assert registered(around({**example("core.delay"), "config": {"delayMs": "long"}}))


@pytest.mark.parametrize("type_id", OWN)
def test_a_page_names_every_member_of_its_schemas(type_id: str) -> None:
    declaration, text = TYPES[type_id], page(type_id)
    wanted = [
        name for part in ("inputs", "outputs", "config") for name in getattr(declaration, part).get("properties", {})
    ]
    assert [name for name in wanted if f"| `{name}` |" not in text] == []
    assert declaration.title in text
    assert f"`{declaration.effect}`" in text
    assert ("`instant`" in text) == declaration.instant
