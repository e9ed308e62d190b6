"""What boot does, and in which order."""

from typing import Any

import pytest

from weftwork.app import Host
from weftwork.cli.serve import startup
from weftwork.settings import Settings


async def test_nothing_that_can_go_away_is_left_out_of_garbage_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is frozen and held by a cycle never goes, so the freeze comes before runs are loaded."""
    order: list[str] = []
    honest = Host.open

    async def opened(host: Host, register: Any) -> int:
        order.append("open")
        return await honest(host, register)

    async def served(*given: Any) -> None:
        given[1].close()
        order.append("serve")

    monkeypatch.setattr(Host, "open", opened)
    monkeypatch.setattr(startup, "serve", served)
    monkeypatch.setattr(startup.gc, "freeze", lambda: order.append("freeze"))
    monkeypatch.setattr(startup.gc, "set_threshold", lambda *numbers: order.append("seldom"))
    assert (await startup.run_host(Settings(store="memory", port=0))) == 0
    assert order == ["freeze", "seldom", "open", "serve"]
