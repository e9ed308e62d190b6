"""The picture in the README shows what the commands print."""

import importlib.util
import re
from types import ModuleType

import pytest

from tests.docs.pages import ROOT
from tests.docs.test_nodes import contrast
from tests.harness.cases import present

SVG = (ROOT / "docs" / "assets" / "run.svg").read_text("utf-8")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = present(importlib.util.spec_from_file_location("picture", ROOT / "tools" / "terminal_picture.py"))
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_shows_what_the_commands_print(tool: ModuleType) -> None:
    lines = tool.session(ROOT)
    assert tool.is_current(SVG, lines), "docs/assets/run.svg is stale: run `make docs`"
    assert not tool.is_current(SVG.replace("approval.json", "other.json"), lines)


def test_the_picture_loads_nothing() -> None:
    assert set(re.findall(r"\w+://[^\"'\s)]*", SVG)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in SVG.replace("url(#run-", "")


def test_a_redrawn_tree_is_shown_once(tool: ModuleType) -> None:
    output = "above\r\n\x1b[?25lone\r\ntwo\x1b[2K\x1b[1A\x1b[2Kthree\r\n\x1b[32mfour\x1b[0m\r\n\x1b[?25h\r\n"
    assert tool.screen(output) == ["above", "three", "\x1b[32mfour\x1b[0m"]


def test_ids_and_times_may_differ(tool: ModuleType) -> None:
    one = "01m7f5zzhp2z8y1fpzhf93nsbb ended 2026-11-15 08:43:15 UTC,\xa0took 253 ms, in 2 d 23 h"
    other = "01m7f675y821vqe0shw8tkbexw ended 2026-11-16 09:00:00 UTC, took 1.2 s, in 3 d 0 h"
    assert tool.comparable(one) == tool.comparable(other)
    assert tool.comparable(one) != tool.comparable(one.replace("ended", "began"))


def test_the_text_of_the_picture_is_readable() -> None:
    (ground,) = re.findall(r'<rect fill="(#\w{6})"', SVG)
    colours = set(re.findall(r"fill: (#\w{6})", SVG))
    assert len(colours) >= 4
    assert {colour for colour in colours if contrast(colour, ground) < 4.5} == set()
