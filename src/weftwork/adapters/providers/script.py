"""Scripts: what the scripted provider answers where no program says otherwise.

A script is a file in JSON or TOML with `nodes`, lists of entries by node id that start over after the last one, and
`default`, the answer of every other node; `modalities`, what is taken besides text, and `models`, the same for single
models, which take no more than that. An entry is one answer of a model, or the fault that comes instead. Without a
script, a node gets back what it said, and everything is taken.

The text of an entry may contain placeholders for the media of the request, so that a script can answer about them; the
same bytes give the same answer.
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
"""Words of providers for the end of an answer. Any other one is `other`."""

MAX_DELAY_MS: Final = 5000

MAX_ECHO: Final = 200


class ScriptedFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """No answer comes, for this reason."""

    code: str
    message: str = "The script has no answer here."
    retryable: bool = True


class ScriptedMedia(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Something that the model makes beside its text."""

    kind: MediaKind
    base64: bytes
    media_type: str = ""
    alt: str = ""
    name: str = ""


class ScriptEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
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
    media: tuple[ScriptedMedia, ...] = ()
    """Come after what is said."""
    fault: ScriptedFault | None = None
    """Comes after all that."""

    def __post_init__(self) -> None:
        if self.content is not None and self.chunks is not None and self.content != "".join(self.chunks):
            raise ValueError("`chunks` together are not `content`")
        if not 0 <= self.delay_ms_per_token <= MAX_DELAY_MS:
            raise ValueError(f"Expected `delayMsPerToken` from 0 to {MAX_DELAY_MS}")
        if min(self.input_tokens or 0, self.output_tokens or 0) < 0:
            raise ValueError("Expected counts of tokens of 0 or more")

    @property
    def text(self) -> str:
        return self.content if self.content is not None else "".join(self.chunks or ())


EMPTY_ENTRY: Final = ScriptEntry(content="")
"""What is left when a program is used up: an answer without a word, and no complaint."""


def parse_entry(document: Any) -> ScriptEntry:
    """An entry as it is written: a text, an object with the members of ScriptEntry, or one of the forms with a mode.

    `{mode: "envelope", envelope}` answers with that envelope, `{mode: "refusal", refusalReason}` with a refusal. Raises
    msgspec.ValidationError.
    """
    if isinstance(document, str):
        return ScriptEntry(content=document)
    form = msgspec.convert(document, dict[str, Any])
    mode = form.get("mode")
    if mode is None:
        return msgspec.convert(form, ScriptEntry)
    rest = {name: value for name, value in form.items() if name not in ("mode", "envelope", "refusalReason")}
    if mode == "envelope" and "envelope" in form:
        rest["content"] = msgspec.json.encode(form["envelope"]).decode()
    elif mode == "refusal":
        rest |= {"stopReason": "refusal", "refusalText": form.get("refusalReason")}
    else:
        raise msgspec.ValidationError("Expected `mode` to be `envelope`, with one, or `refusal`")
    return msgspec.convert(rest, ScriptEntry)


class Script(msgspec.Struct, frozen=True):
    nodes: Mapping[str, tuple[ScriptEntry, ...]] = {}
    default: ScriptEntry | None = None
    modalities: frozenset[Modality] = frozenset(MODALITIES)
    models: Mapping[str, frozenset[Modality]] = {}

    def accepted_modalities(self, model: str) -> frozenset[Modality]:
        """What a model takes beside text."""
        return self.modalities & self.models.get(model, self.modalities)

    def entry_for(self, request: ModelRequest, turn: int) -> ScriptEntry:
        """What is said in the call `turn` of a node, counted from 0."""
        listed = self.nodes.get(request.node_id)
        if listed:
            return listed[turn % len(listed)]
        return self.default or echo_entry(request)


def echo_entry(request: ModelRequest) -> ScriptEntry:
    """model-14 (host): without a script, a value that fits the wanted schema, or what the user said last."""
    if (wanted := request.response_schema or request.payload_schema) is not None:
        return ScriptEntry(content=msgspec.json.encode(sample_value(wanted)).decode())
    said = next((message.text for message in reversed(request.messages) if message.role == "user"), "")
    line = " ".join(said.split())
    parts = ["(scripted) No model is connected to this host."]
    if line:
        shown = line if len(line) <= MAX_ECHO else line[:MAX_ECHO].rstrip() + " ..."
        parts.append(f"You said: {shown}")
    if media := ", ".join(f"{part.media_type} ({part.size} bytes)" for part in request_media(request)):
        parts.append(f"You showed: {media}.")
    return ScriptEntry(content=" ".join(parts))


class ScriptError(Exception):
    """A script that cannot be used; the message names the file and what is wrong."""


class _ScriptFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nodes: dict[str, Any] = {}
    default: Any = None
    modalities: frozenset[Modality] = frozenset(MODALITIES)
    models: dict[str, frozenset[Modality]] = {}


def read_script(file: Path) -> Script:
    """The script in a file; TOML if its name ends so. Raises ScriptError."""
    try:
        written = msgspec.convert(_read_document(file), _ScriptFile)
    except msgspec.ValidationError as error:
        raise ScriptError(f"{file}: {error}") from None
    nodes: dict[str, tuple[ScriptEntry, ...]] = {}
    for name, listed in written.nodes.items():
        place = f"{file}: the node {name!r}"
        if not is_array(listed):
            raise ScriptError(f"{place}: takes a list of answers")
        nodes[name] = tuple(_parse_file_entry(each, f"{place}, answer {at}") for at, each in enumerate(listed, 1))
    default = None if written.default is None else _parse_file_entry(written.default, f"{file}: `default`")
    return Script(nodes, default, written.modalities, written.models)


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
        form = "" if file.suffix == ".json" else " A script is JSON, or TOML in a file whose name ends with .toml."
        raise ScriptError(f"{file}: {fault.message}{form}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScriptError(f"{file} is not valid TOML: {error}") from None


_PLACEHOLDER: Final = re.compile(r"\{media(?:\.count|\[(\d{1,2})\]\.(modality|mediaType|bytes|sha256))\}")


def request_media(request: ModelRequest) -> list[ModelMediaPart]:
    return [part for message in request.messages for part in message.media]


async def fill_media_placeholders(text: str, request: ModelRequest) -> str:
    """media-48 (host): a text of a script with what the media of the call are in it: `{media.count}`, and of each by
    its place `{media[0].modality}`, `mediaType`, `bytes` and `sha256`, which are those of the bytes that were read.
    A place that is not there stays as it is written."""
    if _PLACEHOLDER.search(text) is None:
        return text
    media = request_media(request)
    known = {"{media.count}": str(len(media))}
    for at, part in enumerate(media):
        data = await part.read()
        told = part.modality, part.media_type, str(len(data)), hashlib.sha256(data).hexdigest()
        for member, value in zip(("modality", "mediaType", "bytes", "sha256"), told, strict=True):
            known[f"{{media[{at}].{member}}}"] = value
    return _PLACEHOLDER.sub(lambda place: known.get(place[0], place[0]), text)
