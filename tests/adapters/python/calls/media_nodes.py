"""Nodes that do one thing with media."""

from collections.abc import Callable
from typing import Any

import weftwork
from tests.adapters.python.fake_node_host import single_node_workflow
from weftwork.conformance.nodes.media_emit import sample_media
from weftwork.protocol.limits import Limits
from weftwork.testing import run_node, run_workflow
from weftwork.testing.result import NodeResult

PNG = sample_media("image", 100)
WAV = sample_media("audio", 200)
PDF = sample_media("file", 300)


def run_media_node(work: Callable[[weftwork.Context], Any], **named: Any) -> tuple[NodeResult, list[Any]]:
    """A node that does one thing, awaited; what it came to, and what the function got."""
    got: list[Any] = []

    @weftwork.node("acme.does", **named)
    async def does(ctx: weftwork.Context) -> None:
        got.append(await work(ctx))

    return run_node(does), got


def media_error(work: Callable[[weftwork.Context], Any], limits: Limits | None = None) -> tuple[str, list[Any]]:
    """The code that the author can catch, and what was shown all the same."""
    caught: list[str] = []

    @weftwork.node("acme.does")
    async def does(ctx: weftwork.Context) -> None:
        try:
            await work(ctx)
        except weftwork.NodeError as error:
            caught.append(error.code)

    result = run_workflow(single_node_workflow("does", "acme.does"), nodes=[does], limits=limits)
    assert result.error is None
    (code,) = caught
    return code, result.media
