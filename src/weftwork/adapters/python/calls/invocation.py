"""One call of a node function: everything that its context can do, shared by async and plain functions.

The contexts (context.py) check their arguments and delegate to the Invocation. Its coroutines run on the event loop.
`emit`, `heartbeat`, `now` and `idempotency_key` can be used in any thread.
"""

import asyncio
import logging
import random
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from weftwork.adapters.python.calls.call_state import CallState, Finish, PlainCaller, current_step
from weftwork.adapters.python.calls.fetch import FetchResponse
from weftwork.adapters.python.calls.interrupts import (
    NO_DEFAULT,
    InterruptRequest,
    SurfaceSource,
    answer_value,
    build_interrupt,
    key_conflict_error,
    surface_document,
)
from weftwork.adapters.python.calls.media import MediaCalls
from weftwork.adapters.python.calls.model_calls import ModelCalls
from weftwork.adapters.python.calls.steps import Steps
from weftwork.adapters.python.errors import (
    CallAbandoned,
    FetchError,
    NodeError,
    missing_capability_error,
    misuse_error,
    node_error,
)
from weftwork.adapters.python.threads import ThreadPool
from weftwork.adapters.python.values import NotJson, ValueTooLarge, as_json, is_storable, storable_text, to_loggable
from weftwork.engine.sdk.surfaces import emit_surface
from weftwork.ports.node_outcome import (
    TIMEOUT_BLOCKED,
    AppendLog,
    EmitEvent,
    Failed,
    InterruptPending,
    NodePending,
    StepFailed,
)
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.ports.outbound import FetchFailed, FetchRefused, Outbound, OutboundRequest
from weftwork.protocol.json.values import MAX_VALUE_TEXT, is_object
from weftwork.protocol.people.approvals import blocks_approval
from weftwork.protocol.run.events import RESERVED_FAMILIES, is_author_event_type
from weftwork.protocol.run.header import version_error
from weftwork.protocol.surfaces.surface import has_buttons
from weftwork.protocol.workflow.node_types import Effect

log = logging.getLogger("weftwork.node")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class NodeServices(msgspec.Struct, frozen=True):
    """What all nodes of a host share: the threads for plain functions, and the client for requests."""

    threads: ThreadPool
    outbound: Outbound | None = None


