"""`weftwork answer` and `weftwork inbox` with forms that agents wrote, as a host gives them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.answer import test_answer_terminal
from tests.cli.answer.test_answer import EVIL, GATE, QUESTIONS, RUN, asks, posted
from tests.cli.answer.test_answer_terminal import talk
from tests.cli.follow.test_run_hostile import Terminal
from tests.cli.foreign_host import CannedResponse, ForeignHost
from tests.harness.cases import each_case, fails_without
from weftwork.cli.client.surfaces import AgentForm
from weftwork.cli.render.interrupt_text import describe_interrupt, headline

SURFACE = "env-1"
PATH = f"/v1/host/weftwork/runs/{RUN}/surfaces/{SURFACE}"
BUTTONS: list[dict[str, Any]] = [
    {"component": "action.button", "id": "book", "label": "Book it", "action": {"target": "resume"}},
    {"component": "action.button", "id": "talk", "label": "Talk", "action": {"target": "exchange"}},
    {"component": "action.button", "id": "cancel", "label": "Cancel", "action": {"target": "resume"}},
]
CLASSES = [{"value": "y", "label": "Economy"}, {"value": "j", "label": "Business"}]
FIELDS: list[dict[str, Any]] = [
    {"component": "field.text", "id": "who", "label": "Who comes?", "placeholder": "Ada", "required": True},
    {"component": "field.date", "id": "when", "label": "Which day?"},
    {"component": "field.select", "id": "class", "label": "Class", "options": CLASSES},
    {"component": "field.checkbox", "id": "news", "label": "Newsletter", "default": True},
]
TALK_REASON = "This button belongs to a conversation, and this form does not."


def payload(*components: dict[str, Any], title: str = "A trip") -> dict[str, Any]:
    return {"catalogVersion": "0.9.1", "surface": {"title": title, "components": list(components)}}


FORM = payload(
    {"component": "heading", "text": "Your trip"},
    {"component": "text", "text": "Tell us.\nWe book it."},
    *FIELDS,
    *BUTTONS,
)
ASK: dict[str, Any] = {
    "interruptId": "ask.1",
    "nodeId": "ask",
    "kind": "custom",
    "key": "ask:0:envelope",
    "status": "open",
    "data": {"customKind": "ui.a2ui-surface", "payload": {"envelopeId": SURFACE, "title": "A trip"}},
    "resumeSchema": {"type": "object", "required": ["action"], "properties": {"action": {"type": "string"}}},
}


def asks_with_form(
    foreign: ForeignHost, interrupt: dict[str, Any] = ASK, form: Any = FORM, trust: str = "trusted", **more: Any
) -> None:
    """A run that asks with this form; the host has the routes of forms."""
    member = {"envelopeId": SURFACE, "contentTrust": trust, "payload": form}
    asks(foreign, {**interrupt, "surface": member}, status="waiting-input")
    actions = [
        {"id": each["id"], "label": each["label"], **({"disabledReason": TALK_REASON} if each["id"] == "talk" else {})}
        for each in BUTTONS
    ]
    view = {"surfaceId": SURFACE, "runId": RUN, "contentTrust": trust, "payload": form, "actions": actions}
    foreign.replies[f"GET {PATH}"] = CannedResponse(200, {**view, "status": "open", "render": True, **more})
    for each in BUTTONS:
        said = {"runId": RUN, "nodeId": interrupt["nodeId"], "status": "completed"}
        foreign.replies[f"POST {PATH}/actions/{each['id']}"] = CannedResponse(200, said)


def sit_down(foreign: ForeignHost, folder: Path, *args: str, **env: str) -> Terminal:
    """The command at a terminal of 100 columns, also where the tests run in one of another size."""
    return test_answer_terminal.sit_down(foreign, folder, *args, **{"COLUMNS": "100", **env})


def pressed(foreign: ForeignHost) -> tuple[str, Any]:
    """The id of the pressed button, and the values."""
    (asked,) = posted(foreign)
    assert asked.path.startswith(f"{PATH}/actions/")
    assert set(asked.body) == {"values"}
    assert len(asked.headers["idempotency-key"]) == 36
    return asked.path.rpartition("/")[2], asked.body["values"]


def test_a_form_is_filled_in_field_by_field(foreign: ForeignHost, tmp_path: Path) -> None:
    asks_with_form(foreign)
    terminal = sit_down(foreign, tmp_path)
    terminal.until("for example: Ada")
    assert "ask requests an answer to a form: A trip\r\n╭─ Form written by node ask of workflow w\r\n" in terminal.shown
    assert "│ # Your trip" not in terminal.shown
    assert "│ ## Your trip\r\n│\r\n│ Tell us.\r\n│ We book it.\r\n│\r\n│ Who comes? (required)\r\n" in terminal.shown
    rows = ["Who comes?: Ada", "Which day?: 2026-02-03", "Class: Business", "Newsletter: no", "Button: Book it"]
    summary = "│ Your answer:\r\n" + "".join(f"│   {each}\r\n" for each in rows)
    code = talk(
        terminal,
        ("│   > ", "\n"),
        ("│   a value is required; press Ctrl-C", "Ada\n"),
        ("│   a date such as 2026-01-31; optional > ", "2026-02-30\n"),
        ("│   The value must be a date such as 2026-01-31.", "2026-02-03\n"),
        ("│   1) Economy\r\n│   2) Business\r\n│   optional > ", "3\n"),
        ("│   The value is not one of the options.", "2\n"),
        ("│ Newsletter\r\n│   y or n; default: y > ", "maybe\n"),
        ("│   Enter y or n.", "n\n"),
        (f"│ 1) [ Book it ]\r\n│\r\n│ 2) [ Talk ]\r\n│   does not work: {TALK_REASON}\r\n", "2\n"),
        ("│   enter the number of a button that works: 1, 3", "1\n"),
        (f"{summary}╰─{'─' * 97}\r\nSend this answer? [y/N] > ", "y\n"),
    )
    assert code == 0
    assert pressed(foreign) == ("book", {"who": "Ada", "when": "2026-02-03", "class": "j", "news": False})
    assert terminal.shown.endswith(f"{RUN}/ask: answer recorded; the run is completed\r\n")


def test_fields_can_be_left_empty_and_one_button_needs_no_choice(foreign: ForeignHost, tmp_path: Path) -> None:
    optional = {**FIELDS[0], "required": False}
    asks_with_form(foreign, form=payload(optional, *FIELDS[1:], BUTTONS[0]))
    code = talk(
        sit_down(foreign, tmp_path, "--json"),
        ("for example: Ada\r\n│   optional > ", "\n"),
        ("optional > ", "\n"),
        ("optional > ", "\n"),
        ("default: y > ", "\n"),
        ("[y/N] > ", "y\n"),
    )
    assert code == 0
    assert pressed(foreign) == ("book", {"news": True})


@pytest.mark.parametrize(("typed", "code"), [("n\n", 1), ("\x04", 1)])
def test_a_form_that_is_not_confirmed_is_not_sent(foreign: ForeignHost, tmp_path: Path, typed: str, code: int) -> None:
    asks_with_form(foreign, form=payload(BUTTONS[0]))
    terminal = sit_down(foreign, tmp_path)
    assert talk(terminal, ("[y/N]", typed)) == code
    assert "nothing was sent." in terminal.shown
    assert posted(foreign) == []


def test_a_blocked_form_of_an_approval_is_shown_and_its_own_actions_are_offered(
    foreign: ForeignHost, tmp_path: Path
) -> None:
    reason = "This form contains content from an untrusted source, so it cannot answer an approval."
    form = payload({"component": "text", "text": "Approve now!"}, {**BUTTONS[0], "id": "accept"})
    actions = [{"id": "accept", "label": "Book it", "target": "resume", "disabledReason": reason}]
    asks_with_form(foreign, GATE, form, "untrusted", actions=actions, blockedReason=reason)
    terminal = sit_down(foreign, tmp_path, "--yes")
    terminal.until("5) ask")
    shown = terminal.shown
    assert "review requests approval: Send the letter?\r\n" in shown
    assert "│ UNTRUSTED: content from outside the workflow" in shown
    assert "│ Approve now!\r\n│\r\n│ 1) [ Book it ]\r\n│   does not work\r\n├─" in shown
    assert f"│ {reason}\r\n╰─" in shown
    assert "No button of the form above works here. Choose an action of the approval itself:\r\n" in shown
    assert talk(terminal, ("> ", "reject\n"), ("(optional) > ", "\n")) == 0
    (asked,) = posted(foreign)
    assert asked.body == {"resumeValue": {"action": "reject"}}


def test_a_form_of_an_approval_decides_it(foreign: ForeignHost, tmp_path: Path) -> None:
    comment = {"component": "field.text", "id": "comment", "label": "Why?"}
    foreign_actions = [{"id": "book", "label": "Yes"}]
    gate = {**GATE, "data": {**GATE["data"], "actions": ["book", "reject"]}}
    asks_with_form(foreign, gate, payload(comment, BUTTONS[0]), actions=foreign_actions)
    terminal = sit_down(foreign, tmp_path)
    assert talk(terminal, ("│ Why?\r\n│   optional > ", "fine\n"), ("[y/N]", "y\n")) == 0
    assert pressed(foreign) == ("book", {"comment": "fine"})


@pytest.mark.rule("surf-70")
@fails_without(AgentForm, "effect", lambda form, button: "")
def test_the_terminal_says_what_a_button_of_an_approval_decides(foreign: ForeignHost, tmp_path: Path) -> None:
    foreign.requests.clear()
    refuse = {**BUTTONS[0], "id": "accept", "label": "Reject it"}
    asks_with_form(foreign, GATE, payload(refuse), actions=[{"id": "accept", "label": "Reject it"}])
    shown = foreign.run_command("answer", RUN, "--show").stdout
    assert "│ [ Reject it ]\n│   --action accept\n│   means: Approve\n" in shown
    terminal = sit_down(foreign, tmp_path)
    assert talk(terminal, ("Send this answer, which means: Approve? [y/N]", "n\n")) == 1
    assert posted(foreign) == []


@each_case("options", ["--comment", "x"], ["--as", "ada"])
def test_options_of_the_approval_answer_the_approval(foreign: ForeignHost, tmp_path: Path, options: list[str]) -> None:
    foreign.requests.clear()
    asks_with_form(foreign, GATE, payload({**BUTTONS[0], "id": "accept"}), actions=[{"id": "accept"}])
    terminal = sit_down(foreign, tmp_path, "--yes", *options)
    terminal.until("does not take --comment, --data, --as or --override. Choose an action of the approval itself:")
    typed = [("5) ask", "1\n")] if options[0] == "--comment" else [("5) ask", "1\n"), ("(optional) > ", "x\n")]
    assert talk(terminal, *typed) == 0
    assert posted(foreign)[0].body["resumeValue"]["action"] == "accept"


def test_a_stored_form_that_breaks_the_rules_leaves_the_question(foreign: ForeignHost, tmp_path: Path) -> None:
    found = [{"pointer": "/surface/components", "rule": "maxItems", "message": "must have 200 or fewer items"}]
    schema = {"type": "object", "required": ["who"], "properties": {"who": {"type": "string"}}}
    ask = {**ASK, "resumeSchema": schema}
    asks_with_form(foreign, ask, payload(*BUTTONS), render=False, diagnostics=found)
    terminal = sit_down(foreign, tmp_path, "--yes")
    terminal.until("who")
    assert "│ This form is stored, not rendered:\r\n" in terminal.shown
    assert "│   /surface/components: must have 200 or fewer items\r\n" in terminal.shown
    assert "Book it" not in terminal.shown
    assert talk(terminal, ("who\r\n", "Ada\n")) == 0
    assert posted(foreign)[0].body == {"resumeValue": {"who": "Ada"}}


@each_case(
    "form, more, why",
    (payload({"component": "field.colour", "id": "c", "label": "C"}), {}, "parts that this version"),
    ({**FORM, "catalogVersion": "7"}, {}, "parts that this version"),
    (None, {}, "parts that this version"),
    (FORM, {"partial": True}, "not complete yet"),
)
def test_a_form_that_is_not_known_in_full_is_not_rendered(
    foreign: ForeignHost, form: Any, more: dict[str, Any], why: str
) -> None:
    asks_with_form(foreign, form=form, **more)
    done = foreign.run_command("answer", RUN, "--show")
    assert done.exit_code == 0
    assert "│ This form is stored, not rendered:\n│   " in done.stdout
    assert why in done.stdout
    assert foreign.run_command("answer", RUN, "--action", "book").exit_code == 2
    assert posted(foreign) == []


def test_options_press_a_button(foreign: ForeignHost) -> None:
    asks_with_form(foreign)
    line = ["--set", "who=Ada = Bob", "--set", "when= 2026-02-03", "--set", "class=Economy", "--set", "news=no"]
    done = foreign.run_command("answer", RUN, "--action", "book", *line)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"{RUN}/ask: answer recorded; the run is completed\n"
    values = {"who": "Ada = Bob", "when": "2026-02-03", "class": "y", "news": False}
    assert pressed(foreign) == ("book", values)


@each_case(
    "options, sent",
    (["--set", "who=Ada"], ("book", {"who": "Ada"})),
    (["--action", "book", "--set", "who=Ada", "--set", "when=", "--json"], ("book", {"who": "Ada"})),
)
def test_the_only_button_needs_no_name(foreign: ForeignHost, options: list[str], sent: Any) -> None:
    foreign.requests.clear()
    asks_with_form(foreign, form=payload(*FIELDS, BUTTONS[0], BUTTONS[1]))
    done = foreign.run_command("answer", RUN, *options)
    assert done.exit_code == 0
    assert pressed(foreign) == sent
    if "--json" in options:
        assert json.loads(done.stdout)["status"] == "completed"


@each_case(
    "options, said",
    (["--set", "who=Ada"], "name the button of the form with --action: book, cancel."),
    (["--action", "pay"], "the form has no button pay; choose book, cancel."),
    (["--action", "talk", "--set", "who=A"], f"the button talk does not work: {TALK_REASON}"),
    (["--action", "book"], "no value for who; add it with --set FIELD=VALUE. --show has the form."),
    (["--action", "book", "--set", "who= "], "no value for who;"),
    (["--action", "book", "--set", "size=1"], "the form has no field size; its fields are who, when, class, news."),
    (["--action", "book", "--set", "who"], "--set who must have the form FIELD=VALUE."),
    (["--action", "book", "--set", "when=tomorrow"], "--set when: The value must be a date such as 2026-01-31."),
    (["--action", "book", "--set", "class=z"], "--set class: The value is not one of the options; choose y, j."),
    (["--action", "book", "--set", "news=5"], "--set news: The value must be yes or no."),
    (["--action", "book", "--value", "{}"], "--value and --value-file have the whole answer;"),
    (["--action", "book", "--show"], "--show sends nothing; remove --show, or the other options."),
    ([], "--show shows the interrupt."),
)
def test_what_the_form_does_not_have_is_not_sent(foreign: ForeignHost, options: list[str], said: str) -> None:
    asks_with_form(foreign)
    done = foreign.run_command("answer", RUN, *options)
    assert done.exit_code == 2
    assert said in done.stderr
    assert posted(foreign) == []


@each_case(
    "interrupt, options, value",
    (ASK, ["--set", "action=book"], {"action": "book"}),
    (ASK, ["--value", '{"action": "book"}'], {"action": "book"}),
    (ASK, ["--without-form", "--set", "action=cancel"], {"action": "cancel"}),
    (GATE, ["--approve"], {"action": "accept"}),
    (GATE, ["--action", "reject", "--comment", "no"], {"action": "reject", "comment": "no"}),
    (
        {**QUESTIONS, "data": {"questions": [{"id": "who", "question": "Who?"}]}},
        ["--set", "who=Ada"],
        {"answers": {"who": "Ada"}},
    ),
)
def test_the_interrupt_itself_can_still_be_answered(
    foreign: ForeignHost, interrupt: dict[str, Any], options: list[str], value: Any
) -> None:
    foreign.requests.clear()
    asks_with_form(foreign, interrupt)
    done = foreign.run_command("answer", RUN, *options)
    assert (done.exit_code, done.stderr) == (0, "")
    (asked,) = posted(foreign)
    assert asked.body == {"resumeValue": value}
    # Also if the form cannot be read.
    assert PATH not in [each.path for each in foreign.requests]


def test_an_action_and_values_need_a_form(foreign: ForeignHost) -> None:
    asks(foreign, GATE)
    done = foreign.run_command("answer", RUN, "--action", "accept", "--set", "comment=x")
    assert done.exit_code == 2
    assert "this interrupt has no such form; pass one of them." in done.stderr


@each_case("options", ["--action", "accept", "--set", "x=1"], ["--set", "x=1"])
@each_case(
    "more, why",
    ({"blockedReason": "It is untrusted."}, "It is untrusted. Answer the interrupt itself: an approval with --approve"),
    ({"actions": []}, "no button of the form works here. Answer the interrupt itself"),
)
def test_a_form_without_a_button_that_works_says_what_to_do(
    foreign: ForeignHost, options: list[str], more: dict[str, Any], why: str
) -> None:
    asks_with_form(foreign, GATE, payload({**BUTTONS[0], "id": "accept"}), **more)
    done = foreign.run_command("answer", RUN, *options)
    assert done.exit_code == 2
    assert why in done.stderr
    assert posted(foreign) == []


def test_the_refusal_of_a_blocked_form_says_what_to_do(foreign: ForeignHost) -> None:
    asks_with_form(foreign, GATE, payload({**BUTTONS[0], "id": "accept"}), actions=[{"id": "accept"}])
    refusal = {"error": "untrusted_content_blocks_approval", "message": "This form contains untrusted content."}
    foreign.replies[f"POST {PATH}/actions/accept"] = CannedResponse(403, refusal)
    blocked = foreign.run_command("answer", RUN, "--action", "accept", "--set", "x=")
    assert blocked.exit_code == 2
    fields = payload(FIELDS[0], {**BUTTONS[0], "id": "accept"})
    asks_with_form(foreign, GATE, fields, actions=[{"id": "accept"}])
    foreign.replies[f"POST {PATH}/actions/accept"] = CannedResponse(403, refusal)
    blocked = foreign.run_command("answer", RUN, "--action", "accept", "--set", "who=Ada")
    assert blocked.exit_code == 7
    assert "pass --approve, --reject or --action without --set." in blocked.stderr


@each_case("status", 404, 405, 501)
def test_a_host_without_the_routes_of_forms_has_questions_only(foreign: ForeignHost, status: int) -> None:
    asks_with_form(foreign)
    foreign.replies[f"GET {PATH}"] = CannedResponse(status, {"error": "not_found", "message": "No."})
    done = foreign.run_command("answer", RUN, "--action", "book")
    assert done.exit_code == 2
    assert "the interrupt is not an approval but of kind custom" in done.stderr


def test_another_error_of_the_form_is_an_error(foreign: ForeignHost) -> None:
    asks_with_form(foreign)
    foreign.replies[f"GET {PATH}"] = CannedResponse(403, {"error": "forbidden", "message": "No."})
    assert foreign.run_command("answer", RUN, "--action", "book").exit_code == 7


def test_a_button_that_the_host_does_not_list_does_not_work(foreign: ForeignHost) -> None:
    asks_with_form(foreign, actions=[{"id": "cancel"}])
    done = foreign.run_command("answer", RUN, "--action", "book", "--set", "who=A")
    assert "the button book does not work: The host does not offer this button." in done.stderr


def test_the_form_can_be_read_without_answering(foreign: ForeignHost) -> None:
    asks_with_form(foreign, {**ASK, "interruptToken": "secret", "callbackUrl": "http://x/secret"}, trust="untrusted")
    done = foreign.run_command("answer", RUN, "--show")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("ask requests an answer to a form: A trip\n╭─ Form written by node ask of workflow w")
    for line in ("  --set who=TEXT", "  y: Economy", "  --set news=yes or news=no, default: yes", "  --action cancel"):
        assert f"│ {line}\n" in done.stdout
    as_json = foreign.run_command("answer", RUN, "--show", "--json").stdout
    assert json.loads(as_json)["surface"]["payload"] == FORM
    assert "secret" not in as_json
    assert posted(foreign) == []


def test_an_interrupt_without_a_form_can_be_read_too(foreign: ForeignHost) -> None:
    asks(foreign, GATE)
    done = foreign.run_command("answer", RUN, "--show")
    assert done.stdout.startswith("review requests approval: Send the letter?\n")
    assert "surface" not in json.loads(foreign.run_command("answer", RUN, "--show", "--json").stdout)


def evil_form(foreign: ForeignHost) -> None:
    option = {"value": EVIL, "label": EVIL}
    components: list[dict[str, Any]] = [
        {"component": "heading", "text": EVIL},
        {"component": "text", "text": EVIL},
        {**FIELDS[0], "label": EVIL, "placeholder": EVIL},
        {**FIELDS[1], "label": EVIL},
        {**FIELDS[2], "label": EVIL, "options": [option]},
        {**FIELDS[3], "label": EVIL},
        {**BUTTONS[0], "label": EVIL},
        {**BUTTONS[1], "label": EVIL},
    ]
    data = {"customKind": "ui.a2ui-surface", "payload": {"title": EVIL}}
    actions = [{"id": "book", "label": EVIL}, {"id": "talk", "label": EVIL, "disabledReason": EVIL}]
    asks_with_form(foreign, {**ASK, "data": data}, payload(*components, title=EVIL), EVIL, actions=actions)


def test_no_byte_of_an_agent_controls_the_terminal(
    foreign: ForeignHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil_form(foreign)
    written: list[str] = []
    read = Terminal.until

    def recording(terminal: Terminal, words: str) -> None:
        read(terminal, words)
        written.append(terminal.shown)

    monkeypatch.setattr(Terminal, "until", recording)
    terminal = sit_down(foreign, tmp_path)
    turns = [("│   > ", "Ada\n"), ("optional > ", "\n"), ("optional > ", "1\n"), ("default: y > ", "\n")]
    assert talk(terminal, *turns, ("[y/N] > ", "y\n")) == 0
    assert pressed(foreign) == ("book", {"who": "Ada", "class": EVIL, "news": True})
    shown = "".join([*written, terminal.shown]).replace("\r\n", "\n")
    assert [line for line in shown.split("\n") if not line.isprintable()] == []
    assert shown.count("⟦U+001B⟧[2J") > 10
    for done in (foreign.run_command("answer", RUN, "--show"), foreign.run_command("answer", RUN, "--action", "talk")):
        assert all(line.isprintable() for line in done.output.split("\n"))


def test_a_terminal_without_the_characters_of_the_frame_gets_others(foreign: ForeignHost, tmp_path: Path) -> None:
    asks_with_form(foreign, form=payload({"component": "text", "text": "größer"}, BUTTONS[0]))
    terminal = sit_down(foreign, tmp_path, "--yes", PYTHONIOENCODING="ascii")
    assert terminal.finish() == 0
    assert terminal.shown.isascii()
    assert "| gr\\xf6\\xdfer\r\n" in terminal.shown
    assert terminal.shown.count("+-") == 4


def test_the_inbox_says_that_an_agent_wrote_a_form(foreign: ForeignHost) -> None:
    member = {"envelopeId": SURFACE, "contentTrust": "untrusted", "payload": FORM}
    rows = [
        {**ASK, "runId": RUN, "surface": member},
        {**GATE, "runId": RUN, "surface": {**member, "payload": payload(title=EVIL)}},
        {**GATE, "runId": RUN},
    ]
    foreign.replies["GET /v1/host/weftwork/interrupts"] = CannedResponse(200, {"interrupts": rows})
    head, form, gate, plain = foreign.run_command("inbox").stdout.splitlines()
    assert head.split()[:4] == ["run", "node", "question", "form"]
    assert [each.strip() for each in form.split("  ") if each.strip()][2:4] == ["A trip", "untrusted"]
    assert "Send the letter?" in gate
    assert "untrusted, a⟦U+001B⟧[2J" in gate
    assert gate.isprintable()
    assert "trusted" not in plain
    foreign.replies["GET /v1/host/weftwork/interrupts"] = CannedResponse(200, {"interrupts": rows[2:]})
    assert "form" not in foreign.run_command("inbox").stdout


def test_a_form_is_mentioned_where_a_run_is_shown() -> None:
    member = {"envelopeId": SURFACE, "contentTrust": "trusted", "payload": FORM}
    assert headline(ASK) == "A trip"
    assert headline({**ASK, "data": {"customKind": "ui.a2ui-surface", "payload": {}}}) == "a form"
    note = "  form of an agent: trusted; `weftwork answer` shows it"
    assert describe_interrupt({**ASK, "surface": member}) == ["an answer to a form: A trip", note]
    talk_with_form = {**ASK, "kind": "conversation.exchange", "data": {"prompt": "Well?"}, "surface": member}
    lines = describe_interrupt(talk_with_form)
    assert lines[1:] == ["  action in the answer: string, required", note.replace("trusted", "trusted, A trip")]
    # The form is shown instead.
    assert describe_interrupt(talk_with_form, in_parts=True) == lines[:1]
