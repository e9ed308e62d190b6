"""Speech: what models say in one entry of a node. Answers are streamed and recorded, envelopes go through the gate.

Theory. Calls and envelopes are told apart by their order in the entry. A node that is entered again makes the same
calls in the same order and is given what was recorded, until it comes to one that was not; so no model is asked twice
for what is known, and no handler runs twice.
"""

import asyncio
import hashlib
import logging
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import aclosing
from typing import Any, Final

import msgspec

from weftwork.engine.call import effect_drafts
from weftwork.engine.gate import Gate
from weftwork.engine.inputs import EnvelopeSent, Input, ModelAnswered
from weftwork.engine.runtime import Runtime
from weftwork.engine.sayings import Sayings
from weftwork.ports.emission import Emission
from weftwork.ports.models import Delta, ModelAnswer, ModelRequest, ProviderFault, Stop
from weftwork.ports.nodes import AppendLog, EmitEvent, Failed, NodeCall, StepFailed
from weftwork.protocol.envelope.completion import usage_event
from weftwork.protocol.envelope.outcome import Invalid, Outcome
from weftwork.protocol.envelope.redact import redact
from weftwork.protocol.envelope.rules import Known
from weftwork.protocol.events import Draft
from weftwork.protocol.hold_back import HoldBack
from weftwork.protocol.message_chunk import chunk_payload, last_meta
from weftwork.protocol.model_record import Fault, answer_of, fault_of, fault_record, record_of
from weftwork.protocol.model_text import Halves, clean, cleaned, is_clean
from weftwork.protocol.redaction import Redactor
from weftwork.protocol.state import RunState

log = logging.getLogger("weftwork.node")

MAX_ANSWER: Final = 1_048_576
"""model-02 (host): characters of one answer; a model that goes on is cut off there."""
LEAST: Final = 16
"""What a piece counts for at least, so that their number is bounded too."""
BURST: Final = 64
"""Pieces after which others get a turn, however fast a provider is."""
BROKEN: Final = Failed("provider_unavailable", "The provider of the model failed; the host's log has the details.")
NO_MODELS: Final = Failed("host_capability_missing", "This host has no model provider.", retryable=False)

Along = Callable[[ModelAnswer], tuple[EmitEvent | AppendLog, ...]]


