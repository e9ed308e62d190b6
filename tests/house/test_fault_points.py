"""Fault points: every one stands in one place, nothing but the command line arms them, and unarmed they do nothing."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.cases import each_case
from weftwork.adapters.system.faults import arm_points
from weftwork.ports import fault_points
from weftwork.ports.fault_points import POINTS, fault_point
from weftwork.settings import load_settings

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "weftwork"
PORT, ADAPTER = "weftwork.ports.fault_points", "weftwork.adapters.system.faults"


def points(source: str) -> list[str]:
    """The name that each call of `fault_point` gives, which must be written out there."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)) if "fault_point" in source else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "fault_point":
            plain = len(node.args) == 1 and not node.keywords and isinstance(node.args[0], ast.Constant)
            found.append(str(node.args[0].value) if plain and isinstance(node.args[0], ast.Constant) else "?")
    return found


def taken(source: str, module: str) -> set[str]:
    """What a file imports from the module; "*" when it imports the module itself."""
    found: set[str] = set()
    package, _, last = module.rpartition(".")
    for node in ast.walk(ast.parse(source)) if last in source else ():
        if isinstance(node, ast.Import) and any(alias.name == module for alias in node.names):
            found.add("*")
        if isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            found |= names if node.module == module else {"*"} if node.module == package and last in names else set()
    return found


def takers(module: str) -> dict[str, set[str]]:
    listed = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    return {name: used for name, source in listed.items() if (used := taken(source, module))}


def test_every_point_stands_in_one_place() -> None:
    """Once in each of the two stores on disk: only one of them is in use."""
    found = {path: points(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}
    postgres = SOURCE / "adapters" / "postgres"
    assert sorted(name for path in found if postgres not in path.parents for name in found[path]) == sorted(POINTS)
    in_postgres = [name for path in found if postgres in path.parents for name in found[path]]
    in_sqlite = {name for path in (SOURCE / "adapters" / "sqlite").rglob("*.py") for name in found[path]}
    assert len(set(in_postgres)) == len(in_postgres)
    assert set(in_postgres) == in_sqlite - {"writer.checkpoint", "writer.checkpointed"}


@each_case(
    "source, found",
    ('fault_point("a.b")\nif x:\n    fault_point("c")', ["a.b", "c"]),
    ("fault_point(name)", ["?"]),
    ('fault_point("a", 1)', ["?"]),
    ('other("a")\n# fault_point("b")', []),
)
def test_a_point_is_seen(source: str, found: list[str]) -> None:
    assert points(source) == found


def test_only_the_command_line_arms_points() -> None:
    assert takers(ADAPTER) == {"cli/commands/serve.py": {"arm_points"}}
    others = {name: used for name, used in takers(PORT).items() if used != {"fault_point"}}
    assert others == {"adapters/system/faults.py": {"POINTS", "arm"}}


def test_who_takes_what_is_seen() -> None:
    assert taken(f"from {PORT} import fault_point, arm", PORT) == {"fault_point", "arm"}
    assert (
        taken(f"import {PORT} as f", PORT) == taken("from weftwork.ports import fault_points as faults", PORT) == {"*"}
    )
    assert taken("from weftwork.ports.storage import event_log as eventlog", PORT) == set()


def test_a_point_that_is_not_armed_does_nothing() -> None:
    for name in POINTS:
        fault_point(name)
    assert (fault_points._armed, fault_points._pass_counts) == ({}, {})


def test_an_armed_point_acts_once_and_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fault_points, "_armed", {})
    monkeypatch.setattr(fault_points, "_pass_counts", {})
    seen: list[int] = []
    fault_points.arm({("run.ended", 3): lambda: seen.append(fault_points._pass_counts["run.ended"])})
    for _ in range(5):
        fault_point("run.ended")
        fault_point("node.ended")
    assert seen == [3]


LIBRARY = """
import asyncio
from weftwork import Host, Settings
from weftwork.ports import fault_points as faults

async def work():
    host = Host(Settings(store="memory"))
    await host.open()
    await host.close()

asyncio.run(work())
for name in faults.POINTS:
    faults.fault_point(name)
assert not faults._armed
"""


def test_a_host_in_a_program_of_somebody_else_cannot_be_armed() -> None:
    wanted = ",".join(f"{name}:1:kill" for name in POINTS)
    env = {**os.environ, "WEFTWORK_FAULTS": wanted}
    ended = subprocess.run([sys.executable, "-c", LIBRARY], env=env, capture_output=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr


def serve(folder: Path, wanted: str) -> "subprocess.CompletedProcess[str]":
    line = [sys.executable, "-m", "weftwork.cli.main", "serve", "--port", "0", "--data", str(folder / "data")]
    env = {**os.environ, "WEFTWORK_FAULTS": wanted}
    return subprocess.run(line, env=env, capture_output=True, text=True, timeout=60, check=False)


@each_case(
    "wanted, said",
    ("writer.begin", "'writer.begin' must be name:nth:action"),
    ("writer.begin:1:kill,", "'' must be name:nth:action"),
    ("writer.start:1:kill", "there is no fault point 'writer.start'; use one of boot.seated, "),
    ("writer.begin:0:kill", "nth must be a whole number of at least 1"),
    ("writer.begin:-1:kill", "nth must be a whole number of at least 1"),
    ("writer.begin:1:break", "'break' is not an action"),
    ("writer.begin:1:delay", "'delay' is not an action"),
    ("writer.begin:1:delay=60001", "'delay=60001' is not an action"),
    ("drain.begin:1:raise", "nothing can be raised at drain.begin"),
)
def test_what_cannot_be_armed_is_refused(wanted: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        arm_points(wanted)
    assert not fault_points._armed


def test_a_mistake_stops_the_start(tmp_path: Path) -> None:
    ended = serve(tmp_path, "writer.begin:1:break")
    assert ended.returncode == 2
    assert "Error: WEFTWORK_FAULTS: 'break' is not an action" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "data").exists()


def test_an_armed_host_says_so_first(tmp_path: Path) -> None:
    ended = serve(tmp_path, "boot.seated:1:delay=1,boot.ready:1:kill")
    assert ended.returncode == -9
    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert [line["message"] for line in lines] == [
        "fault points are armed: this host fails on purpose",
        "fault point reached",
        "fault point reached",
    ]
    assert [line.get("point") for line in lines] == [None, "boot.seated", "boot.ready"]
    assert {line["level"] for line in lines} == {"warning"}


def test_the_variable_is_no_setting(tmp_path: Path) -> None:
    given = {"XDG_DATA_HOME": str(tmp_path)}
    assert load_settings({}, {**given, "WEFTWORK_FAULTS": "x"}) == load_settings({}, given)


def test_the_page_lists_every_point() -> None:
    page = (ROOT / "docs" / "operate" / "faults.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z.]+)` \| (.+?) \| (yes|-) \|$", page, re.MULTILINE)
    assert rows == [(name, place.description, "yes" if place.fault else "-") for name, place in POINTS.items()]
