"""Streams with parts replaced, dropped and added: the import never raises, and never passes what the gate refuses."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.cases import fails_without
from tests.protocol.surfaces.a2ui.streams import STREAMS, components, created
from tests.protocol.surfaces.a2ui.surfaces import PAYLOAD
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, SURFACE_KIND
from weftwork.protocol.surfaces.a2ui import from_messages, importing, to_messages
from weftwork.protocol.surfaces.limits import check_limits

KIND = BUILTIN_KINDS.find(SURFACE_KIND)
assert KIND is not None
VALIDATOR = KIND.validator


OPENWOP = to_messages(PAYLOAD, surface_id="s1", catalog="openwop")
JUNK: list[Any] = [
    None, True, 0, -1, 2**60, 1.5, float("inf"), "", "root", "title", "openUrl", "__proto__", "\x00", [], {}, [[]],
    {"componentId": "root", "path": "/dishes"}, {"componentId": "dish", "path": "name"}, [{}] * 30,
    {"call": "formatString", "args": {"value": "${/x}${"}}, {"path": "/values"}, {"path": "/"},
    {"path": ["x"]}, {"call": "openUrl"}, {"call": []}, {"event": {"name": "x"}},
    {"functionCall": {}}, ["root"], ["title", "title"], "v1.0", "Text", "Button", "TextField", "Slider", "x" * 600,
]  # fmt: skip


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every container with each of its keys."""
    found: list[tuple[Any, Any]] = []
    level = [value]
    while level:
        each = level.pop()
        if isinstance(each, dict | list):
            keys = list(each) if isinstance(each, dict) else list(range(len(each)))
            found += [(each, key) for key in keys]
            level += [each[key] for key in keys]
    return found


def _mutated(data: st.DataObject) -> list[Any]:
    base = data.draw(st.sampled_from([*STREAMS, to_messages(PAYLOAD, surface_id="s1"), OPENWOP]))
    messages: list[Any] = copy.deepcopy(base)
    for _ in range(data.draw(st.integers(0, 4))):
        places = _places(messages)
        if not places:
            break
        holder, key = places[data.draw(st.integers(0, len(places) - 1))]
        kind = data.draw(st.sampled_from(["replace", "drop", "add", "copy"]))
        if kind == "drop":
            del holder[key]
        elif kind == "replace":
            holder[key] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))
        elif kind == "copy":
            other, name = places[data.draw(st.integers(0, len(places) - 1))]
            holder[key] = copy.deepcopy(other[name])
        elif isinstance(holder, dict):
            name = data.draw(st.sampled_from(["checks", "action", "value", "children", "child", "component", "label"]))
            holder[name] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))
        else:
            holder.append(copy.deepcopy(data.draw(st.sampled_from([*JUNK, holder[key]]))))
    return messages


@pytest.mark.rule("surf-45")
@given(st.data())
def test_a_mutated_stream_never_raises_and_never_gives_what_the_gate_would_refuse(data: st.DataObject) -> None:
    messages = _mutated(data)
    payload, diagnostics = from_messages(messages)
    assert (payload is None) == any(not each.is_loss for each in diagnostics)
    if payload is not None:
        assert VALIDATOR.is_valid(payload)
        assert check_limits(payload) == []
        text = str(payload)
        assert "cdn.example" not in text
        assert "functionCall" not in text


@pytest.mark.rule("surf-45")
def test_the_proof_fails_if_the_gate_is_not_asked() -> None:
    def check() -> None:
        payload, _ = from_messages(
            [created(), components({"id": "root", "component": "CheckBox", "label": "x" * 501, "value": False})]
        )
        assert payload is None

    fails_without(importing, "check_limits", lambda payload: [])(check)()


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


@given(st.lists(anything, max_size=4))
def test_what_is_no_stream_is_refused(messages: list[Any]) -> None:
    payload, diagnostics = from_messages(messages)
    assert payload is None
    assert diagnostics
