"""A real host outlives nodes that try to end it."""

from pathlib import Path

import pytest

from tests.adapters.python.single_node_workflows import single_node_workflow
from tests.live import start_host, write_workflows

pytestmark = pytest.mark.slow

NODES = """
import asyncio
import weftwork


@weftwork.node("acme.leaves")
async def leaves(ctx: weftwork.Context, way: str) -> None:
    async def leave():
        await asyncio.sleep(0)
        raise KeyboardInterrupt if "interrupt" in way else SystemExit(3)

    if "task" in way:
        await asyncio.gather(leave(), asyncio.sleep(0.05))
    elif "step" in way:
        await ctx.step("leave", leave)
    else:
        await leave()
"""

WAYS = ["interrupt", "exit", "interrupt-step", "exit-step", "interrupt-task", "exit-task"]


def test_no_node_ends_the_host(tmp_path: Path) -> None:
    (tmp_path / "acme_nodes.py").write_text(NODES)
    write_workflows(tmp_path / "flows", *(single_node_workflow(way, "acme.leaves", {"way": way}) for way in WAYS))
    with start_host(tmp_path, "--nodes", "acme_nodes", "--workflows", tmp_path / "flows", cwd=tmp_path) as host:
        for way in WAYS:
            failed = next(event for event in host.log(host.create(way)) if event["type"] == "node.failed")
            assert failed["payload"]["error"]["code"] == ("step_failed" if "step" in way else "node_failed")
        assert host.process.poll() is None
