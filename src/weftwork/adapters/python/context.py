"""The context of an async function: what it may ask of the host."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, overload

from weftwork.adapters.python.answer import Headers, Response, request_of
from weftwork.adapters.python.asks import Asks
from weftwork.adapters.python.errors import missing
from weftwork.adapters.python.fate import Call
from weftwork.adapters.python.media import Media, MediaContent
from weftwork.adapters.python.models import Answer, Envelope
from weftwork.adapters.python.question import Question
from weftwork.adapters.python.returned import bound, returned
from weftwork.adapters.python.shows import Shows
from weftwork.adapters.python.speaks import Speaks
from weftwork.protocol.node_type import Effect

T = TypeVar("T")


class Context(
    Asks[Coroutine[Any, Any, Any], Coroutine[Any, Any, dict[str, Any]]],
    Speaks[Coroutine[Any, Any, Answer], Coroutine[Any, Any, Envelope]],
    Shows[Coroutine[Any, Any, Media], Coroutine[Any, Any, MediaContent]],
):
    """The first argument of a node that is an async function. Good for one call of it."""

    __slots__ = ()

    @overload
    def step(
        self, name: str, function: Callable[..., Coroutine[Any, Any, T]], *arguments: Any, effect: Effect | None = None
    ) -> Coroutine[Any, Any, T]: ...
    @overload
    def step(
        self, name: str, function: Callable[..., T], *arguments: Any, effect: Effect | None = None
    ) -> Coroutine[Any, Any, T]: ...
    def step(
        self, name: str, function: Callable[..., Any], *arguments: Any, effect: Effect | None = None
    ) -> Coroutine[Any, Any, Any]:
        """Call a function once. When the node is entered again, what it returned or how it failed comes back instead.

        Raises StepError for a failure. A plain function runs in a thread. To be awaited.
        """
        entry, call = self._entry, bound(function, arguments)

        async def take() -> Any:
            threads, type_id = entry.tools.threads, entry.type_id
            return returned(function, await entry.step(name, call, effect, lambda plain: threads.run(plain, type_id)))

        return Call(entry.fate, "ctx.step", take)

    def _ask(self, name: str, asked: Question) -> Coroutine[Any, Any, Any]:
        return Call(self._entry.fate, name, lambda: self._entry.ask(asked))

    def _speak(self, name: str, work: Callable[[], Coroutine[Any, Any, T]]) -> Coroutine[Any, Any, T]:
        return Call(self._entry.fate, name, work)

    def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Headers = (),
        json: Any = None,
        content: bytes | str | None = None,
        timeout: float | None = None,
    ) -> Coroutine[Any, Any, Response]:
        """A request to a public address, through the guard of the host. Raises FetchError when no answer came.

        To be awaited.
        """

        async def send() -> Response:
            return Response(await self._entry.fetch(request_of(url, method, headers, json, content, timeout)))

        return Call(self._entry.fate, "ctx.fetch", send)

    def heartbeat(self, **progress: Any) -> None:
        """Tell that the node is alive; the fields go to the host's own log at the level debug."""
        self._entry.heartbeat(progress)

    def get_version(self, change_id: str, min: int, max: int) -> Coroutine[Any, Any, int]:  # noqa: A002
        """The version of a change that this run keeps to: `max` for the first who asks, and that one ever after.

        To be awaited.
        """
        return Call(self._entry.fate, "ctx.get_version", lambda: self._entry.get_version(change_id, min, max))

    async def secret(self, *arguments: Any, **named: Any) -> Any:
        """Not offered by this host: raises NodeError, host_capability_missing."""
        raise missing("secrets")
