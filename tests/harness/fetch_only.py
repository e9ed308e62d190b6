"""The base of outbound clients of tests that only fetch."""

from contextlib import AbstractAsyncContextManager

from weftwork.ports.outbound import OutboundRequest, OutboundStream, StreamTimeouts


class FetchOnly:
    def stream(self, request: OutboundRequest, timeouts: StreamTimeouts) -> AbstractAsyncContextManager[OutboundStream]:
        raise AssertionError("this test streams no response")

    async def close(self) -> None: ...
