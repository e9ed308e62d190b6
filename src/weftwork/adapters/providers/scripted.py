"""The scripted provider: answers without a model. For tests, for demos without a network, and to play faults.

A text is streamed word by word, and its tokens are estimated from its length.
"""

import re
from collections import OrderedDict
from collections.abc import AsyncGenerator
from typing import Final, Protocol, TypeVar

from weftwork.adapters.providers.script import STOP_REASONS, Script, ScriptEntry, fill_media_placeholders
from weftwork.ports.clock import Clock
from weftwork.ports.models import AnswerEnd, Delta, GeneratedMedia, ModelRequest, ProviderFault
from weftwork.protocol.media.message_parts import Modality
from weftwork.protocol.models.answers import TokenUsage

SCRIPTED: Final = "scripted"
SCRIPTED_MODEL: Final = "scripted-1"

MAX_NODES: Final = 1024
"""Nodes that are remembered; beyond that the one that was longest out of use is forgotten."""
BYTES_PER_TOKEN: Final = 4
_WORD_PATTERN: Final = re.compile(r"\s*\S+(?:\s+\Z)?|\s+\Z")


class EntrySource(Protocol):
    """Where a scripted provider has its answers from."""

    def take(self, request: ModelRequest) -> ScriptEntry: ...

    def modalities(self, model: str) -> frozenset[Modality]:
        """What is played beside text."""
        ...


_Key = TypeVar("_Key", bound=tuple[str, ...])
_Value = TypeVar("_Value")


class ScriptPlayer:
    """Plays a script, shared by all providers that play from it. Counts the calls of each node of a run."""

    def __init__(self, script: Script | None = None) -> None:
        self._script = script or Script()
        self._call_counts: OrderedDict[tuple[str, str, str], int] = OrderedDict()

    def take(self, request: ModelRequest) -> ScriptEntry:
        place = (request.partition, request.run_id, request.node_id)
        turn = self._call_counts.get(place, 0)
        put_recent(self._call_counts, place, turn + 1)
        return self._script.entry_for(request, turn)

    def modalities(self, model: str) -> frozenset[Modality]:
        return self._script.accepted_modalities(model)


def put_recent(kept: OrderedDict[_Key, _Value], place: _Key, value: _Value) -> None:
    """Keep the value as the most recent; beyond MAX_NODES the oldest goes."""
    kept[place] = value
    kept.move_to_end(place)
    if len(kept) > MAX_NODES:
        kept.popitem(last=False)


class ScriptedProvider:
    """model-11 (host): implements ModelProvider. The same calls in the same order get the same answers.

    A call takes its entry when it starts. One that is made again, because the host ended before its answer was
    recorded, takes the next.
    """

    def __init__(
        self, clock: Clock, source: EntrySource | None = None, name: str = SCRIPTED, default_model: str = SCRIPTED_MODEL
    ) -> None:
        self._clock = clock
        self._source = source or ScriptPlayer()
        self.name = name
        self.default_model = default_model

    def modalities(self, model: str) -> frozenset[Modality]:
        return self._source.modalities(model or self.default_model)

    def generate(self, request: ModelRequest) -> AsyncGenerator[Delta | GeneratedMedia | AnswerEnd]:
        entry = self._source.take(request)
        return self._stream(request, entry, entry.model or request.model or self.default_model)

    async def _stream(
        self, request: ModelRequest, entry: ScriptEntry, model: str
    ) -> AsyncGenerator[Delta | GeneratedMedia | AnswerEnd]:
        if entry.chunks is None:
            parts = split_words(await fill_media_placeholders(entry.text, request))
        else:
            parts = tuple([await fill_media_placeholders(chunk, request) for chunk in entry.chunks])
        for place, part in enumerate(parts, 1):
            await sleep_ms(self._clock, entry.delay_ms_per_token)
            yield Delta(part, last=place == len(parts) and entry.fault is None, model=model)
        for made in entry.media:
            yield GeneratedMedia(made.kind, made.base64, made.media_type, made.alt, made.name)
        if entry.fault is not None:
            raise ProviderFault(entry.fault.code, entry.fault.message, entry.fault.retryable)
        given = estimate_tokens(request.system) + sum(estimate_tokens(message.text) for message in request.messages)
        yield AnswerEnd(
            STOP_REASONS.get(entry.stop_reason, "other"),
            TokenUsage(
                given if entry.input_tokens is None else entry.input_tokens,
                estimate_tokens("".join(parts)) if entry.output_tokens is None else entry.output_tokens,
            ),
            model,
            entry.stop_reason,
            entry.refusal_text,
            entry.safety_category,
        )


async def sleep_ms(clock: Clock, milliseconds: int) -> None:
    """Wait on the clock that was given, if there is anything to wait for."""
    if milliseconds:
        await clock.sleep_until(clock.now() + milliseconds)


def split_words(text: str) -> tuple[str, ...]:
    """The words of a text, each with the space before it; together they are the text."""
    return tuple(_WORD_PATTERN.findall(text))


def estimate_tokens(text: str) -> int:
    """An estimate: one token for each four bytes of UTF-8, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)