class Invocation:
    """One call of the function. It cannot be used after `close`."""

    def __init__(self, type_id: str, effect: Effect, call: NodeCall, host: NodeContext, services: NodeServices) -> None:
        self.type_id = type_id
        self.effect: Effect = effect
        self.call = call
        self.host = host
        self.services = services
        self.loop = asyncio.get_running_loop()
        self.last_heartbeat = self.loop.time()
        self.state = CallState()
        self.steps = Steps(type_id, effect, call, host, self.state)
        self._models: dict[str, ModelCalls] = {}
        self.own_thread = 0
        """The thread that a plain function runs in."""
        self._interrupt_kinds: dict[str, str] = {}
        """The kinds of the interrupts of this call, by key."""
        self._loop_thread = threading.get_ident()
        self._random: random.Random | None = None

    @property
    def models(self) -> ModelCalls:
        """Created on first use, because most nodes call no model."""
        if not self._models:
            # dict.setdefault is atomic: several threads may make the first call at the same time.
            self._models.setdefault("models", ModelCalls(self.effect, self.call, self.host, self.state))
        return self._models["models"]

    @property
    def media(self) -> MediaCalls:
        return MediaCalls(self.host, self.state)

    @property
    def is_on_loop(self) -> bool:
        """Whether the current thread is that of the event loop."""
        return threading.get_ident() == self._loop_thread

    @property
    def idempotency_key(self) -> str:
        """The key of the current step, or of the node outside of steps. Raises NodeError if the step is ambiguous."""
        step_key = current_step.get()
        if step_key:
            return step_key
        running = [*self.steps.running_keys]
        if running and threading.get_ident() not in (self._loop_thread, self.own_thread):
            # A thread that the author started has no context variables, so its step is not known.
            if len(running) > 1:
                raise misuse_error(
                    "Several steps are running, so the step of this thread is unknown; read idempotency_key before you "
                    "start the thread."
                )
            return running[0]
        return self.host.effect_key()

    @property
    def random(self) -> random.Random:
        if self._random is None:
            # Deterministic on purpose: the same numbers in every attempt. Not for secrets.
            self._random = random.Random(f"random:{self.host.effect_key()}")  # noqa: S311
        return self._random

    def now(self) -> datetime:
        self.state.check()
        return _EPOCH + timedelta(milliseconds=self.host.now)

    def emit(self, effect: AppendLog | EmitEvent) -> None:
        self.state.check()
        if self.is_on_loop:
            self._emit_on_loop(effect)
            self.state.check()
        else:
            self.call_on_loop(self._emit_on_loop, effect)

    def _emit_on_loop(self, effect: AppendLog | EmitEvent) -> None:
        try:
            self.host.emit_event(effect)
        except StepFailed as error:
            # Stored for the next context call, because another thread has already returned from this one.
            self.state.failure = node_error(error.failure)

    def call_on_loop(self, call: Callable[..., object], *arguments: Any) -> None:
        """Schedule a call on the event loop from another thread. Raises CallAbandoned if the loop is closed."""
        try:
            self.loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:
            raise CallAbandoned from None

    def heartbeat(self, progress: dict[str, Any]) -> None:
        self.state.check()
        if self.is_on_loop:
            self._record_heartbeat()
        else:
            # The loop updates its clock once per iteration, so another thread would read an old time.
            self.call_on_loop(self._record_heartbeat)
        if log.isEnabledFor(logging.DEBUG):
            fields = {"runId": self.call.run_id, "nodeId": self.call.node_id, "progress": repr(progress)}
            log.debug("node heartbeat", extra=fields)

    def _record_heartbeat(self) -> None:
        self.last_heartbeat = self.loop.time()

    def run_in_thread(self, call: Callable[[], Any]) -> Awaitable[Any]:
        """Call a plain function in a thread of the pool, for a node that is an async function."""
        return self.services.threads.run(call, self.type_id)

    async def step(
        self,
        name: str,
        function: Callable[[], Any],
        effect: Effect | None,
        call_plain: PlainCaller,
        finish: Finish | None,
    ) -> Any:
        """The result of the step as JSON, or converted by `finish`. Raises StepError, NotDone or InterruptPending."""
        self.state.check_not_stopping()
        result = await self.steps.run(name, function, effect, call_plain)
        return result if finish is None else finish(result)

    def close(self) -> NodePending | None:
        """End the call and cancel its steps and host calls. Returns the interrupt or model provider that the node waits
        for, if any."""
        self.steps.cancel_all()
        self.state.cancel_host_tasks()
        pending = self.state.pending
        self.state.pending = None
        self.state.failure = None
        self.state.is_over = True
        return pending

    @property
    def untrusted(self) -> bool:
        """Whether the node has received untrusted content."""
        return bool(self.call.untrusted) or self.host.untrusted

    async def request_interrupt(self, request: InterruptRequest) -> Any:
        """The answer that the author gets. Raises InterruptPending, InterruptTimeout or NodeError."""
        self.state.check_not_stopping()
        if self.effect == "once":
            raise misuse_error(
                "A node with the effect once cannot request an interrupt; make it pure and put its effect into a step."
            )
        if current_step.get():
            raise misuse_error("A step cannot request an interrupt. Request it before or after the step.")
        interrupt = build_interrupt(self.call, request)
        if self._interrupt_kinds.setdefault(interrupt.key, interrupt.kind) != interrupt.kind:
            raise key_conflict_error(request.key)
        try:
            resolution = await self.host.ask(interrupt)
        except InterruptPending as pending:
            self.state.pending = pending
            raise
        except StepFailed as error:
            raise node_error(error.failure) from None
        uses_default = resolution.timed_out and request.default is not NO_DEFAULT
        if uses_default and blocks_approval(interrupt.kind, self.untrusted):
            raise node_error(TIMEOUT_BLOCKED)
        return answer_value(request, resolution)

    async def ask_surface(self, turn_prefix: str, request: InterruptRequest) -> Any:
        """The answer to a surface. Raises InterruptPending, InterruptTimeout or NodeError."""
        self.state.check_not_stopping()
        if not self.host.renders_surfaces:
            await self._emit_surface("ctx.ask_surface", turn_prefix, request.surface)
            raise missing_capability_error("surfaces")
        return await self.request_interrupt(request)

    async def show_surface(self, turn_prefix: str, surface: SurfaceSource) -> str:
        """surf-33: the id of a surface without a button, which is shown and not answered. Raises NodeError."""
        self.state.check_not_stopping()
        return await self._emit_surface("ctx.show_surface", turn_prefix, surface)

    async def _emit_surface(self, name: str, turn_prefix: str, surface: SurfaceSource) -> str:
        if current_step.get():
            raise misuse_error(
                f"A step cannot call {name}. Call it before or after the step; it is recorded on its own."
            )
        payload = surface_document(f"The surface of {name}", surface)
        if name == "ctx.show_surface" and has_buttons(payload):
            raise misuse_error("ctx.show_surface: a surface with a button asks a person; use ctx.ask_surface.")
        emitted = await self.state.await_host(emit_surface(self.host, payload, turn_prefix))
        if isinstance(emitted, Failed):
            raise node_error(emitted)
        return emitted

    async def fetch(self, request: OutboundRequest) -> FetchResponse:
        self.state.check()
        if self.services.outbound is None:
            raise missing_capability_error("HTTP requests")
        try:
            self.host.check_may_request()
        except StepFailed as error:
            raise node_error(error.failure) from None
        try:
            response = await self.services.outbound.fetch(request)
        except FetchRefused as refused:
            raise NodeError("ssrf_blocked", str(refused), {"blocked": refused.blocked}) from None
        except FetchFailed as error:
            raise FetchError(str(error), error.sent) from None
        self.host.mark_untrusted()
        return FetchResponse(response)

    async def get_version(self, change_id: str, least: int, most: int) -> int:
        self.state.check_not_stopping()
        if not isinstance(change_id, str) or not is_storable(change_id):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise misuse_error("The change_id of ctx.get_version must be a text without NUL.")
        error = version_error(change_id, least, most, None)
        if error is None:
            pinned = await self.host.pin_version(change_id, most, least)
            error = version_error(change_id, least, most, pinned)
            if error is None:
                return pinned
        raise NodeError(*error)


