"""The context that a node function gets as its first argument: everything it can ask of the host.

ContextBase defines every method once, for async and for plain functions. They differ in how a call waits: in an async
function it returns something to await, in a plain function it blocks. The type parameters of ContextBase stand for
that difference, and one hook makes it, `_call`. Context is for async functions, PlainContext for plain ones.

Interrupts, answers of models, emitted media, steps and versions are recorded. A node that is entered again from its
start gets the recorded result of each such call instead of a new one.
"""

import math
import random
from collections.abc import Callable, Collection, Coroutine, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, cast, overload

from weftwork.adapters.python.calls.call_state import ContextCall, Finish, Work
from weftwork.adapters.python.calls.fetch import FetchResponse, Headers, build_request
from weftwork.adapters.python.calls.interrupts import NO_DEFAULT, InterruptRequest, Seconds, wire_key
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
from weftwork.protocol.privacy.trust import wrap_untrusted
from weftwork.protocol.workflow.node_types import Effect

Texts = Collection[str]

T = TypeVar("T")
AsyncFunction = Callable[..., Coroutine[Any, Any, T]]

# What calls give: the value itself, or in an async function what gives it when it is awaited.
AnswerT = TypeVar("AnswerT")
RecordT = TypeVar("RecordT")
AiAnswerT = TypeVar("AiAnswerT")
EnvelopeT = TypeVar("EnvelopeT")
MediaT = TypeVar("MediaT")
MediaContentT = TypeVar("MediaContentT")
ResponseT = TypeVar("ResponseT")
VersionT = TypeVar("VersionT")


class _CallHook(Protocol):
    def __call__(self, name: str, work: Work[Any], finish: Finish | None = None) -> Any:
        """Run `work` on the event loop, and wait for it in the way of the function; `name` is the call that the author
        made. `finish` makes what the author gets of the result; in a plain function in its own thread.
        """
        ...


