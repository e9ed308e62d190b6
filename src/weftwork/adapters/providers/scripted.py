"""The scripted provider: answers without a model. For tests, for demos without a network, and to simulate faults.

A text is streamed word by word, and its number of tokens is estimated from its length.
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
"""Number of nodes whose calls are counted; beyond it, the least recently used node is dropped."""
BYTES_PER_TOKEN: Final = 4
_WORD_PATTERN: Final = re.compile(r"\s*\S+(?:\s+\Z)?|\s+\Z")


class EntrySource(Protocol):
    """The source of the answers of a scripted provider."""

    def take(self, request: ModelRequest) -> ScriptEntry: ...

    def modalities(self, model: str) -> frozenset[Modality]:
        """The modalities besides text that the model accepts."""
        ...


_Key = TypeVar("_Key", bound=tuple[str, ...])
_Value = TypeVar("_Value")


class ScriptPlayer:
    """Returns the entries of a script in order, counting the calls of each node of a run. Providers can share it."""

    def __init__(self, script: Script | None = None) -> None:
        self._script = script or Script()
        self._call_counts: OrderedDict[tuple[str, str, str], int] = OrderedDict()

    def take(self, request: ModelRequest) -> ScriptEntry:
        key = (request.partition, request.run_id, request.node_id)
        turn = self._call_counts.get(key, 0)
        put_recent(self._call_counts, key, turn + 1)
        return self._script.entry_for(request, turn)

    def modalities(self, model: str) -> frozenset[Modality]:
        return self._script.accepted_modalities(model)


def put_recent(entries: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Store the value as the most recent one; beyond MAX_NODES entries, drop the oldest."""
    entries[key] = value
    entries.move_to_end(key)
    if len(entries) > MAX_NODES:
        entries.popitem(last=False)


class ScriptedProvider:
    """model-11 (host): implements ModelProvider. The same calls in the same order get the same answers.

    A call consumes its entry when it starts. If the host ends before the answer is recorded, the repeated call gets
    the next entry.
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
        for number, part in enumerate(parts, 1):
            await sleep_ms(self._clock, entry.delay_ms_per_token)
            yield Delta(part, last=number == len(parts) and entry.fault is None, model=model)
        for media in entry.media:
            yield GeneratedMedia(media.kind, media.base64, media.media_type, media.alt, media.name)
        if entry.fault is not None:
            raise ProviderFault(entry.fault.code, entry.fault.message, entry.fault.retryable, entry.fault.wait_ms)
        request_tokens = estimate_tokens(request.system) + sum(
            estimate_tokens(message.text) for message in request.messages
        )
        yield AnswerEnd(
            STOP_REASONS.get(entry.stop_reason, "other"),
            TokenUsage(
                request_tokens if entry.input_tokens is None else entry.input_tokens,
                estimate_tokens("".join(parts)) if entry.output_tokens is None else entry.output_tokens,
            ),
            model,
            entry.stop_reason,
            entry.refusal_text,
            entry.safety_category,
        )


async def sleep_ms(clock: Clock, milliseconds: int) -> None:
    """Wait on the given clock; returns at once for 0."""
    if milliseconds:
        await clock.sleep(milliseconds)


def split_words(text: str) -> tuple[str, ...]:
    """Split a text into words, each with the whitespace before it; joined, they are the text."""
    return tuple(_WORD_PATTERN.findall(text))


def estimate_tokens(text: str) -> int:
    """One token for each four bytes of UTF-8, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)
