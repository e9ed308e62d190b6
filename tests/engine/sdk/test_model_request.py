"""Requests to models: where media stand in a conversation, and what is put around texts."""

from typing import Any

import pytest

from weftwork.engine.sdk.model_request import append_media, make_message, wrap_text_part
from weftwork.ports.models import Message, UnresolvedMessage

PART = {"type": "image", "mediaRef": "a"}
OTHER = {"type": "image", "mediaRef": "b"}
TEXT = {"type": "text", "text": "Look."}
USER = Message("user", "Look.")
MODEL = Message("assistant", "Yes?")


@pytest.mark.rule("media-52")
@pytest.mark.parametrize(
    ("messages", "text", "parts"),
    [
        ([], "", (PART,)),
        ([USER], "Look.", (TEXT, PART)),
        ([MODEL], "", (PART,)),
        ([MODEL, Message("user", "")], "", (PART,)),
        ([MODEL, UnresolvedMessage("user", "Look.", (OTHER, TEXT))], "Look.", (OTHER, TEXT, PART)),
    ],
)
def test_media_stand_in_the_last_message_of_the_user(
    messages: list[Message], text: str, parts: tuple[Any, ...]
) -> None:
    *earlier, last = append_media(messages, [PART])
    assert earlier == [each for each in messages if each.role != "user"]
    assert last == UnresolvedMessage("user", text, parts)


def test_without_media_a_conversation_stays_as_it_is() -> None:
    assert append_media([USER, MODEL], []) == (USER, MODEL)
    assert append_media([], ()) == ()


@pytest.mark.rule("ai-03")
def test_texts_alone_are_wrapped() -> None:
    odd: list[Any] = [PART, "text", {"type": "text", "text": 1}, {"type": "text"}]
    assert [wrap_text_part(each, str.upper) for each in [TEXT, *odd]] == [{**TEXT, "text": "LOOK."}, *odd]
    made = make_message("user", [TEXT, PART], str.upper)
    assert made == UnresolvedMessage("user", "LOOK.", ({**TEXT, "text": "LOOK."}, PART))
    assert make_message("user", "Look.", str.upper) == Message("user", "LOOK.")
    assert make_message("user", "Look.") == USER