class ContextBase(Generic[AnswerT, RecordT, AiAnswerT, EnvelopeT, MediaT, MediaContentT, ResponseT, VersionT]):
    """What the contexts of async and plain functions have in common. Valid for one call of the function."""

    __slots__ = ("_call", "_invocation", "attempt", "iteration", "log", "node_id", "run_id")

    def __init__(self, invocation: Invocation, bridge: LoopBridge | None = None) -> None:
        """`bridge`: by which a plain function waits for the event loop."""
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
        """The run's clock, in UTC: the same when the node is entered again. It stands still between steps."""
        return self._invocation.now()

    @property
    def random(self) -> random.Random:
        """Random numbers that are the same in every attempt of this node. Not for secrets."""
        return self._invocation.random

    @property
    def idempotency_key(self) -> str:
        """The identity of the effect: of the step inside one, else of the node. The same in every attempt."""
        return self._invocation.idempotency_key

    def emit(self, event_type: str, payload: dict[str, Any]) -> None:
        """An event of your own type for those who follow the run."""
        self._invocation.emit(build_event(event_type, payload))

    @property
    def untrusted(self) -> bool:
        """Whether something from outside has come into this node, by its inputs or by a request: then all that it
        makes is untrusted too."""
        return bool(self._invocation.call.untrusted) or self._invocation.host.untrusted

    # Interrupts. The node ends where it asks, and is entered again from its start once there is an answer.

    def _ask(self, name: str, asked: InterruptRequest) -> Any:
        return self._call(name, lambda _, __: self._invocation.request_interrupt(asked))

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
    ) -> AnswerT:
        """Ask somebody outside, and get their answer. One of a kind that nobody answers gives None at once.

        When `timeout` is over the answer is `default`; without one InterruptTimeout is raised. `remind_after` says
        when those who follow the run are reminded.
        """
        asked = InterruptRequest(
            key=key,
            kind=kind,
            data=data,
            custom_kind=custom_kind,
            resume_schema=resume_schema,
            timeout=timeout,
            default=default,
            remind_after=remind_after,
        )
        return self._ask("ctx.interrupt", asked)

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
    ) -> RecordT:
        """Ask for an approval, and get the decision: `action`, `decidedBy` and what belongs to the action.

        A rejection is a decision too. When `timeout` is over it is one with the reason `timeout`.
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
        given = {name: value for name, value in data.items() if value is not None}
        asked = InterruptRequest(key=key, kind="approval", data=given, timeout=timeout, remind_after=remind_after)
        return self._ask("ctx.approve", asked)

    def clarify(
        self,
        key: str,
        questions: Mapping[str, str] | Collection[Mapping[str, Any]],
        *,
        context_type: str | None = None,
        timeout: Seconds | None = None,
        default: Any = NO_DEFAULT,
        remind_after: Collection[Seconds] = (),
    ) -> RecordT:
        """Ask several things at once, and get the answers by id.

        `questions` are texts by id, or objects with `id`, `question` and perhaps the `schema` of the answer.
        """
        listed: Any = questions
        if isinstance(questions, Mapping):
            texts = cast("Mapping[str, str]", questions)
            listed = [{"id": name, "question": text} for name, text in texts.items()]
        data = {"questions": listed} | ({} if context_type is None else {"contextType": context_type})
        asked = InterruptRequest(
            key=key,
            kind="clarification",
            data=data,
            timeout=timeout,
            default=default,
            remind_after=remind_after,
            answer_member="answers",
        )
        return self._ask("ctx.clarify", asked)

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
        """Wait for something that another system tells, and get what it told. It has to name the `correlation`."""
        asked = InterruptRequest(
            key=key,
            kind="external-event",
            data={"eventType": event_type, "correlation": correlation},
            resume_schema=resume_schema,
            timeout=timeout,
            default=default,
            remind_after=remind_after,
        )
        return self._ask("ctx.wait_for_event", asked)

    # Models. The options of the run win over the arguments of a call.

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
        """Ask a model, and get what it says: `text`, `usage`, `finish_reason`, `model`; with a `schema`, `data` too.

        `prompt` stands after `messages`, and `media` beside it, which the model is shown: then all that it says is
        untrusted. `stream` shows the pieces to those who follow the run, as they come. Raises NodeError when no answer
        can be had.
        """
        asked = build_prompt(
            "ctx.call_ai", prompt, messages, system, media, provider, model, temperature, max_tokens, stop
        )
        if not asked.messages:
            raise misuse_error("ctx.call_ai takes a prompt, or messages.")
        shape = None if schema is None else build_shape(schema)
        if shape is not None and stream:
            raise misuse_error(
                "ctx.call_ai cannot stream what is to fit a schema: nobody sees it before it was checked."
            )
        models = self._invocation.models
        turn_prefix = models.next_turn_prefix()
        return self._call("ctx.call_ai", lambda _, __: models.call_ai(turn_prefix, asked, shape, bool(stream)))

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
        """Ask a model for an envelope of a kind: `envelope_type`, `payload`, `envelope_id`, `usage`, `model`,
        `content_trust`.

        The model may ask back: then the run waits for a person, and the function is called again from its start. It
        may also say that it cannot do it: then the type is `error`. Raises NodeError when no envelope can be had.
        """
        kind: Any = envelope_type.kind.name if isinstance(envelope_type, EnvelopeKind) else envelope_type
        if not isinstance(kind, str) or not 0 < len(kind) <= MAX_KIND:
            raise misuse_error(f"ctx.generate_envelope takes a kind of envelope: 1 to {MAX_KIND} characters.")
        asked = build_prompt(
            "ctx.generate_envelope", prompt, messages, system, media, provider, model, temperature, max_tokens, stop
        )
        if not asked.messages and not asked.system:
            raise misuse_error("ctx.generate_envelope takes a prompt, messages, or a text as system.")
        models = self._invocation.models
        turn_prefix = models.next_turn_prefix()
        return self._call("ctx.generate_envelope", lambda _, __: models.generate_envelope(turn_prefix, asked, kind))

    def quote(self, value: Any, source: str = "input") -> str:
        """A value as a prompt is to hold it that you did not write yourself: between marks that nothing in it can
        end, so that a model takes it for content and not for orders. Anything but a text is given as JSON."""
        try:
            return wrap_untrusted(as_json(value), type=source)
        except NotJson as error:
            raise misuse_error(f"ctx.quote takes what is JSON: {error}.") from None

    # Media are kept as assets of the tenant.

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
        """Show an image to those who follow the run: bytes, a file, or an asset by its mediaRef.

        `alt` says what is to be seen, for those who do not see it. `inline`: the bytes stand in the event itself, if
        they are few enough. Raises NodeError, and OSError for a file that cannot be read.
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
        """The same with a sound; `alt` says what is to be heard."""
        length: Any = duration_seconds
        if length is not None and (
            not isinstance(length, int | float) or isinstance(length, bool) or not 0 <= length < math.inf
        ):
            raise misuse_error("ctx.emit_audio takes the duration in seconds, from 0 on.")
        return self._emit_media("audio", data, inline, length, mime_type=mime_type, alt=alt, title=title, name=name)

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
        """The same with any file; `name` is the one under which it is saved."""
        return self._emit_media("file", data, inline, mime_type=mime_type, alt=alt, title=title, name=name)

    def read_media(self, ref: MediaReference, *, most: int | None = None) -> MediaContentT:
        """The bytes of an asset, by its mediaRef or an object that has one: `data`, `mime_type`, `media_ref`.

        They come from outside, so the node is untrusted from here on. Raises NodeError: media_not_found for what is not
        there or belongs to another tenant, media_too_large for more bytes than `most`.
        """
        media = self._invocation.media
        return self._call("ctx.read_media", lambda _, __: media.read(ref, most))

    def _emit_media(
        self, kind: MediaKind, data: MediaSource, inline: bool, seconds: float | None = None, **texts: Any
    ) -> MediaT:
        for name, text in texts.items():
            if not isinstance(text, str) or not is_storable(text):
                raise misuse_error(f"ctx.emit_{kind} takes a text without NUL as {name}.")
        media, media_type = self._invocation.media, texts.pop("mime_type")
        said = {"media_type": media_type, **texts, "inline": bool(inline), "duration_seconds": seconds}
        turn_prefix = self._invocation.models.next_turn_prefix()
        return self._call(f"ctx.emit_{kind}", lambda _, __: media.emit(turn_prefix, data, kind, said))

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
        """Call a function once. When the node is entered again, what it returned or how it failed comes back instead.

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
        """A request to a public address, through the guard of the host. Raises FetchError when no answer came."""
        request = build_request(url, method, headers, json, content, timeout)
        return self._call("ctx.fetch", lambda _, __: self._invocation.fetch(request))

    def heartbeat(self, **progress: Any) -> None:
        """Tell that the node is alive; the fields go to the host's own log at the level debug.

        Raises when the run went on without this call, so that a long loop ends.
        """
        self._invocation.heartbeat(progress)

    def get_version(self, change_id: str, min: int, max: int) -> VersionT:  # noqa: A002
        """The version of a change that this run keeps to: `max` for the first who asks, and that one ever after."""
        return self._call("ctx.get_version", lambda _, __: self._invocation.get_version(change_id, min, max))

    def secret(self, *arguments: Any, **named: Any) -> AnswerT:
        """Not offered by this host: raises NodeError, host_capability_missing."""

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
    ]
):
    """The first argument of a node that is an async function. Good for one call of it. What takes time is to be
    awaited."""

    __slots__ = ()


class PlainContext(ContextBase[Any, dict[str, Any], AiAnswer, Envelope, Media, MediaContent, FetchResponse, int]):
    """The first argument of a node that is a plain function. The same as Context, without await."""

    __slots__ = ()
