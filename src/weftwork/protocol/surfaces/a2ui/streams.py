"""A stream of A2UI messages, folded into the surface that it builds: components by id, and a data model.

Theory of operation. The stream comes from another program, so every message is measured before it is looked at: size,
depth, kinds of values. The fold works on a copy, and never changes what it was given. A message that breaks a rule is a
diagnostic that refuses the stream, because a surface of which a part is missing asks another question.
"""

import math
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from weftwork.protocol.json.pointers import split_pointer
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.surfaces.a2ui.vocabulary import (
    BASIC_CATALOG_IDS,
    MAX_DIAGNOSTICS,
    OPENWOP_CATALOG_ID,
    VERSIONS,
    Diagnostic,
)
from weftwork.protocol.surfaces.limits import MAX_COMPONENTS

Json = dict[str, Any]
MAX_BYTES: Final = 65_536
"""Bytes of all messages of a stream together, as JSON."""
MAX_MESSAGES: Final = 1_000
MAX_JSON_DEPTH: Final = 32
MAX_INTEGER: Final = 2**53 - 1
MAX_TREE_COMPONENTS: Final = 2 * MAX_COMPONENTS + 2
"""Components of the tree: a button and its label are two of them, and the root and the title come on top. So each
surface within the limits fits, if it fits MAX_BYTES."""
MAX_POINTER: Final = 16
"""Tokens of a path in the data model."""
MAX_SURFACE_ID: Final = 256
COMPONENT_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
RESERVED_IDS: Final = frozenset({"__proto__", "constructor", "prototype", "action", "actionId"})
"""Ids that collide with members of JavaScript objects, or with members of the answer."""
_RESERVED_TOKENS: Final = frozenset({"__proto__", "constructor", "prototype"})
_UNSAFE: Final = re.compile("[\x00\ud800-\udfff]")
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,3}")
_WIRE_VERSIONS: Final = tuple(f"v{each}" for each in VERSIONS)
_BAD_VALUE: Final = "The message has a value that JSON does not have, or an integer beyond 2^53-1."
_MEMBERS: Final[dict[str, tuple[frozenset[str], frozenset[str]]]] = {
    "createSurface": (frozenset({"surfaceId", "catalogId"}), frozenset({"theme", "sendDataModel"})),
    "updateComponents": (frozenset({"surfaceId", "components"}), frozenset()),
    "updateDataModel": (frozenset({"surfaceId"}), frozenset({"path", "value"})),
    "deleteSurface": (frozenset({"surfaceId"}), frozenset()),
}
"""The messages of an agent, each with its required and its optional members."""


