"""Scripts: the answers of the scripted provider.

A script is a JSON or TOML file with these members:

- `nodes`: lists of entries by node id. After its last entry, a list starts again.
- `default`: the entry for every other node.
- `modalities`: the modalities that are accepted besides text. The default is all of them.
- `models`: the modalities of single models, which can only restrict `modalities`.

An entry is one answer of a model, or a fault. Without a script, the provider answers with the last user message, or
with a sample value for the requested schema.

The text of an entry can contain placeholders for the media of the request. The same bytes give the same answer.
"""

import hashlib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from weftwork.adapters.providers.schema_sample import sample_value
from weftwork.ports.media import MediaKind
from weftwork.ports.models import ModelMediaPart, ModelRequest
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.values import is_array
from weftwork.protocol.media.message_parts import MODALITIES, Modality
from weftwork.protocol.models.answers import StopReason

STOP_REASONS: Final[dict[str, StopReason]] = {
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
"""Stop reasons of vendors, and their common names. Any other reason is `other`."""

MAX_DELAY_MS: Final = 5000

MAX_ECHO: Final = 200


class ScriptedFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A provider fault instead of the end of the answer."""

    code: str
    message: str = "The script returns a fault for this call."
    retryable: bool = True
    wait_ms: int | None = None
    """The node waits that long for the provider, and calls it again."""


class ScriptedMedia(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Media that the model generates in addition to its text."""

    kind: MediaKind
    base64: bytes
    media_type: str = ""
    alt: str = ""
    name: str = ""


class ScriptEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The answer to one call: `content`, which the provider splits into chunks, or the `chunks` themselves."""

    stop_reason: str = "end_turn"
    content: str | None = None
    chunks: tuple[str, ...] | None = None
    refusal_text: str | None = None
    safety_category: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    delay_ms_per_token: int = 0
    """The delay before each chunk."""
    model: str = ""
    media: tuple[ScriptedMedia, ...] = ()
    """Sent after the text."""
    fault: ScriptedFault | None = None
    """Raised after the text and the media."""

    def __post_init__(self) -> None:
        if self.content is not None and self.chunks is not None and self.content != "".join(self.chunks):
            raise ValueError("Expected `chunks` to be the parts of `content`, or only one of both")
        if not 0 <= self.delay_ms_per_token <= MAX_DELAY_MS:
            raise ValueError(f"Expected `delayMsPerToken` from 0 to {MAX_DELAY_MS}")
        if min(self.input_tokens or 0, self.output_tokens or 0) < 0:
            raise ValueError("Expected `inputTokens` and `outputTokens` of 0 or more")

    @property
    def text(self) -> str:
        return self.content if self.content is not None else "".join(self.chunks or ())


EMPTY_ENTRY: Final = ScriptEntry(content="")
"""The entry after the end of a program: an empty answer, without a fault."""


def parse_entry(document: Any) -> ScriptEntry:
    """Parse an entry: a text, an object with the members of ScriptEntry, or an object with a `mode`.

    `{mode: "envelope", envelope}` answers with that envelope, `{mode: "refusal", refusalReason}` with a refusal. Raises
    msgspec.ValidationError.
    """
    if isinstance(document, str):
        return ScriptEntry(content=document)
    form = msgspec.convert(document, dict[str, Any])
    mode = form.get("mode")
    if mode is None:
        return msgspec.convert(form, ScriptEntry)
    members = {name: value for name, value in form.items() if name not in ("mode", "envelope", "refusalReason")}
    if mode == "envelope" and "envelope" in form:
        members["content"] = msgspec.json.encode(form["envelope"]).decode()
    elif mode == "refusal":
        members |= {"stopReason": "refusal", "refusalText": form.get("refusalReason")}
    else:
        raise msgspec.ValidationError("Expected `mode` to be `envelope`, with the member `envelope`, or `refusal`")
    return msgspec.convert(members, ScriptEntry)


class Script(msgspec.Struct, frozen=True):
    nodes: Mapping[str, tuple[ScriptEntry, ...]] = {}
    default: ScriptEntry | None = None
    modalities: frozenset[Modality] = frozenset(MODALITIES)
    models: Mapping[str, frozenset[Modality]] = {}

    def accepted_modalities(self, model: str) -> frozenset[Modality]:
        """The modalities besides text that a model accepts."""
        return self.modalities & self.models.get(model, self.modalities)

    def entry_for(self, request: ModelRequest, turn: int) -> ScriptEntry:
        """The entry for the call number `turn` of a node, counted from 0."""
        entries = self.nodes.get(request.node_id)
        if entries:
            return entries[turn % len(entries)]
        return self.default or echo_entry(request)


def echo_entry(request: ModelRequest) -> ScriptEntry:
    """model-14 (host): without a script, a sample value for the requested schema, or the last user message."""
    if (schema := request.response_schema or request.payload_schema) is not None:
        return ScriptEntry(content=msgspec.json.encode(sample_value(schema)).decode())
    last = next((message.text for message in reversed(request.messages) if message.role == "user"), "")
    line = " ".join(last.split())
    parts = ["(scripted) No model is connected to this host."]
    if line:
        shown = line if len(line) <= MAX_ECHO else line[:MAX_ECHO].rstrip() + " ..."
        parts.append(f"You said: {shown}")
    if media := ", ".join(f"{part.media_type} ({part.size} bytes)" for part in request_media(request)):
        parts.append(f"You showed: {media}.")
    return ScriptEntry(content=" ".join(parts))


class ScriptError(Exception):
    """A script is invalid. The message names the file and the problem."""


class _ScriptFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nodes: dict[str, Any] = {}
    default: Any = None
    modalities: frozenset[Modality] = frozenset(MODALITIES)
    models: dict[str, frozenset[Modality]] = {}


def read_script(file: Path) -> Script:
    """Read a script; TOML if the file name ends in .toml, else JSON. Raises ScriptError."""
    try:
        document = msgspec.convert(_read_document(file), _ScriptFile)
    except msgspec.ValidationError as error:
        raise ScriptError(f"{file}: {error}") from None
    nodes: dict[str, tuple[ScriptEntry, ...]] = {}
    for name, entries in document.nodes.items():
        place = f"{file}: the node {name!r}"
        if not is_array(entries):
            raise ScriptError(f"{place}: must be a list of answers")
        nodes[name] = tuple(_parse_file_entry(each, f"{place}, answer {at}") for at, each in enumerate(entries, 1))
    default = None if document.default is None else _parse_file_entry(document.default, f"{file}: `default`")
    return Script(nodes, default, document.modalities, document.models)


def _parse_file_entry(document: Any, place: str) -> ScriptEntry:
    try:
        return parse_entry(document)
    except msgspec.ValidationError as error:
        raise ScriptError(f"{place}: {error}") from None


def _read_document(file: Path) -> Any:
    try:
        data = file.read_bytes()
        return tomllib.loads(data.decode()) if file.suffix == ".toml" else decode(data)
    except OSError as error:
        raise ScriptError(f"cannot read {file}: {error.strerror}") from None
    except ClientFault as fault:
        hint = "" if file.suffix == ".json" else " A script is JSON, or TOML in a file whose name ends with .toml."
        raise ScriptError(f"{file}: {fault.message}{hint}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScriptError(f"{file} is not valid TOML: {error}") from None


_PLACEHOLDER: Final = re.compile(r"\{media(?:\.count|\[(\d{1,2})\]\.(modality|mediaType|bytes|sha256))\}")


def request_media(request: ModelRequest) -> list[ModelMediaPart]:
    return [part for message in request.messages for part in message.media]


async def fill_media_placeholders(text: str, request: ModelRequest) -> str:
    """media-48 (host): replace the placeholders for the media of the request.

    `{media.count}` is their number; `{media[0].modality}`, `{media[0].mediaType}`, `{media[0].bytes}` and
    `{media[0].sha256}` describe the first one, from the bytes that were read. A placeholder for media that the request
    does not have is not replaced.
    """
    if _PLACEHOLDER.search(text) is None:
        return text
    media = request_media(request)
    values = {"{media.count}": str(len(media))}
    for at, part in enumerate(media):
        data = await part.read()
        described = part.modality, part.media_type, str(len(data)), hashlib.sha256(data).hexdigest()
        for member, value in zip(("modality", "mediaType", "bytes", "sha256"), described, strict=True):
            values[f"{{media[{at}].{member}}}"] = value
    return _PLACEHOLDER.sub(lambda match: values.get(match[0], match[0]), text)
