"""`weftwork workflows validate` and drawing from files: without a host, without a data folder."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.live import delays, weftwork
from tests.live.host import command, environment
from weftwork.cli.render.drawing import draw_mermaid, draw_text


def validate(folder: Path, *args: str, code: int = 0, env: dict[str, str] | None = None) -> str:
    """What is printed. Nothing is made, and nothing goes wrong in a way of its own."""
    done = weftwork(folder, "workflows", "validate", *args, env=env)
    assert (done.returncode, done.stderr) == (code, "")
    assert not (folder / "xdg").exists()
    return done.stdout


def bad() -> dict[str, Any]:
    document = delays("bad", 1, 2)
    document["nodes"][1]["typeId"] = "core.nothing"
    document["edges"].append({"id": "loose", "sourceNodeId": "n0", "targetNodeId": "n7"})
    return document


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.json").write_text(json.dumps(delays("good", 1, 2, 3)), "utf-8")
    (tmp_path / "bad.json").write_text(json.dumps(bad(), indent=2), "utf-8")
    (tmp_path / "broken.json").write_bytes(b'{\n  "id": "x",\n  "id": "y"\n}\n')
    return tmp_path


def test_a_good_file_is_said_to_be_one(folder: Path) -> None:
    assert validate(folder, "good.json") == "good.json: ok (3 nodes, 2 edges)\n"
    assert json.loads(validate(folder, "good.json", "--json")) == []


def place(text: str, piece: str) -> str:
    before = text[: text.index(piece)]
    return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def test_every_problem_is_a_line_with_file_line_column_pointer_and_message(folder: Path) -> None:
    said = validate(folder, "good.json", "bad.json", "broken.json", "gone.json", code=1).splitlines()
    text, kind, end = (folder / "bad.json").read_text("utf-8"), '"core.nothing"', '"n7"'
    assert said == [
        "good.json: ok (3 nodes, 2 edges)",
        f"bad.json:{place(text, kind)} /nodes/1/typeId: this host has no such node type",
        f"bad.json:{place(text, end)} /edges/1/targetNodeId: no node has this id",
        "broken.json:3:3 /id: An object repeats a member name.",
        "gone.json:1:1 /: cannot be read: No such file or directory",
    ]


def test_programs_get_a_list(folder: Path) -> None:
    found = json.loads(validate(folder, "bad.json", "broken.json", "--json", code=1))
    assert [(each["file"], each["pointer"]) for each in found] == [
        ("bad.json", "/nodes/1/typeId"),
        ("bad.json", "/edges/1/targetNodeId"),
        ("broken.json", "/id"),
    ]
    assert found[2] == {
        "file": "broken.json",
        "line": 3,
        "column": 3,
        "pointer": "/id",
        "message": "An object repeats a member name.",
    }


def test_nodes_written_in_python_are_known_if_named(folder: Path) -> None:
    (folder / "acme.py").write_text(
        "import weftwork\n\n@weftwork.node('core2.nothing', version='1.0.0')\ndef nothing(ctx): ...\n", "utf-8"
    )
    document = delays("python", 1)
    document["nodes"][0] |= {"typeId": "core2.nothing", "config": {}}
    (folder / "python.json").write_text(json.dumps(document), "utf-8")
    assert "this host has no such node type" in validate(folder, "python.json", code=1)
    assert validate(folder, "--nodes", "acme", "python.json") == "python.json: ok (1 node, 0 edges)\n"
    refused = weftwork(folder, "workflows", "validate", "--nodes", "nowhere", "python.json")
    assert (refused.returncode, "no module nowhere" in refused.stderr) == (2, True)


def piped(folder: Path, sent: bytes, *args: str) -> subprocess.CompletedProcess[bytes]:
    line = command("workflows", *args)
    return subprocess.run(line, input=sent, cwd=folder, env=environment(folder), capture_output=True, timeout=120)


def test_a_dash_is_standard_input(folder: Path) -> None:
    done = piped(folder, (folder / "good.json").read_bytes(), "validate", "-")
    assert (done.returncode, done.stdout) == (0, b"-: ok (3 nodes, 2 edges)\n")
    done = piped(folder, b"[1,\n", "validate", "-")
    assert done.returncode == 1
    assert done.stdout.startswith(b"-:2:1 /: The document is not valid JSON")
    done = piped(folder, (folder / "good.json").read_bytes(), "show", "--file", "-")
    assert done.stdout.decode() == draw_text(delays("good", 1, 2, 3))


def test_names_of_files_and_poor_terminals_do_no_harm(folder: Path) -> None:
    odd = "ü\x1b[2J.json"
    (folder / odd).write_text("{", "utf-8")
    assert validate(folder, odd, code=1).startswith("ü\\u{1b}[2J.json:1:2 /: ")
    poor = validate(folder, odd, code=1, env={"PYTHONIOENCODING": "ascii"})
    assert poor.startswith("\\xfc\\u{1b}[2J.json:1:2 /: ")
    assert json.loads(validate(folder, odd, "--json", code=1))[0]["file"] == odd


@pytest.mark.parametrize("name", [".", "good.json/x", "/dev/zero"])
def test_what_is_no_file_is_a_problem_like_others(folder: Path, name: str) -> None:
    said = validate(folder, name, "good.json", code=1).splitlines()
    assert said[0].startswith(f"{name}:1:1 /: ")
    assert said[1] == "good.json: ok (3 nodes, 2 edges)"


@pytest.mark.parametrize(("style", "draw"), [("text", draw_text), ("mermaid", draw_mermaid)])
def test_a_file_is_drawn(folder: Path, style: str, draw: Any) -> None:
    done = weftwork(folder, "workflows", "show", "--file", "good.json", "--format", style)
    assert (done.returncode, done.stdout) == (0, draw(delays("good", 1, 2, 3)))
    shown = weftwork(folder, "workflows", "show", "--file", "good.json", "--json").stdout
    assert json.loads(shown) == delays("good", 1, 2, 3)
    assert not (folder / "xdg").exists()


def test_what_this_host_cannot_run_is_drawn_and_what_has_no_shape_is_not(folder: Path) -> None:
    drawn = weftwork(folder, "workflows", "show", "--file", "bad.json").stdout
    assert "core.nothing" in drawn
    assert "not drawn: n0 → n7 (no such node)" in drawn
    refused = weftwork(folder, "workflows", "show", "--file", "broken.json")
    assert refused.returncode == 1
    assert "broken.json:3:3 /id: An object repeats a member name." in refused.stderr
    gone = weftwork(folder, "workflows", "show", "--file", "gone.json")
    assert (gone.returncode, gone.stderr) == (1, "Error: gone.json cannot be read: No such file or directory\n")


@pytest.mark.parametrize("args", [("show",), ("show", "hello", "--file", "good.json"), ("validate",)])
def test_what_is_meant_must_be_said(folder: Path, args: tuple[str, ...]) -> None:
    done = weftwork(folder, "workflows", *args)
    assert done.returncode == 2
    assert "Usage: " in done.stderr


def test_the_help_loads_no_drawing() -> None:
    script = "import sys, weftwork.cli.main\n"
    script += "print([name for name in sys.modules if 'drawing' in name or 'source_locations' in name])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "[]\n"