class Diagnostics:
    """Collects diagnostics, the first MAX_DIAGNOSTICS of them."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self.is_refused = False
        self.surface_id = ""

    def refuse(self, path: str, message: str) -> None:
        self.is_refused = True
        # A reason for a refusal is always reported, also after many losses.
        if len(self.found) >= MAX_DIAGNOSTICS:
            index = next((at for at, each in enumerate(self.found) if each.is_loss), None)
            if index is None:
                return
            del self.found[index]
        self.found.append(Diagnostic(self.surface_id, path, message))

    def lose(self, path: str, message: str) -> None:
        loss = Diagnostic(self.surface_id, path, message, is_loss=True)
        # A template has the same losses for each of its items.
        if len(self.found) < MAX_DIAGNOSTICS and loss not in self.found:
            self.found.append(loss)


class LiveSurface(msgspec.Struct):
    """A surface as the messages so far describe it."""

    surface_id: str
    catalog_id: str
    created_at: str
    """The pointer of the message that created it."""
    components: dict[str, Json] = {}
    places: dict[str, str] = {}
    """The pointer of each component in the list of messages."""
    model: Any = {}

    def value_at(self, path: str) -> Any:
        """The value of the data model at a path; None if it has none."""
        value = self.model
        for token in path_tokens(path):
            if is_object(value):
                value = value.get(token)
            elif is_array(value) and _INDEX.fullmatch(token) and int(token) < len(value):
                value = value[int(token)]
            else:
                return None
        return value


def path_tokens(path: str) -> list[str]:
    """The tokens of a path in the data model. A path without a slash at its start begins at the root as well."""
    return [each for each in split_pointer(path if path.startswith("/") else f"/{path}") if each]


def fold_stream(messages: Iterable[Any], surface_id: str | None, diagnostics: Diagnostics) -> LiveSurface | None:
    """surf-43 (A2UI 0.9.1): the surface that is live after the last message. None and a diagnostic if there is no such
    surface.

    `surface_id` selects one of several surfaces. Messages for other surfaces are then checked and ignored.
    """
    stream = _Stream(diagnostics)
    for index, message in enumerate(messages):
        if index >= MAX_MESSAGES:
            diagnostics.refuse("", f"The stream has more than {MAX_MESSAGES} messages.")
            break
        if not stream.read(message, f"/{index}"):
            break
    live = stream.surfaces
    if surface_id is not None:
        found = live.get(surface_id)
        if found is None:
            diagnostics.refuse("", "The stream has no live surface with this id.")
        return found
    if len(live) != 1:
        more = "several live surfaces; name one of them" if live else "no live surface"
        diagnostics.refuse("", f"After its last message, the stream has {more}.")
        return None
    return next(iter(live.values()))


class _Stream:
    def __init__(self, diagnostics: Diagnostics) -> None:
        self.surfaces: dict[str, LiveSurface] = {}
        self._diagnostics = diagnostics
        self._budget = MAX_BYTES

    def read(self, message: Any, at: str) -> bool:
        """Fold one message. False if the rest of the stream must not be read."""
        reason = _unsafe_reason(message, self._budget)
        if reason is not None:
            self._diagnostics.refuse(at, reason)
            return False
        encoded = msgspec.json.encode(message)
        self._budget -= len(encoded)
        if self._budget < 0:
            self._diagnostics.refuse(at, f"The stream has more than {MAX_BYTES} bytes.")
            return False
        message = msgspec.json.decode(encoded)
        body = self._check_message(message, at)
        if body is None:
            return True
        name = next(each for each in message if each != "version")
        at = f"{at}/{name}"
        self._diagnostics.surface_id = body["surfaceId"]
        if name == "createSurface":
            self._create(body, at)
        elif (surface := self.surfaces.get(body["surfaceId"])) is None:
            self._diagnostics.refuse(f"{at}/surfaceId", "No surface with this id is live; create it first.")
        elif name == "deleteSurface":
            del self.surfaces[surface.surface_id]
        elif name == "updateComponents":
            self._update_components(surface, body["components"], at)
        else:
            self._update_model(surface, body, at)
        return True

    def _check_message(self, message: Any, at: str) -> Json | None:
        """The body of a message of this protocol version; None, with a diagnostic, if it is not one."""
        refuse = self._diagnostics.refuse
        if not is_object(message):
            refuse(at, "A message must be an object.")
            return None
        names = [each for each in message if each != "version"]
        if message.get("version") not in _WIRE_VERSIONS:
            refuse(f"{at}/version", "The version must be v0.9 or v0.9.1. Other versions of A2UI are not read.")
            return None
        if len(names) != 1 or names[0] not in _MEMBERS:
            known = ", ".join(_MEMBERS)
            refuse(at, f"A message must have, besides its version, exactly one of: {known}. Calls are not answered.")
            return None
        body, at = message[names[0]], f"{at}/{names[0]}"
        required, optional = _MEMBERS[names[0]]
        if not is_object(body) or not required <= body.keys() or not body.keys() <= required | optional:
            members = ", ".join(sorted(required | optional))
            refuse(at, f"This message must be an object with {', '.join(sorted(required))}, and only with: {members}.")
            return None
        name = body["surfaceId"]
        if not isinstance(name, str) or not 0 < len(name) <= MAX_SURFACE_ID:
            refuse(f"{at}/surfaceId", f"The id of a surface must be a text of 1 to {MAX_SURFACE_ID} characters.")
            return None
        return body

    def _create(self, body: Json, at: str) -> None:
        name, catalog = body["surfaceId"], body["catalogId"]
        if name in self.surfaces:
            self._diagnostics.refuse(f"{at}/surfaceId", "A surface with this id is live already; delete it first.")
            return
        if catalog not in (*BASIC_CATALOG_IDS, OPENWOP_CATALOG_ID):
            known = ", ".join((*BASIC_CATALOG_IDS, OPENWOP_CATALOG_ID))
            self._diagnostics.refuse(f"{at}/catalogId", f"The catalogue is not known. Known are: {known}")
            return
        if "theme" in body:
            # surf-47: the name of the agent and its looks are stated by the host that shows the surface.
            self._diagnostics.lose(f"{at}/theme", "The theme was dropped: the host states who sent a surface.")
        self.surfaces[name] = LiveSurface(name, catalog, at)

    def _update_components(self, surface: LiveSurface, components: Any, at: str) -> None:
        refuse = self._diagnostics.refuse
        if not is_array(components) or not components:
            refuse(f"{at}/components", "The components must be a list with at least one component.")
            return
        for index, component in enumerate(components):
            place = f"{at}/components/{index}"
            name: Any = component.get("id") if is_object(component) else None
            if not is_object(component) or not isinstance(component.get("component"), str):
                refuse(place, "A component must be an object with the texts id and component.")
            elif not isinstance(name, str) or COMPONENT_ID.fullmatch(name) is None:
                refuse(f"{place}/id", "The id must have 1 to 64 letters, digits or characters of `_.:-`.")
            elif name in RESERVED_IDS:
                refuse(f"{place}/id", f"The id must not be one of {', '.join(sorted(RESERVED_IDS))}.")
            elif name not in surface.components and len(surface.components) >= MAX_TREE_COMPONENTS:
                refuse(place, f"The surface has more than {MAX_TREE_COMPONENTS} components.")
                return
            else:
                surface.components[name] = component
                surface.places[name] = place

    def _update_model(self, surface: LiveSurface, body: Json, at: str) -> None:
        path = body.get("path", "/")
        if not isinstance(path, str):
            self._diagnostics.refuse(f"{at}/path", "The path must be a text.")
            return
        tokens = path_tokens(path)
        if len(tokens) > MAX_POINTER or not _RESERVED_TOKENS.isdisjoint(tokens):
            reserved = ", ".join(sorted(_RESERVED_TOKENS))
            text = f"The path must have {MAX_POINTER} or fewer parts, and none of them may be {reserved}."
            self._diagnostics.refuse(f"{at}/path", text)
            return
        if not _write(surface, tokens, body):
            self._diagnostics.refuse(f"{at}/path", "The data model has no place with this path.")


def _write(surface: LiveSurface, tokens: list[str], body: Json) -> bool:
    """Set or delete the value at a path; objects on the way are created. False if there is no such place."""
    if not tokens:
        surface.model = body.get("value", {})
        return True
    if surface.model is None:
        surface.model = {}
    target = surface.model
    for token in tokens[:-1]:
        if is_object(target):
            if target.get(token) is None:
                target[token] = {}
            target = target[token]
        elif is_array(target) and _INDEX.fullmatch(token) and int(token) < len(target):
            target = target[int(token)]
        else:
            return False
    last = tokens[-1]
    if is_object(target):
        if "value" in body:
            target[last] = body["value"]
        else:
            target.pop(last, None)
        return True
    if not is_array(target) or _INDEX.fullmatch(last) is None or int(last) > len(target):
        return False
    target[int(last) : int(last) + 1] = [body.get("value")]
    return True


def _unsafe_reason(message: Any, budget: int) -> str | None:
    """Why a message is not JSON within the limits; None if it is. The work is bounded by the budget."""
    level: list[Any] = [message]
    for _ in range(MAX_JSON_DEPTH):
        below: list[Any] = []
        for each in level:
            budget -= 1
            texts: list[Any] = []
            if isinstance(each, str):
                texts = [each]
            elif is_object(each):
                texts = list(each)
                below += each.values()
            elif is_array(each):
                below += each
            elif isinstance(each, bool) or each is None:
                pass
            elif isinstance(each, int):
                if abs(each) > MAX_INTEGER:
                    return _BAD_VALUE
            elif not isinstance(each, float) or not math.isfinite(each):
                return _BAD_VALUE
            for text in texts:
                if not isinstance(text, str) or _UNSAFE.search(text):
                    return "The message has a text with NUL or a lone surrogate."
                budget -= len(text)
            if budget < 0 or len(below) > budget:
                return f"The stream has more than {MAX_BYTES} bytes."
        if not below:
            return None
        level = below
    return f"The message is nested deeper than {MAX_JSON_DEPTH} levels."
