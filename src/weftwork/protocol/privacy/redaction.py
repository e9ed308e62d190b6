"""The redactor of run events: masks what must not be in the log, and sets aside what the engine still needs.

Theory of operation. The first line is data flow: the plan says which places of a run can hold something sensitive, and
those are hidden whole, whatever their type. The second line is for accidental copies: texts of sensitive values are
also searched for in other values (secret_matcher), never in a name, an id or a code. Removed values are addressed by
event sequence and pointer, never by something inside a text, so a caller who types a marker by hand gets that text and
nothing else.

The cost is bounded too. A value without copies is scanned once, by a linear-time engine. In a value with copies, only
a limited number of texts is masked one by one; a part beyond that limit which contains a copy is hidden whole.

Source: readings (What the log may hide).
"""

from collections.abc import Container, Iterable
from typing import Any, Final

from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.pointers import escape_token, split_pointer
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.privacy import value_paths
from weftwork.protocol.privacy.secret_matcher import SecretMatcher, redaction_marker
from weftwork.protocol.run.effects import is_outcome_interrupt
from weftwork.protocol.run.events import ORCHESTRATOR_DECIDED, is_author_event_type
from weftwork.protocol.workflow.plan import Plan, is_hidden_output

MAX_EXACT_VALUES: Final = 1_000
MAX_EXACT_TEXT: Final = 16_384
"""Values and characters of one member in which copies are masked where they stand."""
COPY_NAME: Final = "copy"
"""The name on the marker of a part that was hidden whole because there is a copy in it."""

RemovedValues = list[tuple[str, Any]]


def visible_variable(plan: Plan, name: str, value: Any) -> Any:
    """hide-02 (OpenWOP run-options): a variable as everybody may see it; a sensitive one never shows its value."""
    return redaction_marker(name) if name in plan.sensitive_variables else value


def visible_channel(plan: Plan, name: str, value: Any) -> Any:
    """hide-02: a channel as everybody may see it."""
    return redaction_marker(name) if name in plan.taint.channels else value


class Redactor:
    """Hides what one run must not show. Sensitive texts are learnt as they appear."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.matcher = SecretMatcher()

    def learn_inputs(self, inputs: dict[str, Any]) -> None:
        """Learn the values given for sensitive variables, and the definition's defaults for them."""
        for variable in self._plan.workflow.variables:
            if variable.sensitive:
                self.matcher.learn_value(redaction_marker(variable.name), inputs.get(variable.name, variable.default))

    def learn_state(self, state: RunState) -> None:
        """Learn what a log that was written before must keep hidden: sensitive variables and outputs so far."""
        self.learn_inputs(state.variables)
        for node_id, node in state.nodes.items():
            self._learn_outputs(node_id, node.outputs)
        for value in state.hidden_values:
            self.matcher.learn_value(redaction_marker(COPY_NAME), value)

    def hide_inputs(self, inputs: dict[str, Any]) -> tuple[Any, RemovedValues]:
        """The inputs as the header may show them, with what was removed."""
        removed: RemovedValues = []
        places = {f"/{escape_token(name)}": name for name in self._plan.sensitive_variables}
        return self._hide(inputs, "", places, removed), removed

    def hide_payload(self, kind: str, node_id: str | None, payload: dict[str, Any]) -> tuple[Any, RemovedValues]:
        """hide-03: an event payload as the log may show it, with what was removed."""
        removed: RemovedValues = []
        shown = dict(payload)
        places = self._hidden_places(kind, node_id, payload)
        words = value_paths.protocol_words(kind, payload) or ()
        for member in value_paths.value_members(kind, payload):
            if member in payload:
                shown[member] = self._hide(payload[member], f"/{member}", places, removed, words)
        # A run that fails by no node fails with words of the host alone.
        failed = (
            node_id
            if kind in value_paths.NODE_ERROR_MEMBERS
            else payload.get("failedNodeId")
            if kind == "run.failed"
            else None
        )
        member = value_paths.NODE_ERROR_MEMBERS.get(kind, "error")
        if failed is not None and member in payload:
            shown[member] = self._hide_error(failed, payload[member], removed, member)
        return shown, removed

    def visible_error(self, node_id: str, error: dict[str, Any]) -> dict[str, Any]:
        return self._hide_error(node_id, error, [])

    def visible_interrupt(self, node_id: str, asking: dict[str, Any]) -> dict[str, Any]:
        """What a node asks and the schema of its answers, as everybody may see them."""
        return self.hide_payload("interrupt.requested", node_id, asking)[0]

    def visible_value(self, value: Any) -> Any:
        """A value that is not sensitive itself, with accidental copies masked."""
        return self._hide(value, "", {}, [])

    def _hidden_places(self, kind: str, node_id: str | None, payload: dict[str, Any]) -> dict[str, str]:
        """Pointer -> name of what is hidden whole there."""
        if kind == "run.started":
            return {f"/inputs/{escape_token(name)}": name for name in self._plan.sensitive_variables}
        if kind == "channel.written" and payload["channel"] in self._plan.taint.channels:
            return {"/value": payload["channel"]}
        if node_id is not None and (kind in value_paths.MADE_MEMBERS or is_author_event_type(kind)):
            if kind == "interrupt.requested" and is_outcome_interrupt(payload["data"]):
                # Words of the host, which a person has to read.
                return {}
            made = {f"/{name}": payload.get(name) for name in (value_paths.MADE_MEMBERS.get(kind) or payload)}
            return self._made_value_places(node_id, made, value_paths.protocol_words(kind, payload))
        if kind == "variable.changed" and payload["name"] in self._plan.sensitive_variables:
            self.matcher.learn_value(redaction_marker(payload["name"]), payload.get("next"))
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

    def _made_value_places(self, node_id: str, made: dict[str, Any], words: frozenset[str] | None) -> dict[str, str]:
        """Where a node that hides what it makes has put it; member by member, but for `words`, if it must stay an
        object. What stands like that in the definition is no secret."""
        place = self._plan.nodes.get(node_id)
        if place is None or not (place.hides_outputs or place.node.sensitive_outputs):
            return {}
        places: dict[str, str] = {}
        for at, value in made.items():
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
                self.matcher.learn_value(
                    redaction_marker(f"{node_id}.{port}"), self._without_protocol_words(node_id, outputs[port])
                )

    def _without_protocol_words(self, node_id: str, value: Any) -> Any:
        """Of a decision, what is no word of the protocol."""
        if self._plan.nodes[node_id].node.declaration.role != "supervisor" or not is_object(value):
            return value
        return {
            name: each for name, each in value.items() if name not in value_paths.PROTOCOL_WORDS[ORCHESTRATOR_DECIDED]
        }

    def _hide_error(
        self, node_id: str, error: dict[str, Any], removed: RemovedValues, member: str = "error"
    ) -> dict[str, Any]:
        shown = {**error, "message": self._hide(error["message"], f"/{member}/message", {}, removed)}
        if "details" in error and self._plan.nodes[node_id].hides_outputs:
            removed.append((f"/{member}/details", error["details"]))
            # An object, because details must be one.
            shown["details"] = {"redacted": redaction_marker(f"{node_id}.error")}
        elif "details" in error:
            shown["details"] = self._hide(error["details"], f"/{member}/details", {}, removed)
        return shown

    def _hide(
        self, value: Any, pointer: str, places: dict[str, str], removed: RemovedValues, words: Iterable[str] = ()
    ) -> Any:
        """Mask the named places whole and learnt texts everywhere else; member names stay, and so do members here
        that are words."""
        named: RemovedValues = []
        shown = _hide_places(value, pointer, places, named) if places else value
        if self.matcher.is_absent(shown):
            removed += named
            return shown
        search = _CopySearch(
            self.matcher, {*places, *(f"{pointer}/{word}" for word in value_paths.FIXED_MEMBERS.intersection(words))}
        )
        shown = search.hide(shown, pointer)
        for at, hidden in named:
            # What is inside a part that was hidden whole goes with it.
            if not any(at.startswith(f"{whole}/") for whole in search.hidden_whole):
                removed.append((at, hidden))
        for at, hidden in search.removed:
            whole = at in search.hidden_whole
            removed.append((at, _value_at(value, split_pointer(at.removeprefix(pointer))) if whole else hidden))
        return shown


