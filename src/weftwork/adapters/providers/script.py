"""A script: what the scripted provider says where nobody has programmed anything.

A file in JSON or TOML with `nodes`, lists of entries by node id that begin anew when they are through, and `default`,
the answer of every other node; `modalities`, what is taken beside text, and `models`, the same for single models, which
take no more than that. Without a script, a node is told what it said, and everything is taken.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from weftwork.adapters.providers.entry import Entry, entry_of
from weftwork.adapters.providers.glimpse import listed_media
from weftwork.adapters.providers.sample import sample
from weftwork.ports.models import Modality, ModelRequest
from weftwork.protocol.decode import decode
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json_value import is_array
from weftwork.protocol.media.parts import MODALITIES

MOST_ECHOED: Final = 200


class ScriptUnreadable(Exception):
    """A script that cannot be used; the message names the file and what is wrong."""


class Script(msgspec.Struct, frozen=True):
    nodes: Mapping[str, tuple[Entry, ...]] = {}
    default: Entry | None = None
    modalities: frozenset[Modality] = frozenset(MODALITIES)
    models: Mapping[str, frozenset[Modality]] = {}

    def taken(self, model: str) -> frozenset[Modality]:
        """What a model takes beside text."""
        return self.modalities & self.models.get(model, self.modalities)

    def play(self, request: ModelRequest, turn: int) -> Entry:
        """What is said in the call `turn` of a node, counted from 0."""
        listed = self.nodes.get(request.node_id)
        if listed:
            return listed[turn % len(listed)]
        return self.default or echo(request)


def echo(request: ModelRequest) -> Entry:
    """model-14 (host): without a script, a value that fits the wanted schema, or what the user said last."""
    if (wanted := request.response_schema or request.payload_schema) is not None:
        return Entry(content=msgspec.json.encode(sample(wanted)).decode())
    said = next((message.text for message in reversed(request.messages) if message.role == "user"), "")
    line = " ".join(said.split())
    parts = ["(scripted) No model is connected to this host."]
    if line:
        shown = line if len(line) <= MOST_ECHOED else line[:MOST_ECHOED].rstrip() + " ..."
        parts.append(f"You said: {shown}")
    if media := listed_media(request):
        parts.append(f"You showed: {media}.")
    return Entry(content=" ".join(parts))


class _Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nodes: dict[str, Any] = {}
    default: Any = None
    modalities: frozenset[Modality] = frozenset(MODALITIES)
    models: dict[str, frozenset[Modality]] = {}


def read_script(file: Path) -> Script:
    """The script in a file; TOML if its name ends so. Raises ScriptUnreadable."""
    try:
        written = msgspec.convert(_document(file), _Written)
    except msgspec.ValidationError as error:
        raise ScriptUnreadable(f"{file}: {error}") from None
    nodes: dict[str, tuple[Entry, ...]] = {}
    for name, listed in written.nodes.items():
        place = f"{file}: the node {name!r}"
        if not is_array(listed):
            raise ScriptUnreadable(f"{place}: takes a list of answers")
        nodes[name] = tuple(_entry(each, f"{place}, answer {at}") for at, each in enumerate(listed, 1))
    default = None if written.default is None else _entry(written.default, f"{file}: `default`")
    return Script(nodes, default, written.modalities, written.models)


def _entry(document: Any, place: str) -> Entry:
    try:
        return entry_of(document)
    except msgspec.ValidationError as error:
        raise ScriptUnreadable(f"{place}: {error}") from None


def _document(file: Path) -> Any:
    try:
        data = file.read_bytes()
        return tomllib.loads(data.decode()) if file.suffix == ".toml" else decode(data)
    except OSError as error:
        raise ScriptUnreadable(f"cannot read {file}: {error.strerror}") from None
    except ClientFault as fault:
        form = "" if file.suffix == ".json" else " A script is JSON, or TOML in a file whose name ends with .toml."
        raise ScriptUnreadable(f"{file}: {fault.message}{form}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScriptUnreadable(f"{file} is not valid TOML: {error}") from None
