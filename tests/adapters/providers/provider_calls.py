"""Listening to providers."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from weftwork.ports.models import AnswerEnd, Delta, Message, ModelProvider, ModelRequest

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def model_request(said: str = "Hello", node: str = "n", **more: Any) -> ModelRequest:
    return ModelRequest(more.pop("provider", ""), more.pop("model", ""), (Message("user", said),), node_id=node, **more)


async def collect_answer(provider: ModelProvider, request: ModelRequest) -> tuple[list[Delta], AnswerEnd]:
    items = [item async for item in provider.generate(request)]
    stop = items.pop()
    assert isinstance(stop, AnswerEnd)
    return [item for item in items if isinstance(item, Delta)], stop


async def generate_text(provider: ModelProvider, request: ModelRequest) -> str:
    return "".join(delta.text for delta in (await collect_answer(provider, request))[0])