class Speech:
    """Of one entry of a node, or of one item of a map; `node_id` is the node of the graph it belongs to."""

    __slots__ = (
        *("_call", "_calls", "_gate", "_node_id", "_prefix", "_redactor"),
        *("_report", "_runtime", "_sayings", "_state", "_unfinished"),
    )

    def __init__(
        self,
        runtime: Runtime,
        report: Callable[[Input], None],
        sayings: Sayings,
        state: RunState,
        call: NodeCall,
        place: tuple[str, str],
        redactor: Redactor | None,
        is_untrusted: Callable[[], bool],
    ) -> None:
        node_id, item = place
        self._runtime = runtime
        self._report = report
        self._sayings = sayings
        self._state = state
        self._call = call
        self._node_id = node_id
        self._redactor = redactor
        self._prefix = f"{item}/{state.nodes[node_id].failures}."
        self._calls: Counter[str] = Counter()
        # Of items of a map nobody can tell whose stream it was.
        self._unfinished = not item and state.nodes[node_id].streaming
        self._gate = Gate(runtime, state, call, place, redactor, is_untrusted)

    async def generate(self, request: ModelRequest, along: Along) -> ModelAnswer:
        """See ports.nodes.NodeContext."""
        turn = f"{request.voice}{self._calls[request.voice]}"
        self._calls[request.voice] += 1
        name = f"{self._prefix}{turn}"
        known = self._state.nodes[self._node_id].turns.get(name)
        if known is not None:
            return _known(known, turn)
        ids = {"node_id": self._node_id, "run_id": self._call.run_id, "partition": self._state.header.partition}
        ids["key"] = self._key(name)
        try:
            answer = await self._ask(msgspec.structs.replace(request, **ids))
        except StepFailed as error:
            if not request.voice:
                raise
            fault = Fault(error.failure.code, error.failure.message, error.failure.retryable)
            return _known(await self._keep(fault_record(self._node_id, name, fault)), turn)
        answer = msgspec.structs.replace(answer, turn=turn)
        drafts = [Draft("provider.usage", usage_event(self._node_id, answer), self._node_id)]
        for effect in along(answer):
            made = effect_drafts(self._state, self._node_id, effect)
            if isinstance(made, Failed):
                raise StepFailed(made)
            drafts += made
        return _known(await self._keep(record_of(self._node_id, name, answer), drafts), turn)

    def _key(self, name: str) -> str:
        """The identity of a call, over all attempts to make it."""
        whole = f"{self._call.run_id}:{self._node_id}:{self._call.visit}:{name}"
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    async def _keep(self, record: dict[str, Any], along: Iterable[Draft] = ()) -> dict[str, Any]:
        """Record what a call came to, with what follows from it; the record that is there then."""
        durable: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._sayings.flush()
        self._report(ModelAnswered(self._node_id, record, tuple(along), durable, self._call.entered))
        return await durable

    async def _ask(self, request: ModelRequest) -> ModelAnswer:
        """A whole answer, streamed on its way. Raises StepFailed."""
        if self._runtime.models is None:
            raise StepFailed(NO_MODELS)
        if self._unfinished:
            # What was begun by a process that is gone: its readers see that no more of it will come.
            self._unfinished = False
            self.say_chunk("", True, {})
        try:
            provider = self._runtime.models.find(request)
            # Pieces of several items of a map could not be told apart.
            shows = request.stream and self._prefix.startswith("/")
            stream = _Stream(self, provider.name, request.model or provider.default_model, shows)
            try:
                async with aclosing(provider.generate(request)) as pieces:
                    async for piece in pieces:
                        if await stream.take(piece):
                            break
                return stream.answer()
            except BaseException:
                stream.abandon()
                raise
        except ProviderFault as fault:
            code, message = clean(fault.code), clean(fault.message)
            raise StepFailed(Failed(code, message, retryable=fault.retryable)) from None
        except (StepFailed, asyncio.CancelledError):
            raise
        except Exception as error:
            # Not its words: they may hold what was sent, or a key.
            where = f"{type(error).__name__} in {_place(error)}"
            log.error("provider raised", extra={**self._named, "error": where})
            raise StepFailed(BROKEN) from None

    def say_chunk(self, text: str, last: bool, meta: dict[str, Any]) -> None:
        payload = chunk_payload(self._node_id, self._call.run_id, text, last, meta)
        self._sayings.tell(Draft("output.chunk", payload, self._node_id))

    def shown_name(self, name: str) -> str:
        """What a provider calls its model, without a secret in it."""
        return name if self._redactor is None else self._redactor.copies.mask(name)

    def shown_tools(self, calls: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        """Calls of tools as a chunk may show them: none of a node that hides what it makes, and no secret in any."""
        if self._state.plan.nodes[self._node_id].hides:
            return ()
        return calls if self._redactor is None else tuple(redact(list(calls), self._redactor.copies)[0])

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be cut in two, by now."""
        return self._redactor.copies.whole_texts if self._redactor is not None else ()

    @property
    def _named(self) -> dict[str, str]:
        return {"runId": self._call.run_id, "nodeId": self._call.node_id}

    def judge(self, document: Any, emission: Emission) -> Outcome:
        return self._gate.judge(document, emission, records=False).outcome

    async def emit(self, document: Any, emission: Emission) -> Outcome:
        """See ports.nodes.NodeContext."""
        seen = self._gate.judge(document, emission)
        if seen.judged is None:
            self._gate.count(seen)
            return seen.outcome
        recorded: asyncio.Future[Known] = asyncio.get_running_loop().create_future()
        sent = EnvelopeSent(self._node_id, seen.judged, emission.contract, seen.question, recorded, self._call.entered)
        self._report(sent)
        known = await recorded
        self._gate.count(seen)
        if known.type != seen.judged.type:
            # Somebody else was first.
            return Invalid("envelope_correlation_conflict", "envelope_correlation_conflict")
        return known.outcome


def _known(record: dict[str, Any], turn: str) -> ModelAnswer:
    """What is recorded of a call. Raises StepFailed if that is a failure."""
    if (fault := fault_of(record)) is not None:
        raise StepFailed(Failed(fault.code, fault.message, retryable=fault.retryable))
    return answer_of(record, turn)


def _place(error: BaseException) -> str:
    """Where in the code it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "nowhere"


class _Stream:
    """One answer on its way: its pieces as they are shown, and all of it."""

    __slots__ = (
        *("_halves", "_hold", "_meta", "_model", "_pending", "_provider", "_shows"),
        *("_size", "_speech", "_stop", "_taken", "_texts"),
    )

    def __init__(self, speech: Speech, provider: str, model: str, shown: bool) -> None:
        self._speech = speech
        self._provider = provider
        self._model = model
        self._meta = {"provider": provider, "model": model}
        self._shows = shown
        self._hold = HoldBack(speech.secrets)
        self._halves = Halves()
        self._texts: list[str] = []
        self._size = self._taken = 0
        self._pending: str | None = None
        """The last piece, which waits for the reason of the end."""
        self._stop: Stop | None = None

    async def take(self, piece: Delta | Stop) -> bool:
        """True if this was the end."""
        if isinstance(piece, Stop):
            self._end(piece)
            return True
        if piece.model and piece.model != self._model:
            self._model = clean(piece.model)
            self._meta = {"provider": self._provider, "model": self._model}
        room = MAX_ANSWER - self._size
        text = self._halves.take(piece.text[:room], piece.last)
        self._texts.append(text)
        self._size += max(len(piece.text), LEAST)
        if self._size > MAX_ANSWER:
            self._pending = text
            self._end(Stop("length", detail="length"))
            return True
        if piece.last and self._shows:
            self._pending = text
            return False
        self._show(text)
        if self._taken % BURST == 0:
            await asyncio.sleep(0)
        return False

    def abandon(self) -> None:
        """No more of it will come."""
        if self._shows and self._taken and self._stop is None:
            self._speech.say_chunk("", True, self._meta)

    def answer(self) -> ModelAnswer:
        if self._stop is None:
            # The stream was cut: what came of it is no answer.
            raise ProviderFault("provider_unavailable", "The answer of the model ended before its end.")
        stop = self._stop
        return ModelAnswer(
            "".join(self._texts),
            stop.reason,
            self._provider,
            self._model,
            stop.usage,
            stop.detail,
            stop.refusal,
            stop.safety_category,
            stop.tool_calls,
        )

    def _show(self, text: str) -> None:
        if self._shows:
            self._hold.know(self._speech.secrets)
            self._speech.say_chunk(self._hold.cut(text), False, self._meta)
        self._taken += 1

    def _end(self, stop: Stop) -> None:
        if stop.tool_calls and not is_clean(stop.tool_calls):
            raise ProviderFault("provider_unavailable", "The model calls tools in words that are no JSON.")
        if rest := self._halves.take("", last=True):
            self._texts.append(rest)
            self._pending = (self._pending or "") + rest
        self._stop = stop = cleaned(stop)
        if stop.model:
            self._model = self._speech.shown_name(stop.model)
        if self._shows and (self._pending is not None or self._taken or stop.tool_calls):
            text = self._hold.cut(self._pending or "", last=True)
            tools = self._speech.shown_tools(stop.tool_calls)
            meta = last_meta(self._provider, self._model, stop.reason, stop.usage, tools)
            self._speech.say_chunk(text, True, meta)
