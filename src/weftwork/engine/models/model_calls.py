"""Model calls of one entry of a node: answers are streamed and recorded, and envelopes go through the gate.

Theory. Calls and envelopes are identified by their order in the entry. A node that is called again makes the same calls
in the same order, and gets recorded answers up to the first call without one. Therefore no model is called twice for
the same answer, and no handler runs twice.
"""

import asyncio
import hashlib
import logging
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import aclosing, suppress
from typing import Any, Final

import msgspec

from weftwork.engine.decide.inputs import EnvelopeEmitted, Input, ModelAnswered
from weftwork.engine.media.node_media import (
    EntryMediaStore,
    MediaDiscarded,
    emitted_media,
    media_envelope,
    media_of_record,
)
from weftwork.engine.models.answer_stream import MAX_LABEL_CHARS, AnswerStream
from weftwork.engine.models.envelope_gate import EnvelopeGate, GateResult
from weftwork.engine.models.message_media import MessageMedia
from weftwork.engine.models.request_keys import request_keys
from weftwork.engine.node_events import BufferedEvents, effect_events
from weftwork.engine.replay_guard import deny_in_replay
from weftwork.engine.runtime import Runtime
from weftwork.ports.media import EmittedMedia, MediaBytes, OutgoingMedia
from weftwork.ports.models import GeneratedMedia, ModelRequest, ProviderFault, find_model, input_modalities
from weftwork.ports.node_outcome import AppendLog, EmitEvent, Failed, ProviderPending, StepFailed
from weftwork.ports.nodes import CheckedEnvelope, Emission, NodeCall
from weftwork.protocol.envelopes.completion import usage_event
from weftwork.protocol.envelopes.gate_rules import OPEN_CONTRACT, EnvelopeContract, RecordedOutcome
from weftwork.protocol.envelopes.handling import envelope_failure
from weftwork.protocol.envelopes.kinds import MEDIA_KINDS
from weftwork.protocol.envelopes.outcome import Accepted, EnvelopeOutcome, Gated, Invalid
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.media.media_types import UNKNOWN_TYPE
from weftwork.protocol.models.answers import (
    ModelAnswer,
    ModelFault,
    answer_from_record,
    answer_record,
    clean_text,
    fault_from_record,
    fault_record,
)
from weftwork.protocol.models.model_catalogue import ModelPrice
from weftwork.protocol.models.provider_waits import next_provider_wait
from weftwork.protocol.privacy.credential_redaction import mask_credentials_in_text
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.privacy.secret_matcher import redact_value
from weftwork.protocol.run import model_payloads
from weftwork.protocol.run.events import Draft

log = logging.getLogger("weftwork.node")

PROVIDER_FAILED: Final = Failed("provider_unavailable", "The model provider failed; the host's log has the details.")
MAX_FAULT_CHARS: Final = 2_000
"""Characters of a provider's error message."""
MAX_GENERATED_MEDIA: Final = 16
"""Media that are accepted from one answer; others are ignored."""
NO_MODELS: Final = Failed("host_capability_missing", "This host has no model provider.", retryable=False)

AnswerEvents = Callable[[ModelAnswer], tuple[EmitEvent | AppendLog, ...]]


class _CallResult(msgspec.Struct, frozen=True):
    """The answer of a provider, and what the host records about the call."""

    answer: ModelAnswer
    request_keys: dict[str, str] | None
    price: ModelPrice | None


