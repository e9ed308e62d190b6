"""Composes prompts: fills the variables of a template, once for the model and once, without secrets, for events. Also
the payloads of these events.

Sources: RFC 0027 A, E and G.
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.values import has_type, is_array, is_object
from weftwork.protocol.models.prompt_templates import PromptTemplate, PromptVariable, ResolvedPrompt
from weftwork.protocol.privacy.secret_matcher import redaction_marker
from weftwork.protocol.privacy.trust import wrap_untrusted
from weftwork.protocol.run.model_payloads import PromptComposed, PromptResolved

MAX_EVENT_PROMPT: Final = 65_536
"""Characters of a prompt in events. Of a longer prompt, events have only the hash."""
_COMPOSITION: Final = {"system": "system-only", "schema-hint": "system-only"}
"""`kind` of prompt.composed by the kind of the template; every other template is part of the user message."""

_PLACEHOLDER: Final = re.compile(r"\{\{\{\s*([a-zA-Z_]\w{0,63})\s*\}\}\}|\{\{\s*([a-zA-Z_]\w{0,63})\s*\}\}", re.ASCII)
_PATH_STEP: Final = re.compile(r"\.?([A-Za-z_][\w-]*)|\[([0-9]{1,9})\]", re.ASCII)


class Binding(msgspec.Struct, frozen=True):
    """The value of a variable."""

    value: Any
    untrusted: bool = False
    hidden: bool = False
    """Whether only the model may see the value. Events show a redaction marker instead."""


class UnboundVariable(msgspec.Struct, frozen=True):
    """A variable that prevents composition: it is required and has no value, or its value has the wrong type."""

    name: str
    code: str


class ComposedPrompt(msgspec.Struct, frozen=True):
    """A composed prompt: `text` for the model, and `visible_text`, without hidden values, for events."""

    text: str
    visible_text: str
    bindings: dict[str, Any]
    hashes: dict[str, str]
    untrusted: bool

    @property
    def hash(self) -> str:
        return prompt_hash(self.visible_text)


def compose(
    template: PromptTemplate, text: str, overrides: dict[str, Any], find: Callable[[PromptVariable], Binding | None]
) -> ComposedPrompt | UnboundVariable:
    """prompt-05 (RFC 0027 A): fill the placeholders of `text`, which is the template's text or its replacement.

    `overrides` take precedence over the bindings of `find`. A placeholder that the template does not declare is an
    optional input. Values are inserted literally: placeholders inside them are not expanded.
    """
    declared = {each.name: each for each in template.variables}
    placeholders = [match[1] or match[2] for match in _PLACEHOLDER.finditer(text)]
    undeclared = dict.fromkeys(name for name in placeholders if name not in declared)
    bindings: dict[str, Binding] = {}
    for variable in (*template.variables, *(PromptVariable(name) for name in undeclared)):
        binding = _bind(variable, overrides, find)
        if variable.required and binding is None:
            return UnboundVariable(variable.name, "prompt_variable_unresolved")
        if binding is None:
            continue
        if variable.name in declared and not has_type(binding.value, variable.type):
            return UnboundVariable(variable.name, "prompt_variable_invalid")
        bindings[variable.name] = binding
    visible = {name: _visible_value(name, each) for name, each in bindings.items()}
    return ComposedPrompt(
        text=_substitute(text, {name: _prompt_text(each) for name, each in bindings.items()}),
        visible_text=_substitute(
            text, {name: _prompt_text(Binding(visible[name], each.untrusted)) for name, each in bindings.items()}
        ),
        bindings=visible,
        hashes={name: prompt_hash(_value_text(value)) for name, value in visible.items()},
        untrusted=any(each.untrusted for each in bindings.values()),
    )


def prompt_resolved(node_id: str, slot: ResolvedPrompt, agent_id: str | None = None) -> PromptResolved:
    """The payload of agent.promptResolved."""
    named = msgspec.UNSET if agent_id is None else agent_id
    return PromptResolved(node_id, slot.kind, list(slot.chain), slot.ref.text, named)


def prompt_composed(node_id: str, slot: ResolvedPrompt, composed: ComposedPrompt) -> PromptComposed:
    """The payload of prompt.composed, without hidden values."""
    text = composed.visible_text
    is_shown = len(text) <= MAX_EVENT_PROMPT
    return PromptComposed(
        node_id,
        [slot.ref.text],
        _COMPOSITION.get(slot.kind, "user-only"),
        composed.hash,
        composed.hashes,
        "untrusted" if composed.untrusted else "trusted",
        text if is_shown else msgspec.UNSET,
        composed.bindings if is_shown else msgspec.UNSET,
        text if is_shown and slot.kind == "system" else msgspec.UNSET,
        text if is_shown and slot.kind == "user" else msgspec.UNSET,
    )


def prompt_hash(text: str) -> str:
    """prompt-06 (RFC 0027 G): the SHA-256 of a visible text. Hidden values must never be hashed."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def extract_path(value: Any, path: str) -> Any:
    """The value at a path such as `$.a.b[0]`; None if there is no such value or the path is malformed."""
    rest = path.removeprefix("$")
    at = 0
    while at < len(rest):
        step = _PATH_STEP.match(rest, at)
        if step is None:
            return None
        at = step.end()
        if step[1] is not None and is_object(value):
            value = value.get(step[1])
        elif step[2] is not None and is_array(value) and int(step[2]) < len(value):
            value = value[int(step[2])]
        else:
            return None
    return value


def _bind(
    variable: PromptVariable, overrides: dict[str, Any], find: Callable[[PromptVariable], Binding | None]
) -> Binding | None:
    """The binding of a variable: its override, the value from `find`, or its default. A null counts as no value."""
    if overrides.get(variable.name) is not None:
        return Binding(overrides[variable.name], hidden=variable.source == "secret")
    binding = find(variable)
    if binding is not None and variable.extract_path is not None:
        binding = msgspec.structs.replace(binding, value=extract_path(binding.value, variable.extract_path))
    if binding is not None and binding.value is not None:
        return binding
    default = variable.default_value
    return Binding(default) if default is not msgspec.UNSET and default is not None else None


def _visible_value(name: str, binding: Binding) -> Any:
    """prompt-07 (RFC 0027 G): a hidden value is shown as a redaction marker with the variable's name."""
    return redaction_marker(name) if binding.hidden else binding.value


def _prompt_text(binding: Binding) -> str:
    """prompt-08 (RFC 0027 G): untrusted content is wrapped in markers."""
    text = _value_text(binding.value)
    return wrap_untrusted(text, type="prompt-variable") if binding.untrusted else text


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else encode_stored(value).decode()


def _substitute(text: str, values: dict[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values.get(match[1] or match[2], ""), text)
