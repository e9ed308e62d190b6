"""Chunks with nothing but text are decoded on a shorter path, which must give the same answer as the long one."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.cases import each_case
from weftwork.adapters.providers.openai_compatible.answer import (
    AnswerAssembler,
    InvalidChunk,
    TextChunk,
    decode_chunk,
    decode_document,
)

TEXT: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "tiny",
    "system_fingerprint": None,
    "choices": [
        {
            "index": 0,
            "delta": {"role": "assistant", "content": "x", "refusal": None},
            "logprobs": None,
            "stop_reason": None,
            "finish_reason": None,
        }
    ],
    "usage": None,
}


def encoded(document: Any) -> bytes:
    return json.dumps(document).encode()


@each_case(
    "choice, members",
    ({}, {"usage": {"prompt_tokens": 1}}),
    ({}, {"x_groq": {"usage": {"prompt_tokens": 1}}}),
    ({}, {"error": {"message": "overloaded"}}),
    ({}, {"choices": []}),
    ({}, {"model": None}),
    ({"finish_reason": "stop"}, {}),
    ({"index": 1}, {}),
    ({"content_filter_results": {"hate": {"filtered": True}}}, {}),
    ({"delta": {"content": "x", "refusal": "No."}}, {}),
    ({"delta": {"content": "x", "tool_calls": [{"index": 0}]}}, {}),
    ({"delta": {"content": None}}, {}),
    ({"delta": {"content": [{"type": "text", "text": "x"}]}}, {}),
    ({"delta": {"content": "x", "audio": {"data": "eA=="}}}, {}),
    ({"delta": None, "message": {"content": "x"}}, {}),
)
def test_a_chunk_with_anything_but_text_takes_the_long_path(choice: dict[str, Any], members: dict[str, Any]) -> None:
    assert isinstance(decode_chunk(encoded(TEXT)), TextChunk)
    assert isinstance(decode_chunk(encoded({**TEXT, "choices": [{**TEXT["choices"][0], **choice}], **members})), dict)


LOOSE = st.one_of(st.none(), st.booleans(), st.integers(-1, 2), st.text(max_size=3), st.just([]), st.just({}))
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "content": st.text() | LOOSE,
        "role": LOOSE,
        "refusal": LOOSE,
        "tool_calls": LOOSE,
        "images": LOOSE,
        "reasoning": LOOSE,
    },
)
CHOICES = st.fixed_dictionaries(
    {},
    optional={
        "delta": DELTAS | LOOSE,
        "index": LOOSE,
        "finish_reason": LOOSE,
        "logprobs": LOOSE,
        "message": DELTAS,
        "content_filter_results": LOOSE,
    },
)
CHUNKS = st.fixed_dictionaries(
    {},
    optional={
        "choices": st.lists(CHOICES, max_size=2) | LOOSE,
        "model": LOOSE,
        "usage": st.fixed_dictionaries({}, optional={"prompt_tokens": LOOSE}) | LOOSE,
        "x_groq": LOOSE,
        "created": LOOSE,
    },
)


def state(assembler: AnswerAssembler) -> tuple[Any, ...]:
    return assembler.model, assembler.finish_reason, assembler.end(), list(assembler.media())


@given(st.lists(CHUNKS, max_size=3))
def test_both_paths_give_the_same_answer(chunks: list[dict[str, Any]]) -> None:
    short, long = AnswerAssembler(), AnswerAssembler()
    for each in [{**TEXT}, *chunks]:
        found = decode_chunk(encoded(each))
        text = short.add_text(found) if isinstance(found, TextChunk) else short.add(found)
        assert text == long.add(decode_document(encoded(each)))
        assert state(short) == state(long)


@each_case("at", '"chatcmpl-1"', '"tiny"', '"assistant"', '"logprobs"')
@each_case("wrong", b"\xff", b"\xc3")
def test_a_chunk_that_is_not_utf_8_is_invalid_wherever_it_is_not(at: str, wrong: bytes) -> None:
    valid = encoded(TEXT)
    assert isinstance(decode_chunk(valid), TextChunk)
    with pytest.raises(InvalidChunk):
        decode_chunk(valid.replace(at.encode(), at.encode()[:-1] + wrong + b'"'))


def test_text_outside_ascii_takes_the_short_path() -> None:
    found = decode_chunk(msgspec.json.encode({**TEXT, "choices": [{"delta": {"content": "Grüße 🎈"}}]}))
    assert isinstance(found, TextChunk)
    assert AnswerAssembler().add_text(found) == "Grüße 🎈"
