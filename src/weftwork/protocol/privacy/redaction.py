"""The redactor of run events: masks sensitive values for the log, and returns them separately for the engine.

Theory of operation. The first line of defence is data flow: the plan lists the places of a run that can hold sensitive
values, and values of any type there are hidden whole. The second line covers accidental copies: the texts of sensitive
values are also searched for in other values (secret_matcher), but never in names, ids or codes. Questions to people
are the exception: sensitive values are only cut out of them (questions). Credentials in what callers send are not
declared as sensitive; they are recognised by their form and masked like accidental copies (credential_redaction).
Removed values are addressed by event sequence and pointer, never by a marker in a text. A caller who types a marker by
hand therefore gets that text back and no hidden value.

The cost is bounded. A value without copies is scanned once, in linear time. In a value with copies, only a limited
number of texts is masked one by one. Beyond that limit, a part that contains a copy is hidden whole.

Sources: readings (What the log may hide), readings (Questions of a node that read a secret).
"""

import re
from collections.abc import Container, Iterable, Iterator
from typing import Any, Final

from weftwork.protocol.envelopes.kinds import MEDIA_KINDS, SURFACE_KIND
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.pointers import escape_token, split_pointer
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.media.asset_references import decode_asset_token, find_asset_tokens
from weftwork.protocol.privacy import value_paths
from weftwork.protocol.privacy.credential_redaction import CredentialMatcher
from weftwork.protocol.privacy.questions import QuestionMatcher, is_answerable, is_question
from weftwork.protocol.privacy.secret_matcher import SecretMatcher, redaction_marker
from weftwork.protocol.run.effects import is_outcome_interrupt
from weftwork.protocol.run.events import FORKED, ORCHESTRATOR_DECIDED, Fact, is_author_event_type
from weftwork.protocol.workflow.plan import Plan, is_hidden_output

MAX_EXACT_VALUES: Final = 1_000
MAX_EXACT_TEXT: Final = 16_384
"""Values and characters of one member in which copies are masked individually."""
COPY_NAME: Final = "copy"
"""The name in the marker of a part that was hidden whole because it contains a copy."""

MAX_PENDING: Final = 256
"""Sensitive values that are collected before the matcher of questions learns them, because few runs ask questions."""

_KEEPS_SHAPE: Final = re.compile("/[^/]*(/questions)?(/[0-9]+)?")
"""Pointers of members, questions and lists of questions, which the schema of an event requires."""

RemovedValues = list[tuple[str, Any]]


def visible_variable(plan: Plan, name: str, value: Any) -> Any:
    """hide-02 (OpenWOP run-options): the value of a variable for responses; a marker if the variable is sensitive."""
    return redaction_marker(name) if name in plan.sensitive_variables else value


def visible_channel(plan: Plan, name: str, value: Any) -> Any:
    """hide-02: the value of a channel for responses; a marker if sensitive data can flow into the channel."""
    return redaction_marker(name) if name in plan.taint.channels else value