def reveal(payload: Any, removed: Iterable[tuple[str, Any]]) -> Any:
    """hide-04: put removed values back at their pointers. Changes the given document."""
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
    """Where a value is hidden that may have to stay an object, or a list of objects."""
    if member not in value_paths.SHAPED_MEMBERS:
        return {at: name}
    if is_object(value):
        return {f"{at}/{escape_token(key)}": f"{name}.{key}" for key in value}
    places: dict[str, str] = {}
    for index, each in enumerate(value if is_array(value) else ()):
        for inner in [key for key in value_paths.SHAPED_MEMBERS[member] if is_object(each) and key in each]:
            found = each[inner]
            inside = [f"/{escape_token(key)}" for key in found] if is_object(found) else [""]
            places |= {f"{at}/{index}/{inner}{more}": f"{name}.{inner}" for more in inside}
    return places or {at: name}


class _CopySearch:
    """The search for copies in one member that is known to hold some.

    `hidden_whole` has the pointers of the parts that were hidden whole.
    """

    def __init__(self, matcher: SecretMatcher, skipped_pointers: Container[str]) -> None:
        self._matcher = matcher
        self._skipped_pointers = skipped_pointers
        """Pointers at which nothing is searched for."""
        self._values_left = MAX_EXACT_VALUES
        self._characters_left = MAX_EXACT_TEXT
        self.removed: RemovedValues = []
        self.hidden_whole: set[str] = set()

    def hide(self, value: Any, pointer: str) -> Any:
        if pointer in self._skipped_pointers:
            return value
        if isinstance(value, str):
            return self._hide_text(value, pointer)
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
        """An object stays an object, and an array an array, because the schema of an event may ask for one."""
        if self._matcher.is_absent(value):
            return value
        self.removed.append((pointer, value))
        self.hidden_whole.add(pointer)
        marker = redaction_marker(COPY_NAME)
        return {"redacted": marker} if is_object(value) else [marker] if is_array(value) else marker


def _hide_places(value: Any, pointer: str, places: dict[str, str], removed: RemovedValues) -> Any:
    """Mask the places that are here or below, without a look at anything else."""
    if pointer in places:
        removed.append((pointer, value))
        return redaction_marker(places[pointer])
    if not (is_object(value) or is_array(value)):
        return value
    below: dict[str, dict[str, str]] = {}
    for place, name in places.items():
        if place.startswith(f"{pointer}/"):
            below.setdefault(place[len(pointer) + 1 :].partition("/")[0], {})[place] = name
    shown: Any = dict(value) if is_object(value) else list(value)
    for step, inner in below.items():
        (key,) = split_pointer(f"/{step}")
        if is_array(value):
            shown[int(key)] = _hide_places(value[int(key)], f"{pointer}/{step}", inner, removed)
        elif is_object(value) and key in value:
            shown[key] = _hide_places(value[key], f"{pointer}/{step}", inner, removed)
    return shown


def _value_at(value: Any, steps: list[str]) -> Any:
    for step in steps:
        value = value[int(step)] if is_array(value) else value[step]
    return value
