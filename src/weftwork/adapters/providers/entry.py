"""An entry of a script: one answer of a model, or that none comes."""

from typing import Any, Final

import msgspec

from weftwork.ports.media import MediaKind
from weftwork.ports.models import StopReason

REASONS: Final[dict[str, StopReason]] = {
    "end_turn": "stop",
    "stop": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "length": "length",
    "safety": "content-filter",
    "refusal": "content-filter",
    "content_filter": "content-filter",
    "content-filter": "content-filter",
    "tool_calls": "tool-call",
    "tool_use": "tool-call",
    "tool-call": "tool-call",
}
"""Words of providers for the end of an answer. Any other one is `other`."""

LONGEST_DELAY_MS: Final = 5000


class Breakdown(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """No answer comes, for this reason."""

    code: str
    message: str = "The script has no answer here."
    retryable: bool = True


class Made(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Something that the model makes beside its text."""

    kind: MediaKind
    base64: bytes
    media_type: str = ""
    alt: str = ""
    name: str = ""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What is said in one call: `content`, piece by piece as it is divided here, or `chunks`, which are the pieces."""

    stop_reason: str = "end_turn"
    content: str | None = None
    chunks: tuple[str, ...] | None = None
    refusal_text: str | None = None
    safety_category: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    delay_ms_per_token: int = 0
    """Before each piece."""
    model: str = ""
    media: tuple[Made, ...] = ()
    """Come after what is said."""
    fault: Breakdown | None = None
    """Comes after all that."""

    def __post_init__(self) -> None:
        if self.content is not None and self.chunks is not None and self.content != "".join(self.chunks):
            raise ValueError("`chunks` together are not `content`")
        if not 0 <= self.delay_ms_per_token <= LONGEST_DELAY_MS:
            raise ValueError(f"Expected `delayMsPerToken` from 0 to {LONGEST_DELAY_MS}")
        if min(self.input_tokens or 0, self.output_tokens or 0) < 0:
            raise ValueError("Expected counts of tokens of 0 or more")

    @property
    def text(self) -> str:
        return self.content if self.content is not None else "".join(self.chunks or ())


SILENCE: Final = Entry(content="")
"""What is left when a program is used up: an answer without a word, and no complaint."""


def entry_of(document: Any) -> Entry:
    """An entry as it is written: a text, an object with the members of Entry, or one of the forms with a mode.

    `{mode: "envelope", envelope}` answers with that envelope, `{mode: "refusal", refusalReason}` with a refusal. Raises
    msgspec.ValidationError.
    """
    if isinstance(document, str):
        return Entry(content=document)
    form = msgspec.convert(document, dict[str, Any])
    mode = form.get("mode")
    if mode is None:
        return msgspec.convert(form, Entry)
    rest = {name: value for name, value in form.items() if name not in ("mode", "envelope", "refusalReason")}
    if mode == "envelope" and "envelope" in form:
        rest["content"] = msgspec.json.encode(form["envelope"]).decode()
    elif mode == "refusal":
        rest |= {"stopReason": "refusal", "refusalText": form.get("refusalReason")}
    else:
        raise msgspec.ValidationError("Expected `mode` to be `envelope`, with one, or `refusal`")
    return msgspec.convert(rest, Entry)
