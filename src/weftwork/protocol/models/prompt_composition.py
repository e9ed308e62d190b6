"""Composes prompts: from a template and the values of its variables to the text for the model and the visible text.

Sources: RFC 0027 A, E and G.
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.values import has_type, is_array, is_object
from weftwork.protocol.models.prompt_templates import PromptTemplate, PromptVariable
from weftwork.protocol.privacy.secret_matcher import redaction_marker
from weftwork.protocol.privacy.trust import wrap_untrusted

_PLACEHOLDER: Final = re.compile(r"\{\{\{\s*([a-zA-Z_]\w{0,63})\s*\}\}\}|\{\{\s*([a-zA-Z_]\w{0,63})\s*\}\}", re.ASCII)
_PATH_STEP: Final = re.compile(r"\.?([A-Za-z_][\w-]*)|\[([0-9]{1,9})\]", re.ASCII)


class Binding(msgspec.Struct, frozen=True):
    """What a variable stands for."""

    value: Any
    untrusted: bool = False
    hidden: bool = False
    """Whether nobody but the model may see it."""


class UnboundVariable(msgspec.Struct, frozen=True):
    """A variable that keeps a template from being composed: nothing is bound to it, or something of another type."""

    name: str
    code: str


class ComposedPrompt(msgspec.Struct, frozen=True):
    """A text for the model, and the same as events may show it."""

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
    """prompt-05 (RFC 0027 A): the text, which is the template's own or one instead of it, with its places filled in.

    `overrides` win over what `find` binds. A place that the template does not declare is an optional input. What is
    filled in is not looked at again.
    """
    declared = {each.name: each for each in template.variables}
    named = [found[1] or found[2] for found in _PLACEHOLDER.finditer(text)]
    undeclared = dict.fromkeys(name for name in named if name not in declared)
    bound: dict[str, Binding] = {}
    for variable in (*template.variables, *(PromptVariable(name) for name in undeclared)):
        found = _bind(variable, overrides, find)
        if variable.required and found is None:
            return UnboundVariable(variable.name, "prompt_variable_unresolved")
        if found is None:
            continue
        if variable.name in declared and not has_type(found.value, variable.type):
            return UnboundVariable(variable.name, "prompt_variable_invalid")
        bound[variable.name] = found
    shown = {name: _visible_value(name, each) for name, each in bound.items()}
    return ComposedPrompt(
        text=_substitute(text, {name: _prompt_text(each) for name, each in bound.items()}),
        visible_text=_substitute(
            text, {name: _prompt_text(Binding(shown[name], each.untrusted)) for name, each in bound.items()}
        ),
        bindings=shown,
        hashes={name: prompt_hash(_value_text(value)) for name, value in shown.items()},
        untrusted=any(each.untrusted for each in bound.values()),
    )


def prompt_hash(text: str) -> str:
    """prompt-06 (RFC 0027 G): the digest of what may be seen, never of what may not."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def extract_path(value: Any, path: str) -> Any:
    """What stands at a path like `$.a.b[0]` in a value; None if nothing does, or the path is of another form."""
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
    """None where there is no value; null is none."""
    if overrides.get(variable.name) is not None:
        return Binding(overrides[variable.name], hidden=variable.source == "secret")
    found = find(variable)
    if found is not None and variable.extract_path is not None:
        found = msgspec.structs.replace(found, value=extract_path(found.value, variable.extract_path))
    if found is not None and found.value is not None:
        return found
    default = variable.default_value
    return Binding(default) if default is not msgspec.UNSET and default is not None else None


def _visible_value(name: str, bound: Binding) -> Any:
    """prompt-07 (RFC 0027 G): what is secret is told by its name."""
    return redaction_marker(name) if bound.hidden else bound.value


def _prompt_text(bound: Binding) -> str:
    """prompt-08 (RFC 0027 G): content from outside stands between marks."""
    text = _value_text(bound.value)
    return wrap_untrusted(text, type="prompt-variable") if bound.untrusted else text


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else encode_stored(value).decode()


def _substitute(text: str, values: dict[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: values.get(found[1] or found[2], ""), text)
