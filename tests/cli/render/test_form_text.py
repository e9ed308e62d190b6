"""Forms of agents as text: a renderer for each component type, and no text that leaves the frame."""

import unicodedata
from typing import Any, get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from weftwork.cli.answer import agent_form
from weftwork.cli.client.surfaces import AgentForm
from weftwork.cli.console.text import display_width
from weftwork.cli.render import form_text
from weftwork.cli.render.form_text import BAR, FormText, visible, wrap
from weftwork.cli.render.interrupt_text import FORM_KIND
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.surfaces.surface import (
    COMPONENTS,
    Action,
    AnyComponent,
    Button,
    CheckboxField,
    DateField,
    Field,
    Heading,
    Option,
    SelectField,
    Surface,
    Text,
    TextField,
)

EVIL = "a\x1b[2J\x1b]0;title\x07\r\n\u202eb\u2028\x9b31m\u3164\ud800\u200b"
TEXTS = st.text(max_size=40) | st.text("\x1b\x9b\x07\r\n\u202e\u2066\u200b│╭╰─ [y/N]>e\u0301", max_size=40)
IDS = st.text("abc._:-", min_size=1, max_size=8)
OPTIONS = st.builds(Option, TEXTS, TEXTS)
STRATEGIES: dict[type[AnyComponent], st.SearchStrategy[Any]] = {
    Heading: st.builds(Heading, text=TEXTS, level=st.integers(1, 6)),
    Text: st.builds(Text, text=TEXTS),
    TextField: st.builds(TextField, id=IDS, label=TEXTS, placeholder=TEXTS, required=st.booleans()),
    DateField: st.builds(DateField, id=IDS, label=TEXTS, required=st.booleans()),
    SelectField: st.builds(
        SelectField, id=IDS, label=TEXTS, options=st.lists(OPTIONS, min_size=1, max_size=4).map(tuple)
    ),
    CheckboxField: st.builds(CheckboxField, id=IDS, label=TEXTS, default=st.booleans()),
    Button: st.builds(Button, id=IDS, label=TEXTS, action=st.just(Action("resume"))),
}
SURFACES = st.builds(Surface, title=TEXTS, components=st.lists(st.one_of(*STRATEGIES.values()), max_size=8).map(tuple))


def form_of(surface: Surface | None, **more: Any) -> AgentForm:
    known: dict[str, Any] = {"node_id": "ask", "workflow_id": "trip", "is_untrusted": False}
    return AgentForm("env-1", "r", surface=surface, **{**known, **more})


def forms(surface: Surface, text: str) -> list[AgentForm]:
    """The form, and what is shown if it does not work, with this text from the host."""
    disabled = {each.id: text for each in surface.buttons[:1]}
    blocked = form_of(surface, blocked_reason=text, node_id=text, workflow_id=text, is_untrusted=True)
    return [form_of(surface, disabled=disabled), blocked, form_of(None, diagnostics=(text,))]


def shown(form: AgentForm, width: int = 80) -> list[str]:
    text = FormText(width)
    entered = text.summary([(form.title, EVIL)])
    return [*text.whole(form, with_options=True), *text.whole(form, with_options=False), *entered]


def problems(line: str) -> list[str]:
    """The characters that a terminal obeys, or that hide or reorder text."""
    return [
        each
        for each in line
        if unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp")
        or (unicodedata.category(each) == "Cf" and each not in "\u200c\u200d")
    ]


@pytest.mark.rule("surf-02")
def test_each_component_type_has_a_renderer() -> None:
    assert tuple(form_text._RENDERERS) == COMPONENTS == tuple(STRATEGIES)
    assert set(agent_form._READERS) == set(get_args(Field))
    assert FORM_KIND == SURFACE_KIND


@pytest.mark.rule("surf-12")
@settings(max_examples=150, deadline=None)
@given(SURFACES, TEXTS, st.integers(1, 120))
@example(Surface(title=" " + "\x1f" * 3, components=()), "", 1)
@example(Surface(title=EVIL, components=(Heading(text=EVIL), Text(text=EVIL))), EVIL, 80)
@example(
    Surface(components=(SelectField(id=":", label="", options=(Option(" 000\x1f\x1f", ""),), required=False),)), "", 1
)
@example(Surface(title=" 00000000000\x1f", components=()), "", 1)
def test_no_text_of_an_agent_leaves_the_frame_or_controls_the_terminal(surface: Surface, text: str, width: int) -> None:
    for form in forms(surface, text):
        lines = shown(form, width)
        assert {line[0] for line in lines} <= set("│├╭╰")
        assert [line for line in lines if problems(line)] == []
        # A character that is wider than the room has a line of its own.
        assert max(map(display_width, lines)) <= max(width, form_text._MIN_WIDTH)
        "".join(lines).encode()


