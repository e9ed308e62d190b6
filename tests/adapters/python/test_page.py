"""The pages about nodes in Python: their code is code, and they leave nothing out."""

import inspect
import re
import zlib
from typing import Any

import weftwork
from tests.docs.pages import ROOT, blocks
from weftwork.adapters.python.calls.model_calls import AiAnswer, AiUsage, Envelope
from weftwork.adapters.python.declaration.decorator import NodeFunction, node, node_of
from weftwork.protocol.run.interrupts import INTERRUPT_KINDS
from weftwork.testing import TIMEOUT, Asset, run_node

PAGE = (ROOT / "docs" / "extend" / "node.md").read_text("utf-8")
MODELS = (ROOT / "docs" / "extend" / "ai-node.md").read_text("utf-8")
MEDIA = (ROOT / "docs" / "extend" / "media.md").read_text("utf-8")
QUESTIONS = (ROOT / "docs" / "extend" / "questions.md").read_text("utf-8")


def nodes_on(page: str) -> list[tuple[str, Any]]:
    """The nodes that the code on a page makes: their types, and what they are made of."""
    made: list[NodeFunction] = []
    for block in blocks(page):
        if block.language == "py":
            names: dict[str, Any] = {"weftwork": weftwork, "__name__": "page"}
            exec(compile(block.code, "page", "exec"), names)
            made += [found for value in names.values() if (found := node_of(value)) is not None]
    return [(found.declaration.type_id, found.function) for found in made]


def test_the_code_on_the_page_makes_nodes() -> None:
    assert [type_id for type_id, _ in nodes_on(PAGE)] == ["acme.bill", "acme.charge"]


def test_the_node_that_asks_can_be_run() -> None:
    ((type_id, order),) = nodes_on(QUESTIONS)
    assert type_id == "acme.order"
    votes = [{"action": "accept", "voter": voter} for voter in ("ann", "cyd")]
    answers: dict[str, Any] = {
        "details": {"answers": {"size": "large", "colour": "red"}},
        "buy": votes,
        "paid": {"order": 7, "amount": 20},
    }
    result = run_node(order, inputs={"item": "door"}, answers=answers)
    assert result.outputs == {"bought": True, "order": 7, "paid": True}
    assert result.asked[1].data["artifactData"]["price"] == 20
    assert run_node(order, inputs={"item": "door"}, answers={**answers, "paid": TIMEOUT}).outputs["paid"] is False
    assert run_node(order, inputs={"item": "door"}, answers={**answers, "buy": TIMEOUT}).outputs["bought"] is False


def test_every_option_of_a_question_is_explained() -> None:
    for name in ("interrupt", "approve", "clarify", "wait_for_event"):
        (row,) = re.findall(rf"^\| `({name}\(.*?)` \|", QUESTIONS, re.MULTILINE)
        parameters = [*inspect.signature(getattr(weftwork.Context, name)).parameters][1:]
        everywhere = {"timeout", "default", "remind_after"}
        assert [each for each in parameters if each not in everywhere and not re.search(rf"\b{each}\b", row)] == []
        assert [each for each in everywhere if f"`{each}`" not in QUESTIONS] == []


def test_the_node_that_asks_a_model_can_be_run() -> None:
    ((type_id, read_mail),) = nodes_on(MODELS)
    assert type_id == "acme.read-mail"
    model = ['{"article": "chair", "amount": 2}', "Two chairs."]
    result = run_node(read_mail, inputs={"mail": "Two chairs, please."}, model=model)
    assert result.outputs == {"article": "chair", "letter": "Two chairs."}


def test_every_option_of_a_call_of_a_model_is_explained() -> None:
    for name in ("call_ai", "generate_envelope"):
        options = [*inspect.signature(getattr(weftwork.Context, name)).parameters][1:]
        assert [each for each in options if not re.search(rf"`(.*\W)?{each}\W", MODELS)] == []


def test_every_member_of_an_answer_is_explained() -> None:
    for kind in (AiAnswer, Envelope, AiUsage):
        names = [name for name in dir(kind) if not name.startswith("_")]
        assert [name for name in names if f"`{name}`" not in MODELS] == []


def test_the_node_that_shows_media_can_be_run() -> None:
    ((type_id, receipt),) = nodes_on(MEDIA)
    assert type_id == "acme.receipt"
    result = run_node(receipt, inputs={"photo": Asset(b"photo" * 99)})
    assert zlib.decompress(result.media[0].data) == b"photo" * 99


def test_everything_about_media_is_explained() -> None:
    for name in ("emit_image", "emit_audio", "emit_file", "read_media"):
        (row,) = re.findall(rf"^\| `({name}\(.*?)` \|", MEDIA, re.MULTILINE)
        parameters = [*inspect.signature(getattr(weftwork.Context, name)).parameters][1:]
        assert [each for each in parameters if not re.search(rf"\b{each}\b", row)] == []
    for kind in (weftwork.Media, weftwork.MediaContent):
        assert [name for name in kind.__struct_fields__ if f"`{name}`" not in MEDIA] == []


def test_every_kind_of_question_is_explained() -> None:
    assert [kind for kind in INTERRUPT_KINDS if f"`{kind}`" not in QUESTIONS] == []


def test_every_member_of_the_context_is_explained() -> None:
    table = PAGE.partition("## The context")[2].partition("\n## ")[0]
    rows = " ".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE))
    # The first column of the table: names in code, with or without what they take.
    explained = set(re.findall(r"(?:^|`|\W)([a-z_]+)(?=[`(,.]|\()", rows))
    members = {name for name in dir(weftwork.Context) if not name.startswith("_")}
    assert members <= explained | {"log"}
    assert "log.debug" in rows


def test_every_option_of_the_decorator_is_shown() -> None:
    shown = next(block.code for block in blocks(PAGE) if block.language == "py")
    options = [name for name in inspect.signature(node).parameters if name != "type_id"]
    assert not [name for name in options if f"    {name}=" not in shown]


def test_every_public_name_for_nodes_is_on_the_page() -> None:
    names = [name for name in weftwork.__all__ if name not in ("Host", "Settings")]
    assert not [name for name in names if name not in PAGE]
