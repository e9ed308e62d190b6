"""A model server in a process of its own. The last message of a request says what to stream: "CHUNKS INTERVAL_MS".

Each chunk is the time at which it is sent, on the monotonic clock that all processes of a machine share.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator

from weftwork.testing.model_server import ModelReply, ModelServer, ServedRequest


def _times(count: int) -> Iterator[str]:
    for _ in range(count):
        yield f"{time.monotonic_ns()} "


def _reply(request: ServedRequest) -> ModelReply:
    chunks, interval = request.document["messages"][-1]["content"].split()
    return ModelReply(pieces=_times(int(chunks)), interval=int(interval) / 1000, dialect="vllm")


async def main() -> None:
    async with ModelServer(default=_reply) as server:
        sys.stdout.write(json.dumps(server.base_url) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