class NodeLog:
    """Writes lines to the log of the run, as `log.appended` events. Fields that are not JSON are written as text."""

    __slots__ = ("_invocation",)

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation

    def debug(self, message: str, **fields: Any) -> None:
        self._invocation.emit(AppendLog("debug", storable_text(message, MAX_VALUE_TEXT), to_loggable(fields)))

    def info(self, message: str, **fields: Any) -> None:
        self._invocation.emit(AppendLog("info", storable_text(message, MAX_VALUE_TEXT), to_loggable(fields)))

    def warning(self, message: str, **fields: Any) -> None:
        self._invocation.emit(AppendLog("warn", storable_text(message, MAX_VALUE_TEXT), to_loggable(fields)))

    def error(self, message: str, **fields: Any) -> None:
        self._invocation.emit(AppendLog("error", storable_text(message, MAX_VALUE_TEXT), to_loggable(fields)))


def build_event(event_type: str, payload: Any) -> EmitEvent:
    """A custom event. Raises ValueError for a reserved type or a payload that is not a JSON object, or NodeError if the
    payload is too large."""
    if not is_author_event_type(event_type):
        raise ValueError(_invalid_type_message(event_type))
    try:
        document = as_json(payload)
    except ValueTooLarge as error:
        raise NodeError("node_output_too_large", f"The payload of {event_type} {error.why}.") from None
    except NotJson as error:
        raise ValueError(f"the payload of {event_type} is not JSON: {error}") from None
    if not is_object(document):
        raise ValueError(f"the payload of {event_type} is not an object")
    return EmitEvent(event_type, document)


def _invalid_type_message(event_type: str) -> str:
    family, dot, _ = event_type.partition(".")
    if dot and family in RESERVED_FAMILIES:
        problem = f"event types that begin with {family}. are reserved for the protocol and the host"
    else:
        problem = "an event type has two or more names of letters, digits, dashes and underscores, joined by dots"
    return f"{event_type!r} is not a valid custom event type: {problem}. Use your own prefix, such as acme.scored."
