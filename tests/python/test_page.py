"""The page about nodes in Python: its code is code, and it leaves nothing out."""

import inspect
import re
from typing import Any

import weftwork
from tests.docs.pages import ROOT, blocks
from weftwork.adapters.python.declare import NodeFunction, node, node_of

PAGE = (ROOT / "docs" / "extend" / "node.md").read_text("utf-8")


def test_the_code_on_the_page_makes_nodes() -> None:
    made: list[NodeFunction] = []
    for block in blocks(PAGE):
        if block.language == "py":
            names: dict[str, Any] = {"weftwork": weftwork, "__name__": "page"}
            exec(compile(block.code, "page", "exec"), names)
            made += [found for value in names.values() if (found := node_of(value)) is not None]
    assert [found.declaration.type_id for found in made] == ["acme.bill", "acme.charge"]


def test_every_member_of_the_context_is_explained() -> None:
    table = PAGE.partition("## The context")[2].partition("\n## ")[0]
    rows = " ".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE))
    # The first column of the table: names in code, with or without what they take.
    explained = set(re.findall(r"(?:^|`|\W)([a-z_]+)(?=[`(,.]|\()", rows))
    members = {name for name in dir(weftwork.Context) if not name.startswith("_")}
    assert members <= explained | {"log"}
    assert "log.debug" in rows


def test_every_option_of_the_decorator_is_shown() -> None:
    shown = next(block.code for block in blocks(PAGE) if block.language == "py")
    options = [name for name in inspect.signature(node).parameters if name != "type_id"]
    assert not [name for name in options if f"    {name}=" not in shown]


def test_every_public_name_for_nodes_is_on_the_page() -> None:
    names = [name for name in weftwork.__all__ if name not in ("Host", "Settings")]
    assert not [name for name in names if name not in PAGE]
