"""The context that a node function gets as its first argument, with all calls of the host that it can make.

ContextBase defines every method once, for async and for plain functions. In an async function a call returns an
awaitable; in a plain function it blocks. The type parameters of ContextBase describe that difference, and the hook
`_call` implements it. Context is for async functions, PlainContext for plain ones.

Interrupts, answers of models, emitted media, steps and versions are recorded. When the host calls the function again
from its start, each such call returns its recorded result.
"""

import math
import random
from collections.abc import Callable, Collection, Coroutine, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, cast, overload

from weftwork.adapters.python.calls.call_state import ContextCall, Finish, Work
from weftwork.adapters.python.calls.fetch import FetchResponse, Headers, build_request
from weftwork.adapters.python.calls.interrupts import (
    NO_DEFAULT,
    InterruptRequest,
    Seconds,
    SurfaceAnswer,
    SurfaceSource,
    wire_key,
)
from weftwork.adapters.python.calls.invocation import Invocation, NodeLog, build_event
from weftwork.adapters.python.calls.media import Media, MediaContent, MediaReference, MediaSource
from weftwork.adapters.python.calls.model_calls import (
    AiAnswer,
    Envelope,
    Messages,
    PromptMedia,
    build_prompt,
    build_shape,
)
from weftwork.adapters.python.calls.steps import bind_step, convert_result
from weftwork.adapters.python.declaration.envelope_kind import EnvelopeKind
from weftwork.adapters.python.errors import missing_capability_error, misuse_error
from weftwork.adapters.python.loop_bridge import LoopBridge
from weftwork.adapters.python.values import NotJson, as_json, is_storable
from weftwork.ports.media import MediaKind
from weftwork.protocol.envelopes.gate_rules import MAX_KIND
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.privacy.trust import wrap_untrusted
from weftwork.protocol.workflow.node_types import Effect

Texts = Collection[str]

T = TypeVar("T")
AsyncFunction = Callable[..., Coroutine[Any, Any, T]]

# The results of calls: the value itself, or in an async function a coroutine that returns it.
AnswerT = TypeVar("AnswerT")
RecordT = TypeVar("RecordT")
AiAnswerT = TypeVar("AiAnswerT")
EnvelopeT = TypeVar("EnvelopeT")
MediaT = TypeVar("MediaT")
MediaContentT = TypeVar("MediaContentT")
ResponseT = TypeVar("ResponseT")
VersionT = TypeVar("VersionT")
SurfaceAnswerT = TypeVar("SurfaceAnswerT")
TextT = TypeVar("TextT")


class _CallHook(Protocol):
    def __call__(self, name: str, work: Work[Any], finish: Finish | None = None) -> Any:
        """Run `work` on the event loop and return its result, or an awaitable of it.

        `name` is the call of the author, for messages. `finish` converts the result for the author; in a plain function
        it runs in the thread of that function.
        """
        ...