class Redactor:
    """Redacts the events of one run. It learns sensitive texts as they appear, so events must be passed in order.
    Without `credentials`, it masks sensitive values only."""

    def __init__(self, plan: Plan, credentials: bool = True) -> None:
        self._plan = plan
        self._finds_credentials = credentials
        self.matcher = CredentialMatcher()
        """Finds what must not be shown: sensitive values and credentials."""
        self.sensitive = SecretMatcher()
        """Finds sensitive values only. For values that the run itself uses: it works with real credentials."""
        self._questions = QuestionMatcher()
        self._unlearnt: RemovedValues = []
        """Markers and values that `_questions` has yet to learn."""
        self._declared = frozenset(each.name for each in plan.workflow.variables if each.sensitive)

    def learn_inputs(self, inputs: dict[str, Any]) -> None:
        """Learn the inputs for sensitive variables, or their defaults, and the credentials in all others."""
        others = dict(inputs)
        for variable in self._plan.workflow.variables:
            value = inputs.get(variable.name, variable.default)
            if variable.sensitive:
                self._learn(redaction_marker(variable.name), value, declared=True)
            others[variable.name] = None if variable.sensitive else value
        self._learn_credentials(others)

    def learn_state(self, state: RunState) -> None:
        """Learn the sensitive variables, outputs and other hidden values of a run that is loaded from the store."""
        self.learn_inputs(state.variables)
        for node_id, node in state.nodes.items():
            self._learn_outputs(node_id, node.outputs)
        for value in state.hidden_values:
            self._learn(redaction_marker(COPY_NAME), value)
        for name, value in state.hidden_variables:
            self._learn(redaction_marker(name), value, declared=name in self._declared)
        for name, channel in state.channels.items():
            self._learn_channel(name, channel.value)
        for value in (*state.hidden_credentials, state.header.configurable):
            self._learn_credentials(value)
        for url in state.hidden_media:
            for token in filter(None, map(decode_asset_token, find_asset_tokens(url))):
                self._learn_asset(token[0].sha256)

    def _learn_credentials(self, value: Any) -> bool:
        found = self._finds_credentials and self.matcher.learn_credentials(value)
        return found and self._questions.learn_credentials(value)

    def _learn(self, marker: str, value: Any, declared: bool = False) -> None:
        self.matcher.learn_value(marker, value)
        self.sensitive.learn_value(marker, value)
        if declared:
            self._add_unlearnt(marker, value)

    def _learn_channel(self, name: str, value: Any) -> None:
        channel = self._plan.workflow.channels.get(name)
        if channel is not None and channel.sensitive:
            self._add_unlearnt(redaction_marker(name), value)

    def _add_unlearnt(self, marker: str, value: Any) -> None:
        self._unlearnt.append((marker, value))
        if len(self._unlearnt) > MAX_PENDING:
            self._learn_for_questions()

    def _learn_for_questions(self) -> QuestionMatcher:
        for marker, value in self._unlearnt:
            self._questions.learn_value(marker, value)
        self._unlearnt.clear()
        return self._questions

    def hide_inputs(self, inputs: dict[str, Any]) -> tuple[Any, RemovedValues]:
        """The redacted inputs for the header, and the removed values by pointer."""
        removed: RemovedValues = []
        places = {f"/{escape_token(name)}": name for name in self._plan.sensitive_variables}
        return self._hide(inputs, "", places, removed), removed

    def hide_payload(self, kind: str, node_id: str | None, payload: dict[str, Any]) -> tuple[Any, RemovedValues]:
        """hide-03: the redacted payload for the log, and the removed values by pointer."""
        removed: RemovedValues = []
        if kind in value_paths.SENT_KINDS:
            self.learn_credentials(kind, payload)
        if is_author_event_type(kind) and (marker := self.matcher.names_marker(payload)) is not None:
            return {"redacted": marker}, [("", payload)]
        visible = dict(payload)
        questions = self._question_matcher(kind, node_id, payload)
        places = self._hidden_places(kind, node_id, payload) if questions is None else {}
        words = value_paths.protocol_words(kind, payload) or ()
        for member in value_paths.value_members(kind, payload):
            if member in payload:
                visible[member] = self._hide(payload[member], f"/{member}", places, removed, words, questions)
        # If no node failed, the host wrote the error of the run, and there is nothing to hide in it.
        failed_node = (
            node_id
            if kind in value_paths.NODE_ERROR_MEMBERS
            else payload.get("failedNodeId")
            if kind == "run.failed"
            else None
        )
        member = value_paths.NODE_ERROR_MEMBERS.get(kind, "error")
        if failed_node is not None and member in payload:
            visible[member] = self._hide_error(failed_node, payload[member], removed, member)
        return visible, removed

    def learn_credentials(self, kind: str, payload: dict[str, Any]) -> bool:
        """hide-09: learn the credentials in the values of an event; whether it contains any."""
        names = [name for name in value_paths.value_members(kind, payload) if name in payload]
        if kind == "variable.changed" and payload["name"] in self._plan.sensitive_variables:
            return False
        return self._learn_credentials([payload[name] for name in names])

    def visible_error(self, node_id: str, error: dict[str, Any]) -> dict[str, Any]:
        return self._hide_error(node_id, error, [])

    def visible_interrupt(self, node_id: str, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        """The redacted data and answer schema of an interrupt, without its other members."""
        visible = self.hide_payload("interrupt.requested", node_id, {"kind": kind, **content})[0]
        return {name: visible[name] for name in content}

    def visible_surface(self, node_id: str, payload: dict[str, Any]) -> dict[str, Any]:
        """A form that a person reads, with sensitive values cut out of it."""
        return self.hide_payload(SURFACE_KIND, node_id, payload)[0]

    def may_ask(self, node_id: str, kind: str, data: dict[str, Any]) -> bool:
        """hide-07: whether a person can read the interrupt after its redaction."""
        return is_answerable(kind, self.visible_interrupt(node_id, kind, {"data": data})["data"])

    def visible_value(self, value: Any) -> Any:
        """A value from a place that is not sensitive, with accidental copies masked."""
        return self._hide(value, "", {}, [])

    def hides_media(self, sha256: str, content: bytes) -> bool:
        """hide-08: whether media contain a sensitive value or a known credential. If so, all events hide their URL: a
        reader would find the value behind it. Called with all media of a run before their event."""
        if self.matcher.is_absent_in_bytes(content):
            return False
        self._learn_asset(bytes.fromhex(sha256))
        return True

    def _learn_asset(self, sha256: bytes) -> None:
        self.matcher.learn_asset(sha256)
        self._questions.learn_asset(sha256)

    def _media_places(self, node_id: str, payload: dict[str, Any]) -> dict[str, str]:
        return {"/url": f"{node_id}.url"} if self.matcher.shows_secret_asset(str(payload.get("url", ""))) else {}

    def _question_matcher(self, kind: str, node_id: str | None, payload: dict[str, Any]) -> QuestionMatcher | None:
        """The matcher for an event with a question of a node that hides values; None if the event is redacted like
        others."""
        if kind not in value_paths.QUESTION_KINDS or node_id is None or not self._hides_values(node_id):
            return None
        is_request = kind == "interrupt.requested"
        if is_request and (is_outcome_interrupt(payload["data"]) or not is_question(payload["kind"])):
            return None
        matcher = self._learn_for_questions()
        return None if matcher.is_full else matcher

    def _hides_values(self, node_id: str) -> bool:
        place = self._plan.nodes.get(node_id)
        return place is not None and (place.hides_outputs or bool(place.node.sensitive_outputs))

    def _hidden_places(self, kind: str, node_id: str | None, payload: dict[str, Any]) -> dict[str, str]:
        """The pointers of values that are hidden whole, each with the name for its marker."""
        if kind in ("run.started", FORKED):
            return {f"/inputs/{escape_token(name)}": name for name in self._plan.sensitive_variables}
        if kind == "channel.written" and payload["channel"] in self._plan.taint.channels:
            self._learn_channel(payload["channel"], payload.get("value"))
            return {"/value": payload["channel"]}
        if node_id is not None and (kind in value_paths.MADE_MEMBERS or is_author_event_type(kind)):
            if kind == "interrupt.requested" and is_outcome_interrupt(payload["data"]):
                # The host wrote this text, and a person has to read it.
                return {}
            values = {f"/{name}": payload.get(name) for name in (value_paths.MADE_MEMBERS.get(kind) or payload)}
            places = self._node_value_places(node_id, values, value_paths.protocol_words(kind, payload))
            return places | self._media_places(node_id, payload) if kind in MEDIA_KINDS else places
        if kind == "variable.changed" and payload["name"] in self._plan.sensitive_variables:
            name = payload["name"]
            self._learn(redaction_marker(name), payload.get("next"), declared=name in self._declared)
            return {"/next": payload["name"], "/previous": payload["name"]}
        if kind == "node.completed" and node_id is not None:
            outputs: dict[str, Any] = payload.get("outputs", {})
            self._learn_outputs(node_id, outputs)
            return self._output_places("/outputs", node_id, outputs)
        places: dict[str, str] = {}
        if kind == "run.completed":
            for source, outputs in payload["outputs"].items():
                places |= self._output_places(f"/outputs/{escape_token(source)}", source, outputs)
        return places

    def _node_value_places(self, node_id: str, values: dict[str, Any], words: frozenset[str] | None) -> dict[str, str]:
        """The places of values from a node whose outputs are hidden.

        `words` are protocol members, which stay visible. If it is not None, an object must stay an object and is hidden
        member by member. A value that equals the node's config is not hidden: the definition shows it anyway.
        """
        if not self._hides_values(node_id):
            return {}
        place = self._plan.nodes[node_id]
        places: dict[str, str] = {}
        for at, value in values.items():
            name = f"{node_id}{at.replace('/', '.')}"
            if words is not None and is_object(value) and at.removeprefix("/") not in value_paths.SHAPED_MEMBERS:
                config = place.node.config
                hidden = [key for key in value if key not in words and (key not in config or config[key] != value[key])]
                for key in hidden:
                    places |= _inner_places(f"{at}/{escape_token(key)}", f"{name}.{key}", key, value[key])
            elif at.removeprefix("/") not in place.node.config or value != place.node.config[at.removeprefix("/")]:
                places |= _inner_places(at, name, at.removeprefix("/"), value)
        return places

    def _output_places(self, at: str, node_id: str, outputs: dict[str, Any]) -> dict[str, str]:
        hidden = [port for port in outputs if is_hidden_output(self._plan.nodes, node_id, port)]
        return {f"{at}/{escape_token(port)}": f"{node_id}.{port}" for port in hidden}

    def _learn_outputs(self, node_id: str, outputs: dict[str, Any]) -> None:
        for port in sorted(outputs):
            if is_hidden_output(self._plan.nodes, node_id, port):
                is_declared = port in self._plan.nodes[node_id].node.sensitive_outputs
                value = self._without_protocol_words(node_id, outputs[port])
                self._learn(redaction_marker(f"{node_id}.{port}"), value, is_declared)

    def _without_protocol_words(self, node_id: str, value: Any) -> Any:
        """The output of a supervisor without the protocol members of its decision; other outputs unchanged."""
        if self._plan.nodes[node_id].node.declaration.role != "supervisor" or not is_object(value):
            return value
        return {
            name: each for name, each in value.items() if name not in value_paths.PROTOCOL_WORDS[ORCHESTRATOR_DECIDED]
        }

    def _hide_error(
        self, node_id: str, error: dict[str, Any], removed: RemovedValues, member: str = "error"
    ) -> dict[str, Any]:
        visible = {**error, "message": self._hide(error["message"], f"/{member}/message", {}, removed)}
        if "details" in error and self._plan.nodes[node_id].hides_outputs:
            removed.append((f"/{member}/details", error["details"]))
            # The schema of errors requires `details` to be an object.
            visible["details"] = {"redacted": redaction_marker(f"{node_id}.error")}
        elif "details" in error:
            visible["details"] = self._hide(error["details"], f"/{member}/details", {}, removed)
        return visible

    def _hide(
        self,
        value: Any,
        pointer: str,
        places: dict[str, str],
        removed: RemovedValues,
        words: Iterable[str] = (),
        questions: QuestionMatcher | None = None,
    ) -> Any:
        """Hide the values at `places` whole, and mask learnt texts everywhere else. Member names are not changed: an
        object with a credential in a name is hidden whole. Members directly below `pointer` that are protocol `words`
        are not changed either. Removed values are appended to `removed`."""
        hidden_places: RemovedValues = []
        visible = _hide_places(value, pointer, places, hidden_places) if places else value
        matcher = questions or self.matcher
        if matcher.is_absent(visible):
            removed += hidden_places
            return visible
        search = _CopySearch(
            matcher, {*places, *(f"{pointer}/{word}" for word in value_paths.FIXED_MEMBERS.intersection(words))}
        )
        visible = search.hide(visible, pointer)
        for at, hidden in hidden_places:
            # A part that was hidden whole already contains the values inside it.
            if search.hidden_whole.isdisjoint(_ancestors(at)):
                removed.append((at, hidden))
        for at, hidden in search.removed:
            is_whole = at in search.hidden_whole
            removed.append((at, _value_at(value, split_pointer(at.removeprefix(pointer))) if is_whole else hidden))
        return visible


def hidden_places(plan: Plan, fact: Fact) -> frozenset[str]:
    """hide-03: the pointers of the values of an event that the redactor of a run has learnt: those of sensitive
    variables and of hidden outputs. What is hidden elsewhere in the event is a copy."""
    kind, payload = fact.type, fact.payload
    if not plan.has_sensitive_data:
        return frozenset()
    if kind in ("run.started", FORKED):
        return frozenset([f"/inputs/{escape_token(name)}" for name in plan.sensitive_variables])
    if kind == "variable.changed":
        return frozenset({"/next"} if payload["name"] in plan.sensitive_variables else ())
    if kind == "node.completed" and fact.node_id in plan.nodes:
        ports: dict[str, Any] = payload.get("outputs", {})
        hidden = [port for port in ports if is_hidden_output(plan.nodes, fact.node_id, port)]
        return frozenset([f"/outputs/{escape_token(port)}" for port in hidden])
    return frozenset()


def hidden_urls(kind: str, removed: RemovedValues) -> list[str]:
    """hide-08: the URL that a media event hides, because the media contain a secret; else an empty list."""
    return [value for at, value in removed if at == "/url"] if kind in MEDIA_KINDS else []


def reveal(payload: Any, removed: Iterable[tuple[str, Any]]) -> Any:
    """hide-04: put removed values back at their pointers. Modifies the document in place."""
    for pointer, value in removed:
        path = split_pointer(pointer)
        if not path:
            return value
        place = _value_at(payload, path[:-1])
        if is_array(place):
            place[int(path[-1])] = value
        else:
            place[path[-1]] = value
    return payload


def _inner_places(at: str, name: str, member: str, value: Any) -> dict[str, str]:
    """The places to hide of one value. A value that must keep its shape (an object, or a list of objects) is hidden
    inside instead of whole."""
    if member not in value_paths.SHAPED_MEMBERS:
        return {at: name}
    if is_object(value):
        return {f"{at}/{escape_token(key)}": f"{name}.{key}" for key in value}
    places: dict[str, str] = {}
    for index, each in enumerate(value if is_array(value) else ()):
        for inner in [key for key in value_paths.SHAPED_MEMBERS[member] if is_object(each) and key in each]:
            inner_value = each[inner]
            steps = [f"/{escape_token(key)}" for key in inner_value] if is_object(inner_value) else [""]
            places |= {f"{at}/{index}/{inner}{step}": f"{name}.{inner}" for step in steps}
    return places or {at: name}


class _CopySearch:
    """Masks the copies in one member that is known to contain some.

    `hidden_whole` holds the pointers of the parts that were hidden whole.
    """

    def __init__(self, matcher: SecretMatcher, skipped_pointers: Container[str]) -> None:
        self._matcher = matcher
        self._skipped_pointers = skipped_pointers
        """Pointers that are not searched."""
        self._values_left = MAX_EXACT_VALUES
        self._characters_left = MAX_EXACT_TEXT
        self.removed: RemovedValues = []
        self.hidden_whole: set[str] = set()

    def hide(self, value: Any, pointer: str) -> Any:
        if pointer in self._skipped_pointers:
            return value
        if isinstance(value, str):
            return self._hide_text(value, pointer)
        if (marker := self._matcher.whole_marker(value)) is not None and not _KEEPS_SHAPE.fullmatch(pointer):
            return self._replace_whole(value, pointer, marker)
        if (marker := self._matcher.names_marker(value)) is not None:
            return self._replace_whole(value, pointer, marker)
        if not (is_object(value) or is_array(value)):
            return value
        self._values_left -= len(value)
        if self._values_left < 0:
            return self._hide_whole(value, pointer)
        if is_object(value):
            return {key: self.hide(each, f"{pointer}/{escape_token(key)}") for key, each in value.items()}
        return [self.hide(each, f"{pointer}/{index}") for index, each in enumerate(value)]

    def _hide_text(self, text: str, pointer: str) -> str:
        if self._matcher.is_absent(text):
            return text
        self._characters_left -= len(text)
        if self._characters_left < 0:
            return self._hide_whole(text, pointer)
        self.removed.append((pointer, text))
        return self._matcher.mask(text)

    def _hide_whole(self, value: Any, pointer: str) -> Any:
        """Hide a value if it contains a copy."""
        if self._matcher.is_absent(value):
            return value
        return self._replace_whole(value, pointer, redaction_marker(COPY_NAME))

    def _replace_whole(self, value: Any, pointer: str, marker: str) -> Any:
        """An object stays an object, and an array an array, because the schema of an event may require it."""
        self.removed.append((pointer, value))
        self.hidden_whole.add(pointer)
        return {"redacted": marker} if is_object(value) else [marker] if is_array(value) else marker


def _hide_places(value: Any, pointer: str, places: dict[str, str], removed: RemovedValues) -> Any:
    """Mask the places at or below `pointer`. Visits only the paths to them, and copies only what it changes."""
    if pointer in places:
        removed.append((pointer, value))
        return redaction_marker(places[pointer])
    if not (is_object(value) or is_array(value)):
        return value
    below: dict[str, dict[str, str]] = {}
    for place, name in places.items():
        if place.startswith(f"{pointer}/"):
            below.setdefault(place[len(pointer) + 1 :].partition("/")[0], {})[place] = name
    visible: Any = dict(value) if is_object(value) else list(value)
    for step, inner in below.items():
        (key,) = split_pointer(f"/{step}")
        if is_array(value):
            visible[int(key)] = _hide_places(value[int(key)], f"{pointer}/{step}", inner, removed)
        elif is_object(value) and key in value:
            visible[key] = _hide_places(value[key], f"{pointer}/{step}", inner, removed)
    return visible


def _ancestors(pointer: str) -> Iterator[str]:
    """The pointers of the values that contain the value at a pointer."""
    while pointer:
        pointer = pointer.rpartition("/")[0]
        yield pointer


def _value_at(value: Any, steps: list[str]) -> Any:
    for step in steps:
        value = value[int(step)] if is_array(value) else value[step]
    return value
