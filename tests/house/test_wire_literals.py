"""Event types and members of the wire are named in protocol/; what still stands as text elsewhere only gets less."""

import ast
import re
from pathlib import Path

import pytest

from tests.harness.payload_types import EVENT_TYPES
from weftwork.protocol.run.events import CATALOGUE

SOURCE = Path(__file__).parents[2] / "src" / "weftwork"
LEFT = {"engine": 159, "adapters": 561, "conformance": 118}
"""Literals per folder. Write the new number here when there are fewer."""
TYPES = CATALOGUE | EVENT_TYPES
MEMBER = re.compile(r"[a-z]+(?:[A-Z][a-z0-9]*)+")


def wire_literals(text: str) -> list[str]:
    """Texts that are the type of an event, or a name in camelCase, which may also be the keyword of a call."""
    found: list[object] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant | ast.keyword):
            found.append(node.value if isinstance(node, ast.Constant) else node.arg)
    return [each for each in found if isinstance(each, str) and (each in TYPES or MEMBER.fullmatch(each))]


@pytest.mark.parametrize("folder", LEFT)
def test_wire_literals_become_fewer(folder: str) -> None:
    count = sum(len(wire_literals(path.read_text("utf-8"))) for path in (SOURCE / folder).rglob("*.py"))
    assert count <= LEFT[folder], f"{folder} has {count} wire literals: name new ones in protocol/run/payloads.py"
    assert count == LEFT[folder], f"{folder} has {count} wire literals: write that number into {Path(__file__).name}"


def test_types_and_members_are_seen_and_other_texts_are_not() -> None:
    text = '''
"""node.started, nodeId"""
Draft("node.started", {"nodeId": 1, "node_id": 2, "HTTPError": 3, "core.noop": 4, "run": 5, f"{x}Ms": 6})
port_schema(**members, runId=1, run_id=2)
'''
    assert sorted(wire_literals(text)) == ["node.started", "nodeId", "runId"]