class ContextBase(
    Generic[
        AnswerT,
        RecordT,
        AiAnswerT,
        EnvelopeT,
        MediaT,
        MediaContentT,
        ResponseT,
        VersionT,
        SurfaceAnswerT,
        TextT,
    ]
):
    """The methods of Context and PlainContext. A context is valid for one call of the function."""

    __slots__ = ("_call", "_invocation", "attempt", "iteration", "log", "node_id", "run_id")

    def __init__(self, invocation: Invocation, bridge: LoopBridge | None = None) -> None:
        """`bridge`: how a plain function waits for the event loop; None for an async function."""
        self._invocation = invocation
        self._call: _CallHook = (
            partial(ContextCall, invocation.state, invocation.run_in_thread) if bridge is None else bridge.call
        )
        self.run_id = invocation.call.run_id
        self.node_id = invocation.call.node_id
        self.attempt = invocation.call.attempt
        self.iteration = invocation.call.iteration
        self.log = NodeLog(invocation)

    def now(self) -> datetime:
        """The time of the run in UTC: the time of the newest event that this call has seen.

        It is the same when the function is called again, and does not advance between recorded calls.
        """
        return self._invocation.now()

    @property
    def random(self) -> random.Random:
        """A random generator with the same numbers in every attempt of this node. Not for secrets."""
        return self._invocation.random

    @property
    def idempotency_key(self) -> str:
        """The idempotency key of the current step, or of the node outside of steps. The same in every attempt."""
        return self._invocation.idempotency_key

    def emit(self, event_type: str, payload: dict[str, Any]) -> None:
        """Emit a custom event. Raises ValueError for a reserved type or a payload that is not a JSON object."""
        self._invocation.emit(build_event(event_type, payload))

    @property
    def untrusted(self) -> bool:
        """Whether the node got untrusted content from inputs, requests or media. Its outputs are then untrusted."""
        return self._invocation.untrusted

    # Interrupts. A call ends the function; the host calls it again from its start when the interrupt is answered.

    def _request_interrupt(self, name: str, request: InterruptRequest) -> Any:
        return self._call(name, lambda _, __: self._invocation.request_interrupt(request))

    def interrupt(
        self,
        key: str,
        data: Any = None,
        *,
        kind: str = "custom",
        custom_kind: str | None = None,
        resume_schema: Mapping[str, Any] | None = None,
        timeout: Seconds | None = None,
        default: Any = NO_DEFAULT,
        remind_after: Collection[Seconds] = (),
        surface: SurfaceSource | None = None,
    ) -> AnswerT:
        """Request an interrupt and return its answer. A kind that needs no answer returns None at once.

        After `timeout` the answer is `default`; without a default, InterruptTimeout is raised. The host emits reminders
        after the times in `remind_after`. `surface` is the form of a turn of a conversation.
        """
        if surface is not None and kind == "custom":
            raise misuse_error("ctx.interrupt: ask with a surface by ctx.ask_surface(key, surface).")
        request = InterruptRequest(
            key=key,
            kind=kind,
            data=data,
            custom_kind=custom_kind,
            resume_schema=resume_schema,
            timeout=timeout,
            default=default,
            remind_after=remind_after,
            surface=surface,
        )
        return self._request_interrupt("ctx.interrupt", request)

    def approve(
        self,
        key: str,
        title: str,
        *,
        artifact: Any = None,
        artifact_id: str | None = None,
        artifact_type: str = "value",
        description: str | None = None,
        actions: Texts = ("accept", "reject"),
        approvers: Texts = (),
        required: int = 1,
        rejection_policy: str = "single-veto",
        override: bool = False,
        timeout: Seconds | None = None,
        remind_after: Collection[Seconds] = (),
        surface: SurfaceSource | None = None,
    ) -> RecordT:
        """Request an approval and return the decision: `action`, `decidedBy` and the members of the action.

        A rejection is returned like any decision. A timeout is a rejection with the reason `timeout`. `surface` is a
        form whose buttons have the ids of `actions`.
        """
        data = {
            "artifactId": wire_key(self._invocation.call, key) if artifact_id is None else artifact_id,
            "artifactType": artifact_type,
            "title": title,
            "description": description,
            "artifactData": artifact,
            "actions": actions,
            "requiredApprovals": None if required == 1 else required,
            "approversList": approvers or None,
            "rejectionPolicy": None if rejection_policy == "single-veto" else rejection_policy,
            "override": override or None,
        }
        present = {name: value for name, value in data.items() if value is not None}
        request = InterruptRequest(
            key=key, kind="approval", data=present, timeout=timeout, remind_after=remind_after, surface=surface
        )
        return self._request_interrupt("ctx.approve", request)

    def clarify(
        self,
        key: str,
        questions: Mapping[str, str] | Collection[Mapping[str, Any]],
        *,
        context_type: str | None = None,
        timeout: Seconds | None = None,
        default: Any = NO_DEFAULT,
        remind_after: Collection[Seconds] = (),
        surface: SurfaceSource | None = None,
    ) -> RecordT:
        """Ask one or more questions and return the answers by id.

        `questions` are texts by id, or objects with `id`, `question` and optionally the `schema` of the answer.
        `surface` is a form with one field for each question, with the id of the question.
        """
        listed: Any = questions
        if isinstance(questions, Mapping):
            texts = cast("Mapping[str, str]", questions)
            listed = [{"id": name, "question": text} for name, text in texts.items()]
        data = {"questions": listed} | ({} if context_type is None else {"contextType": context_type})
        request = InterruptRequest(
            key=key,
            kind="clarification",
            data=data,
            timeout=timeout,
            default=default,
            remind_after=remind_after,
            answer_member="answers",
            surface=surface,
        )
        return self._request_interrupt("ctx.clarify", request)

    def wait_for_event(
        self,
        key: str,
        event_type: str,
        correlation: Mapping[str, Any],
        *,
        resume_schema: Mapping[str, Any] | None = None,
        timeout: Seconds | None = None,
        default: Any = NO_DEFAULT,
        remind_after: Collection[Seconds] = (),
    ) -> AnswerT:
        """Wait for an event of another system and return it. The event must contain all members of `correlation`."""
        request = InterruptRequest(
            key=key,
            kind="external-event",
            data={"eventType": event_type, "correlation": correlation},
            resume_schema=resume_schema,
            timeout=timeout,
            default=default,
            remind_after=remind_after,
        )
        return self._request_interrupt("ctx.wait_for_event", request)

    def ask_surface(
        self,
        key: str,
        surface: SurfaceSource,
        *,
        timeout: Seconds | None = None,
        default: Any = NO_DEFAULT,
        remind_after: Collection[Seconds] = (),
    ) -> SurfaceAnswerT:
        """Show a form with a button to a person, and return the answer: `action`, the id of the pressed button, and
        `values` by field id.

        `surface` comes from `weftwork.surface`, or is its JSON. After `timeout` the answer is `default`; without a
        default, InterruptTimeout is raised. Raises NodeError: host_capability_missing on a host that renders no
        surfaces.
        """
        request = InterruptRequest(
            key=key,
            custom_kind=SURFACE_KIND,
            timeout=timeout,
            default=default,
            remind_after=remind_after,
            surface=surface,
            returns_surface_answer=True,
        )
        turn_prefix = self._invocation.models.next_turn_prefix()
        return self._call("ctx.ask_surface", lambda _, __: self._invocation.ask_surface(turn_prefix, request))

    def show_surface(self, surface: SurfaceSource) -> TextT:
        """Show a surface without a button to the clients of the run, and return its id. The function does
        not wait. A repeated call of the node shows it once."""
        turn_prefix = self._invocation.models.next_turn_prefix()
        return self._call("ctx.show_surface", lambda _, __: self._invocation.show_surface(turn_prefix, surface))

    # Models. Options of the run override the arguments of a call.

    def call_ai(
        self,
        prompt: str | None = None,
        *,
        messages: Messages | None = None,
        media: PromptMedia | Collection[PromptMedia] = (),
        system: str = "",
        provider: str | None = None,
        model: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        stop: str | Collection[str] = (),
        schema: Any = None,
        stream: bool = False,
    ) -> AiAnswerT:
        """Call a model and return its answer: `text`, `usage`, `finish_reason`, `model`; with a `schema` also `data`.

        `prompt` is added after `messages`, and `media` to the last user message. With media, the outputs of the node
        are untrusted. `stream` sends the answer to the clients of the run while it is generated. Raises NodeError if
        there is no valid answer.
        """
        built = build_prompt(
            "ctx.call_ai", prompt, messages, system, media, provider, model, temperature, max_tokens, stop
        )
        if not built.messages:
            raise misuse_error("ctx.call_ai needs a prompt or messages.")
        shape = None if schema is None else build_shape(schema)
        if shape is not None and stream:
            raise misuse_error("ctx.call_ai cannot stream with a schema, because the value is checked first.")
        models = self._invocation.models
        turn_prefix = models.next_turn_prefix()
        return self._call("ctx.call_ai", lambda _, __: models.call_ai(turn_prefix, built, shape, bool(stream)))

    def generate_envelope(
        self,
        envelope_type: str | EnvelopeKind,
        prompt: str | None = None,
        *,
        messages: Messages | None = None,
        media: PromptMedia | Collection[PromptMedia] = (),
        system: str = "",
        provider: str | None = None,
        model: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        stop: str | Collection[str] = (),
    ) -> EnvelopeT:
        """Call a model and return an envelope of a kind: `envelope_type`, `payload`, `envelope_id`, `usage`, `model`,
        `content_trust`.

        If the model requests a clarification, the run waits for a person, and the function is called again from its
        start. If the model reports that it cannot make the envelope, the type is `error`. Raises NodeError if there is
        no valid envelope.
        """
        kind: Any = envelope_type.kind.name if isinstance(envelope_type, EnvelopeKind) else envelope_type
        if not isinstance(kind, str) or not 0 < len(kind) <= MAX_KIND:
            raise misuse_error(
                f"ctx.generate_envelope: envelope_type must be the name of a kind, 1 to {MAX_KIND} characters."
            )
        built = build_prompt(
            "ctx.generate_envelope", prompt, messages, system, media, provider, model, temperature, max_tokens, stop
        )
        if not built.messages and not built.system:
            raise misuse_error("ctx.generate_envelope needs a prompt, messages, or system.")
        models = self._invocation.models
        turn_prefix = models.next_turn_prefix()
        return self._call("ctx.generate_envelope", lambda _, __: models.generate_envelope(turn_prefix, built, kind))

    def quote(self, value: Any, source: str = "input") -> str:
        """Quote untrusted content for a prompt: enclose it in markers that the content cannot close, so that the model
        treats it as content and not as instructions. A value that is not a text is quoted as JSON."""
        try:
            return wrap_untrusted(as_json(value), type=source)
        except NotJson as error:
            raise misuse_error(f"The value of ctx.quote is not JSON: {error}.") from None

    # Media is stored as assets of the tenant.

    def emit_image(
        self,
        data: MediaSource,
        *,
        alt: str = "",
        mime_type: str = "",
        title: str = "",
        name: str = "",
        inline: bool = False,
    ) -> MediaT:
        """Emit an image for the clients of the run: bytes, the path of a file, or the mediaRef of an asset.

        `alt` is the alternative text. `inline`: the event contains the bytes, if they are within the limit. Raises
        NodeError, or OSError for a file that cannot be read.
        """
        return self._emit_media("image", data, inline, mime_type=mime_type, alt=alt, title=title, name=name)

    def emit_audio(
        self,
        data: MediaSource,
        *,
        alt: str = "",
        mime_type: str = "",
        title: str = "",
        name: str = "",
        inline: bool = False,
        duration_seconds: float | None = None,
    ) -> MediaT:
        """Emit audio, with the same arguments as emit_image."""
        duration: Any = duration_seconds
        if duration is not None and (
            not isinstance(duration, int | float) or isinstance(duration, bool) or not 0 <= duration < math.inf
        ):
            raise misuse_error("ctx.emit_audio: duration_seconds must be a number of 0 or more.")
        return self._emit_media("audio", data, inline, duration, mime_type=mime_type, alt=alt, title=title, name=name)

    def emit_file(
        self,
        data: MediaSource,
        *,
        name: str = "",
        alt: str = "",
        mime_type: str = "",
        title: str = "",
        inline: bool = False,
    ) -> MediaT:
        """Emit a file, with the same arguments as emit_image. `name` is the file name for downloads."""
        return self._emit_media("file", data, inline, mime_type=mime_type, alt=alt, title=title, name=name)

    def read_media(self, ref: MediaReference, *, most: int | None = None) -> MediaContentT:
        """Read an asset by its mediaRef or an object with one: `data`, `mime_type`, `media_ref`.

        The content is untrusted, and so are the outputs of the node afterwards. Raises NodeError: media_not_found for
        an asset that does not exist or belongs to another tenant, media_too_large for more than `most` bytes.
        """
        media = self._invocation.media
        return self._call("ctx.read_media", lambda _, __: media.read(ref, most))

    def _emit_media(
        self, kind: MediaKind, data: MediaSource, inline: bool, seconds: float | None = None, **texts: Any
    ) -> MediaT:
        for name, text in texts.items():
            if not isinstance(text, str) or not is_storable(text):
                raise misuse_error(f"ctx.emit_{kind}: {name} must be a text without NUL.")
        media, media_type = self._invocation.media, texts.pop("mime_type")
        options = {"media_type": media_type, **texts, "inline": bool(inline), "duration_seconds": seconds}
        turn_prefix = self._invocation.models.next_turn_prefix()
        return self._call(f"ctx.emit_{kind}", lambda _, __: media.emit(turn_prefix, data, kind, options))

    # Steps, requests and versions.

    @overload
    def step(
        self: "Context", name: str, function: AsyncFunction[T], *arguments: Any, effect: Effect | None = None
    ) -> Coroutine[Any, Any, T]: ...
    @overload
    def step(
        self: "Context", name: str, function: Callable[..., T], *arguments: Any, effect: Effect | None = None
    ) -> Coroutine[Any, Any, T]: ...
    @overload
    def step(
        self: "PlainContext", name: str, function: AsyncFunction[T], *arguments: Any, effect: Effect | None = None
    ) -> T: ...
    @overload
    def step(
        self: "PlainContext", name: str, function: Callable[..., T], *arguments: Any, effect: Effect | None = None
    ) -> T: ...
    def step(self, name: str, function: Callable[..., Any], *arguments: Any, effect: Effect | None = None) -> Any:
        """Call a function once and record its result or failure, which later calls of the node get instead.

        Raises StepError for a failure. A plain function runs in a thread, an async function on the event loop.
        """
        bound = bind_step(function, arguments)
        work = partial(self._invocation.step, name, bound, effect)
        return self._call("ctx.step", work, partial(convert_result, function))

    def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Headers = (),
        json: Any = None,
        content: bytes | str | None = None,
        timeout: float | None = None,
    ) -> ResponseT:
        """Send a request with the guarded client of the host, to public addresses only.

        The response makes the outputs of the node untrusted. Raises FetchError if there is no response, NodeError with
        the code ssrf_blocked if the request is refused.
        """
        request = build_request(url, method, headers, json, content, timeout)
        return self._call("ctx.fetch", lambda _, __: self._invocation.fetch(request))

    def heartbeat(self, **progress: Any) -> None:
        """Report that the node is alive. The fields are written to the log of the host at the level debug.

        Raises CallAbandoned if the node was cancelled or timed out, so that a long loop ends.
        """
        self._invocation.heartbeat(progress)

    def get_version(self, change_id: str, min: int, max: int) -> VersionT:  # noqa: A002
        """The version of a change that this run uses: `max` at the first call, and the recorded version afterwards."""
        return self._call("ctx.get_version", lambda _, __: self._invocation.get_version(change_id, min, max))

    def secret(self, *arguments: Any, **named: Any) -> AnswerT:
        """Not supported by this host: raises NodeError with the code host_capability_missing."""

        async def refuse(*_: Any) -> None:
            raise missing_capability_error("secrets")

        return self._call("ctx.secret", refuse)


class Context(
    ContextBase[
        Coroutine[Any, Any, Any],
        Coroutine[Any, Any, dict[str, Any]],
        Coroutine[Any, Any, AiAnswer],
        Coroutine[Any, Any, Envelope],
        Coroutine[Any, Any, Media],
        Coroutine[Any, Any, MediaContent],
        Coroutine[Any, Any, FetchResponse],
        Coroutine[Any, Any, int],
        Coroutine[Any, Any, SurfaceAnswer],
        Coroutine[Any, Any, str],
    ]
):
    """The first argument of a node that is an async function. Calls of the host must be awaited."""

    __slots__ = ()


class PlainContext(
    ContextBase[Any, dict[str, Any], AiAnswer, Envelope, Media, MediaContent, FetchResponse, int, SurfaceAnswer, str]
):
    """The first argument of a node that is a plain function. The same as Context, but calls block instead of await."""

    __slots__ = ()