class EntryModelCalls:
    """The model calls of one entry of a node, or of one item of a map.

    `place` is the node in the graph and the item of a map, or "" for the node itself.
    """

    __slots__ = (
        "_buffered",
        "_call",
        "_calls",
        "_gate",
        "_has_unfinished_stream",
        "_idle",
        "_in_progress",
        "_media",
        "_node_id",
        "_pending",
        "_prefix",
        "_redactor",
        "_report",
        "_runtime",
        "_state",
    )

    def __init__(
        self,
        runtime: Runtime,
        report: Callable[[Input], None],
        buffered: BufferedEvents,
        state: RunState,
        call: NodeCall,
        place: tuple[str, str],
        redactor: Redactor | None,
        is_untrusted: Callable[[], bool],
    ) -> None:
        node_id, item = place
        self._runtime = runtime
        self._report = report
        self._buffered = buffered
        self._state = state
        self._call = call
        self._node_id = node_id
        self._redactor = redactor
        self._prefix = f"{item}/{state.nodes[node_id].failures}."
        self._calls: Counter[str] = Counter()
        self._in_progress = 0
        """Number of calls that have no recorded result yet."""
        self._idle = asyncio.Event()
        self._pending: ProviderPending | None = None
        """Set once the entry has to wait for a provider. Then no call begins."""
        # The state does not say which item of a map an unfinished stream belongs to, so items do not close it.
        self._has_unfinished_stream = not item and state.nodes[node_id].streaming
        self._media = EntryMediaStore(runtime, state, redactor)
        self._gate = EnvelopeGate(runtime, state, call, *place, redactor, is_untrusted, self._media.is_foreign)

    async def generate(self, request: ModelRequest, along: AnswerEvents) -> ModelAnswer:
        """See ports.nodes.NodeContext.

        park-05 (host): if the entry has to wait for a provider, its other calls in progress end first, so that their
        answers are recorded and not paid for twice.
        """
        turn = f"{request.turn_prefix}{self._calls[request.turn_prefix]}"
        self._calls[request.turn_prefix] += 1
        name = f"{self._prefix}{turn}"
        recorded = self._state.nodes[self._node_id].model_answers.get(name)
        replay = self._runtime.replay
        if recorded is None and replay is not None:
            # A replay may have used the recorded answer of the call in its source.
            await replay.take_answer(self._node_id, self._call.visit, name)
            recorded = self._state.nodes[self._node_id].model_answers.get(name)
        if recorded is not None:
            return _recorded_answer(recorded, turn)
        if self._pending is None:
            self._in_progress += 1
            try:
                return await self._generate_new(request, along, name, turn)
            except ProviderPending as pending:
                self._pending = self._pending or pending
            finally:
                self._in_progress -= 1
                if not self._in_progress:
                    self._idle.set()
        while self._in_progress:
            self._idle.clear()
            await self._idle.wait()
        raise ProviderPending(self._pending.provider, self._pending.code, self._pending.wait_ms)

    async def _generate_new(self, request: ModelRequest, along: AnswerEvents, name: str, turn: str) -> ModelAnswer:
        """The answer of a call without a recorded result. Raises StepFailed, ProviderPending."""
        # Identifies the call for the provider, and is the same when the call is repeated.
        whole = f"{self._call.run_id}:{self._node_id}:{self._call.visit}:{name}"
        key = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        ids = {"node_id": self._node_id, "run_id": self._call.run_id, "partition": self._state.header.partition}
        ids["key"] = key
        if (chosen := self._state.nodes[self._node_id].model) is not None:
            # cap-08: the model that the gate chose, in place of the one that the request names.
            ids |= chosen.document()
        try:
            result = await self._call_provider(msgspec.structs.replace(request, **ids))
        except StepFailed as error:
            if not request.turn_prefix:
                raise
            fault = ModelFault(error.failure.code, error.failure.message, error.failure.retryable)
            return _recorded_answer(await self._record(fault_record(self._node_id, name, fault)), turn)
        answer = msgspec.structs.replace(result.answer, turn=turn)
        drafts = [Draft.of(usage_event(self._node_id, answer, result.price), self._node_id)]
        for effect in along(answer):
            events = effect_events(self._state, self._node_id, effect)
            if isinstance(events, Failed):
                raise StepFailed(events)
            drafts += events
        record = answer_record(self._node_id, name, answer, result.request_keys)
        return _recorded_answer(await self._record(record, drafts), turn)

    async def _record(self, record: model_payloads.ModelAnswered, along: Iterable[Draft] = ()) -> dict[str, Any]:
        """Record the result of a call together with the events `along`; returns the record once it is durable."""
        durable: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._buffered.flush()
        self._report(ModelAnswered(self._node_id, record, tuple(along), durable, self._call.entry_sequence))
        return await durable

    async def _call_provider(self, request: ModelRequest) -> "_CallResult":
        """Call the provider and return the complete answer; its deltas are streamed. Raises StepFailed,
        ProviderPending."""
        deny_in_replay(self._runtime, self._state.header)
        if self._runtime.models is None:
            raise StepFailed(NO_MODELS)
        if self._has_unfinished_stream:
            # A process that died has left this stream open; a last chunk says to readers that it has ended.
            self._has_unfinished_stream = False
            self.emit_chunk("", True, {})
        provider_name = request.provider
        try:
            provider = self._runtime.models.find(request)
            provider_name = provider.name
            request = await self._message_media.resolve(request, input_modalities(provider, request.model))
            # Items of a map are not streamed, because readers could not distinguish their chunks.
            is_streamed = request.stream and self._prefix.startswith("/")
            stream = AnswerStream(self, provider.name, request.model or provider.default_model, is_streamed)
            try:
                media: list[dict[str, Any]] = []
                async with aclosing(provider.generate(request)) as pieces:
                    async for piece in pieces:
                        if isinstance(piece, GeneratedMedia):
                            if len(media) < MAX_GENERATED_MEDIA:
                                media.append(await self._media.record_of_generated(piece))
                        elif await stream.add(piece):
                            break
                answer = await self._recordable(stream.answer(), media, request)
                info = find_model(provider, request.model)
                keys = request_keys(request, provider, None if self._redactor is None else self._redactor.matcher)
                return _CallResult(answer, keys, None if info is None else info.price)
            except BaseException:
                stream.abandon()
                raise
        except ProviderFault as fault:
            code, message = clean_text(fault.code)[:MAX_LABEL_CHARS], clean_text(fault.message)[:MAX_FAULT_CHARS]
            if (wait := self._provider_wait(fault)) is not None:
                raise ProviderPending(self.redact_name(provider_name), code, wait) from None
            raise StepFailed(Failed(code, message, retryable=fault.retryable)) from None
        except (StepFailed, asyncio.CancelledError):
            raise
        except Exception as error:
            # Log the place and not the message, which may contain the request or a key.
            frames = traceback.extract_tb(error.__traceback__)
            place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "nowhere"
            where = f"{type(error).__name__} in {place}"
            log.error("provider raised", extra={**self._log_fields, "error": where})
            raise StepFailed(PROVIDER_FAILED) from None

    def _provider_wait(self, fault: ProviderFault) -> int | None:
        """How long the node waits after this fault; None if it fails. A node with child runs fails, because it has to
        react to their results."""
        if fault.wait_ms is None or self._call.children:
            return None
        return next_provider_wait(fault.wait_ms, self._state.nodes[self._node_id].provider_waited_ms)

    @property
    def _message_media(self) -> MessageMedia:
        runtime = self._runtime
        return MessageMedia(
            runtime.assets,
            runtime.outbound,
            self._state.header.partition,
            runtime.limits.max_bytes_per_part,
            runtime.wait_for_store,
            None if self._redactor is None else self._redactor.matcher,
        )

    async def _recordable(self, answer: ModelAnswer, media: list[dict[str, Any]], request: ModelRequest) -> ModelAnswer:
        """The answer in the form in which it is recorded: media in its text are replaced by assets, and the assets that
        the model was shown are named, so that they are kept as long as the log."""
        parts = [part for message in request.messages for part in message.media]
        shown = tuple(dict.fromkeys(part.media_ref for part in parts if part.media_ref is not None)) if parts else ()
        text = await self._media.externalise(answer.text, answer.stop != "length")
        return msgspec.structs.replace(answer, text=text, media=tuple(media), shown=shown)

    def emit_chunk(self, text: str, last: bool, meta: dict[str, Any]) -> None:
        chunk = model_payloads.OutputChunk(self._node_id, self._call.run_id, text, last, meta)
        self._buffered.add(Draft.of(chunk, self._node_id))

    def redact_name(self, name: str) -> str:
        """The name of a model, which a caller or a provider chose, with secrets and credentials masked."""
        name = mask_credentials_in_text(name)
        return name if self._redactor is None else self._redactor.matcher.mask(name)

    def redact_tool_calls(self, calls: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        """Tool calls for a chunk: none if the node hides its outputs, and with secrets masked."""
        if self._state.plan.nodes[self._node_id].hides_outputs:
            return ()
        return calls if self._redactor is None else tuple(redact_value(list(calls), self._redactor.matcher)[0])

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets that are known so far, which must not be split between chunks."""
        return self._redactor.matcher.learnt_texts if self._redactor is not None else ()

    @property
    def _log_fields(self) -> dict[str, str]:
        return {"runId": self._call.run_id, "nodeId": self._call.node_id}

    def check_envelope(self, document: Any, emission: Emission) -> CheckedEnvelope | Invalid:
        """See ports.nodes.NodeContext."""
        document = self._media.by_url(document)
        result = self._gate.judge(document, emission, records=False)
        return result.outcome if isinstance(result.outcome, Invalid) else CheckedEnvelope(document, result.is_validated)

    async def emit_envelope(self, envelope: Any, emission: Emission) -> EnvelopeOutcome:
        """See ports.nodes.NodeContext."""
        if not isinstance(envelope, CheckedEnvelope):
            envelope = CheckedEnvelope(self._media.by_url(envelope), is_validated=False)
        result = self._gate.judge(envelope.document, emission, is_validated=envelope.is_validated)
        if result.judged is not None and result.judged.type in MEDIA_KINDS and isinstance(result.outcome, Accepted):
            # Judged again, because storing the media changes URL and size of the payload. The schema is not applied
            # again: the host sets the same members as in `emit_media`, and the others are as the model sent them.
            stored = await self._media.store_inline(envelope.document)
            result = self._gate.judge(stored, emission, is_validated=result.is_validated)
        return await self._record_envelope(result, emission)

    async def _record_envelope(self, result: GateResult, emission: Emission) -> EnvelopeOutcome:
        """Record the outcome of an envelope, if it is not recorded yet; returns the outcome on record."""
        if result.judged is None:
            self._gate.count_clarification(result)
            return result.outcome
        recorded: asyncio.Future[RecordedOutcome] = asyncio.get_running_loop().create_future()
        emitted = EnvelopeEmitted(
            self._node_id, result.judged, emission.contract, result.interrupt, recorded, self._call.entry_sequence
        )
        self._report(emitted)
        on_record = await recorded
        self._gate.count_clarification(result)
        if on_record.type != result.judged.type:
            # Another envelope with this correlation id was recorded first.
            return Invalid("envelope_correlation_conflict", "envelope_correlation_conflict")
        return on_record.outcome

    async def emit_media(
        self, sent: OutgoingMedia, turn: str, contract: EnvelopeContract = OPEN_CONTRACT
    ) -> EmittedMedia:
        """See ports.nodes.NodeContext."""
        if not turn:
            turn = str(self._calls["/media"])
            self._calls["/media"] += 1
        emission = Emission(f"media/{turn}", 0, 0, contract)
        kind = f"media.{sent.kind}"
        recorded = self._gate.find_recorded(kind, emission)
        outcome = recorded.outcome if recorded is not None else None
        if outcome is None:
            payload = await self._media.make_payload(sent)
            if sent.media_type and payload["mimeType"] == UNKNOWN_TYPE:
                message = "The bytes of the media do not match their declared type, so they are stored as plain bytes."
                self._buffered.emit(AppendLog("warn", message, {"type": kind}))
                self._buffered.flush()
            document = media_envelope(sent.kind, payload, sent.title)
            outcome = await self._record_envelope(self._gate.judge(document, emission), emission)
        if isinstance(outcome, Accepted):
            return emitted_media(outcome, self._state.header.partition, sent.title)
        if isinstance(outcome, Gated) and outcome.refusal_mode == "discard-and-warn":
            raise MediaDiscarded
        failure = envelope_failure(outcome)
        assert failure is not None, "an outcome that is not accepted is a failure"
        raise StepFailed(Failed(failure.code, failure.message, failure.details or None, retryable=False))

    async def emit_generated_media(self, answer: ModelAnswer) -> None:
        """Emit the envelopes of media that a model made in addition to its text, if the node accepts them."""
        for index, each in enumerate(answer.media):
            with suppress(MediaDiscarded):
                await self.emit_media(media_of_record(each), f"{answer.turn}/{index}", self._call.contract)

    async def read_media(self, ref: object, most: int) -> MediaBytes:
        return await self._media.read(ref, most)


def _recorded_answer(record: dict[str, Any], turn: str) -> ModelAnswer:
    """The recorded answer of a call. Raises StepFailed if a failure is recorded."""
    if (fault := fault_from_record(record)) is not None:
        raise StepFailed(Failed(fault.code, fault.message, retryable=fault.retryable))
    return answer_from_record(record, turn)
