"""What the contexts of async and plain functions have in common: how a node asks a model."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Coroutine
from typing import Any, Generic, TypeVar

from weftwork.adapters.python.bearings import Bearings
from weftwork.adapters.python.errors import misused
from weftwork.adapters.python.kinds import EnvelopeKind
from weftwork.adapters.python.parts import Shown
from weftwork.adapters.python.prompt import Messages, prompt_of, shape_of
from weftwork.adapters.python.values import NotJson, as_json
from weftwork.protocol.envelope.contract import MAX_KIND
from weftwork.protocol.trust import wrap_untrusted

Said = TypeVar("Said")
"""An Answer, or in an async function what gives it when it is awaited."""
Made = TypeVar("Made")
"""An Envelope, or in an async function what gives it when it is awaited."""


class Speaks(Bearings, Generic[Said, Made]):
    """Answers of models are recorded: a node that is entered again gets them from their records.

    The options of the run win over what is given here. To be awaited in an async function.
    """

    __slots__ = ()

    @abstractmethod
    def _speak(self, name: str, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Ask it in the way of the function; `name` is the call that the author made."""

    def call_ai(
        self,
        prompt: str | None = None,
        *,
        messages: Messages | None = None,
        media: Shown | Collection[Shown] = (),
        system: str = "",
        provider: str | None = None,
        model: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        stop: str | Collection[str] = (),
        schema: Any = None,
        stream: bool = False,
    ) -> Said:
        """Ask a model, and get what it says: `text`, `usage`, `finish_reason`, `model`; with a `schema`, `data` too.

        `prompt` stands after `messages`, and `media` beside it, which the model is shown: then all that it says is
        untrusted. `stream` shows the pieces to those who follow the run, as they come. Raises NodeError when no answer
        can be had.
        """
        wishes = {"provider": provider, "model": model, "temperature": temperature, "max_tokens": max_tokens}
        asked = prompt_of("ctx.call_ai", prompt, messages, system, media, **wishes, stop=stop)
        if not asked.messages:
            raise misused("ctx.call_ai takes a prompt, or messages.")
        shape = None if schema is None else shape_of(schema)
        if shape is not None and stream:
            raise misused("ctx.call_ai cannot stream what is to fit a schema: nobody sees it before it was checked.")
        models = self._entry.models
        voice = models.voice()
        return self._speak("ctx.call_ai", lambda: models.answer(voice, asked, shape, bool(stream)))

    def generate_envelope(
        self,
        envelope_type: str | EnvelopeKind,
        prompt: str | None = None,
        *,
        messages: Messages | None = None,
        media: Shown | Collection[Shown] = (),
        system: str = "",
        provider: str | None = None,
        model: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        stop: str | Collection[str] = (),
    ) -> Made:
        """Ask a model for an envelope of a kind: `envelope_type`, `payload`, `envelope_id`, `usage`, `model`,
        `content_trust`.

        The model may ask back: then the run waits for a person, and the function is called again from its start. It
        may also say that it cannot do it: then the type is `error`. Raises NodeError when no envelope can be had.
        """
        kind: Any = envelope_type.kind.name if isinstance(envelope_type, EnvelopeKind) else envelope_type
        if not isinstance(kind, str) or not 0 < len(kind) <= MAX_KIND:
            raise misused(f"ctx.generate_envelope takes a kind of envelope: 1 to {MAX_KIND} characters.")
        options: dict[str, Any] = {"provider": provider, "model": model, "temperature": temperature}
        options |= {"max_tokens": max_tokens, "stop": stop}
        asked = prompt_of("ctx.generate_envelope", prompt, messages, system, media, **options)
        if not asked.messages and not asked.system:
            raise misused("ctx.generate_envelope takes a prompt, messages, or a text as system.")
        models = self._entry.models
        voice = models.voice()
        return self._speak("ctx.generate_envelope", lambda: models.envelope(voice, asked, kind))

    @property
    def untrusted(self) -> bool:
        """Whether something from outside has come into this node, by its inputs or by a request: then all that it
        makes is untrusted too."""
        return bool(self._entry.call.untrusted) or self._entry.host.untrusted

    def quote(self, value: Any, source: str = "input") -> str:
        """A value as a prompt is to hold it that you did not write yourself: between marks that nothing in it can
        end, so that a model takes it for content and not for orders. Anything but a text is given as JSON."""
        try:
            return wrap_untrusted(as_json(value), type=source)
        except NotJson as error:
            raise misused(f"ctx.quote takes what is JSON: {error}.") from None
