"""The one redactor: what may not stand in the log is masked, and what the engine still needs is set aside.

`hide` gives the masked payload and the removed values with their pointers; `reveal` puts them back.
A value is addressed by (event sequence, pointer), never by something inside the text, so a caller who
types a mask by hand gets that text and nothing else. Source: readings (What the log may hide).
"""

from collections.abc import Iterable
from typing import Any, TypeGuard

from weftwork.protocol.fold import RunState
from weftwork.protocol.graph import Plan
from weftwork.protocol.json_value import is_array, is_object

_MIN_CONTAINED = 4
"""A sensitive text this long or longer is also found inside other texts; a shorter one only by equality.
A number that is written shorter is hidden in its own place only: 0 and 1 stand everywhere."""


def mask(name: str) -> str:
    """hide-01 (OpenWOP observability): the marker that stands for a hidden value."""
    return f"[REDACTED:{name}]"


def shown_variable(plan: Plan, name: str, value: Any) -> Any:
    """hide-02 (OpenWOP run-options): a variable as everybody may see it; a sensitive one never shows its value."""
    return mask(name) if name in plan.sensitive else value


class Redactor:
    """Knows the sensitive texts and numbers of one run. They are learnt as they appear and never shown."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._texts: dict[str, str] = {}
        self._numbers: dict[float, str] = {}

    def learn(self, name: str, value: Any) -> None:
        """From now on every text and number inside `value` is hidden wherever it turns up."""
        if isinstance(value, str):
            if value and value not in self._texts:
                # Longest first: a text that contains another is masked whole, not around the other's mask.
                known = {**self._texts, value: mask(name)}
                self._texts = dict(sorted(known.items(), key=lambda item: -len(item[0])))
        elif is_object(value):
            for member in value.values():
                self.learn(name, member)
        elif is_array(value):
            for item in value:
                self.learn(name, item)
        elif _is_number(value):
            text = repr(value).removesuffix(".0")
            if len(text) >= _MIN_CONTAINED:
                self._numbers.setdefault(value, mask(name))
                self.learn(name, text)

    def learn_inputs(self, inputs: dict[str, Any]) -> None:
        """Learn the values given for sensitive variables, and the definition's defaults for them."""
        for variable in self._plan.workflow.variables:
            if variable.sensitive:
                self.learn(variable.name, inputs.get(variable.name, variable.default))

    def learn_state(self, state: RunState) -> None:
        """Learn what a log that was written before must keep hidden: sensitive variables and outputs so far."""
        for name in self._plan.sensitive & state.variables.keys():
            self.learn(name, state.variables[name])
        for node_id, node in state.nodes.items():
            for port in self._plan.nodes[node_id].node.sensitive_outputs & node.outputs.keys():
                self.learn(f"{node_id}.{port}", node.outputs[port])

    def hide_inputs(self, inputs: dict[str, Any]) -> tuple[Any, list[tuple[str, Any]]]:
        """The inputs as the header may show them."""
        return self.hide(inputs, {(name,): name for name in self._plan.sensitive})

    def hide_payload(
        self, kind: str, node_id: str | None, payload: dict[str, Any]
    ) -> tuple[Any, list[tuple[str, Any]]]:
        """hide-03: an event payload as the log may show it, with what was removed."""
        places: dict[tuple[str, ...], str] = {}
        if kind == "run.started":
            places = {("inputs", name): name for name in self._plan.sensitive}
        elif kind == "variable.changed" and payload["name"] in self._plan.sensitive:
            places = {("next",): payload["name"], ("previous",): payload["name"]}
            self.learn(payload["name"], payload.get("next"))
        elif kind == "node.completed" and node_id in self._plan.nodes:
            for port in self._plan.nodes[node_id].node.sensitive_outputs:
                places["outputs", port] = f"{node_id}.{port}"
                self.learn(f"{node_id}.{port}", payload.get("outputs", {}).get(port))
        elif kind == "run.completed":
            for node in self._plan.workflow.nodes:
                places |= {("outputs", node.id, p): f"{node.id}.{p}" for p in node.sensitive_outputs}
        elif kind == "cap.breached":
            # The protocol's own numbers stay numbers, whatever they happen to equal.
            own = {name: payload[name] for name in ("limit", "observed")}
            shown, removed = self.hide({name: value for name, value in payload.items() if name not in own}, places)
            return {**shown, **own}, removed
        return self.hide(payload, places)

    def hide(self, value: Any, places: dict[tuple[str, ...], str]) -> tuple[Any, list[tuple[str, Any]]]:
        """Mask the named places whole, every text that equals or contains a sensitive one, and sensitive numbers."""
        removed: list[tuple[str, Any]] = []
        return self._hide(value, (), "", places, removed), removed

    def _hide(
        self,
        value: Any,
        path: tuple[str, ...],
        pointer: str,
        places: dict[tuple[str, ...], str],
        removed: list[tuple[str, Any]],
    ) -> Any:
        name = places.get(path)
        if name is not None:
            removed.append((pointer, value))
            return mask(name)
        if isinstance(value, str):
            shown = self._scrub(value)
            if shown is not value:
                removed.append((pointer, value))
            return shown
        if self._numbers and _is_number(value) and value in self._numbers:
            removed.append((pointer, value))
            return self._numbers[value]
        if is_object(value):
            return {
                key: self._hide(member, (*path, key), f"{pointer}/{_token(key)}", places, removed)
                for key, member in value.items()
            }
        if is_array(value):
            return [
                self._hide(item, (*path, str(index)), f"{pointer}/{index}", places, removed)
                for index, item in enumerate(value)
            ]
        return value

    def _scrub(self, text: str) -> str:
        known = self._texts.get(text)
        if known is not None:
            return known
        for secret, marker in self._texts.items():
            if len(secret) >= _MIN_CONTAINED and secret in text:
                text = text.replace(secret, marker)
        return text


def reveal(payload: Any, removed: Iterable[tuple[str, Any]]) -> Any:
    """hide-04: put removed values back at their pointers. Changes the given document."""
    for pointer, value in removed:
        tokens = [t.replace("~1", "/").replace("~0", "~") for t in pointer.split("/")[1:]]
        if not tokens:
            return value
        place: Any = payload
        for token in tokens[:-1]:
            place = place[int(token)] if is_array(place) else place[token]
        if is_array(place):
            place[int(tokens[-1])] = value
        else:
            place[tokens[-1]] = value
    return payload


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _token(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