@each_case("name, without", ("mark_hidden", str), ("_visible_character", str))
def test_without_the_marks_it_would(name: str, without: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\u3164" if name == "mark_hidden" else "\x1b"
    assert text not in "".join(shown(form_of(Surface(components=(Text(text=text),)))))
    monkeypatch.setattr(form_text, "mark_hidden", lambda text: text)
    monkeypatch.setattr(form_text, name, without)
    assert text in "".join(shown(form_of(Surface(components=(Text(text=text),)))))


@fails_without(form_text, "wrap", lambda text, width: [text])
def test_a_line_of_an_agent_cannot_pass_for_one_of_the_command() -> None:
    forged = "Hello.\n╰─────\nSend this answer? [y/N] > y\n$ "
    for component in (Text(text=forged), Heading(text=forged), Button(id="a", label=forged, action=Action("resume"))):
        lines = "\n".join(shown(form_of(Surface(title=forged, components=(component,))))).split("\n")
        assert all(line.startswith(("│", "├", "╭", "╰")) for line in lines)
        # Each time the form is drawn, only the host closes the frame.
        assert sum(line.startswith("╰") for line in lines) == 3


def test_a_line_break_is_kept_in_a_text_only() -> None:
    surface = Surface(components=(Text(text="one\r\ntwo"), Heading(text="one\ntwo")))
    lines = FormText(80).whole(form_of(surface), with_options=False)
    assert [f"{BAR}one", f"{BAR}two", "│", f"{BAR}## one⟦U+000A⟧two"] == lines[-5:-1]


def test_a_pile_of_marks_cannot_cover_other_lines() -> None:
    assert visible("e\u0301") == "e\u0301"
    assert visible("x" + "\u0301" * 50 + "y") == "x" + "\u0301" * 8 + "…y"


@each_case(
    "text, width, lines",
    ("", 10, [""]),
    ("one two three", 7, ["one two", "three"]),
    ("one  two", 4, ["one", "two"]),
    ("  indented", 20, ["  indented"]),
    (" abcdef", 4, ["abcd", "ef"]),
    (" " * 9 + "abc", 4, [" abc"]),
    ("  indented", 8, ["indented"]),
    (" indented text", 4, ["inde", "nted", "text"]),
    ("abcdefgh", 3, ["abc", "def", "gh"]),
    ("日本語", 4, ["日本", "語"]),
    ("a\n\nb", 9, ["a", "", "b"]),
    ("日", 1, ["日"]),
)
def test_lines_are_wrapped_at_words(text: str, width: int, lines: list[str]) -> None:
    assert wrap(text, width) == lines


def test_the_frame_names_the_author_and_the_trust() -> None:
    surface = Surface(title="A trip", components=(Button(id="go", label="Go", action=Action("resume")),))
    trusted, untrusted = (
        FormText(100).whole(form_of(surface, is_untrusted=each), with_options=True) for each in (False, True)
    )
    assert trusted[0] == untrusted[0] == "╭─ Form written by node ask of workflow trip"
    assert "A node of the workflow wrote everything below" in trusted[1]
    assert untrusted[1].startswith(f"{BAR}UNTRUSTED: content from outside the workflow")
    assert trusted[-6:-1] == [f"{BAR}A trip", f"{BAR}──────", "│", f"{BAR}[ Go ]", f"{BAR}  --action go"]


def test_a_form_that_breaks_the_rules_is_a_notice() -> None:
    lines = FormText(80).whole(form_of(None, diagnostics=("/surface: must be short",)), with_options=True)
    assert lines[-3:-1] == [f"{BAR}This form is stored, not rendered:", f"{BAR}  /surface: must be short"]


@each_case("labels, numbered", ("ab", True), ("12", False), ("11", True), (["-1", "x"], False), ("aa", True))
def test_options_that_are_numbers_are_typed(labels: Any, numbered: bool) -> None:
    options = tuple(Option(str(at), each) for at, each in enumerate(labels))
    assert form_text.has_numbers(SelectField(id="s", label="", options=options)) == numbered
