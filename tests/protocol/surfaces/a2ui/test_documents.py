"""A2UI messages as bytes, and the public module."""

import contextlib
import inspect
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weftwork.a2ui
from tests.harness.cases import each_case
from weftwork.a2ui import decode_messages, encode_messages
from weftwork.protocol.errors import ClientFault

PUBLIC = (
    "BASIC_CATALOG_ID BASIC_CATALOG_IDS MEDIA_TYPE OPENWOP_CATALOG_ID VERSIONS Diagnostic decode_messages "
    "encode_messages export_losses fold_action from_messages openwop_catalog to_messages"
).split()

documents = st.dictionaries(
    st.text(st.characters(codec="ascii"), max_size=3).map(lambda name: f"n{name!r}"), st.integers(0, 9), max_size=3
)


@given(st.lists(documents, min_size=1, max_size=4))
def test_messages_come_back_from_lines(messages: list[Any]) -> None:
    data = encode_messages(messages)
    assert data.count(b"\n") == len(messages)
    assert decode_messages(data) == messages
    assert decode_messages(json.dumps(messages).encode()) == messages
    assert decode_messages(json.dumps({"messages": messages}, indent=1).encode()) == messages


@each_case(
    "data, message",
    (b"", "not valid JSON"),
    (b"{\n}\nx", "not valid JSON at line 3"),
    (b"{}\n{}\n{", "Line 3: "),
    (b'{}\n{"a": 1, "a": 2}', "Line 2: An object repeats"),
    (b"[1, 2\n3]", "not valid JSON at line 2"),
)
def test_what_is_not_json_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ClientFault) as caught:
        decode_messages(data)
    assert message in caught.value.message


@given(st.binary(max_size=40))
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    with contextlib.suppress(ClientFault):
        assert isinstance(decode_messages(data), list)


def test_the_public_names_are_stable_and_documented() -> None:
    assert sorted(weftwork.a2ui.__all__) == sorted(PUBLIC)
    for name in weftwork.a2ui.__all__:
        value = getattr(weftwork.a2ui, name)
        if inspect.isroutine(value) or inspect.isclass(value):
            assert inspect.getdoc(value), name
    assert weftwork.a2ui.MEDIA_TYPE == "application/a2ui+json"
