"""The page as a host sends it: headers, escaping, bounds, persons, and its reference."""

import base64
import contextlib
import hashlib
import html
import http.client
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example
from hypothesis import strategies as st

from tests.adapters.http.page.page_tree import Element, parse, shape
from tests.adapters.http.page.sample_questions import (
    CANARY,
    KINDS,
    PAYLOADS,
    POLYGLOTS,
    approval,
    clarification,
    interrupt_document,
    quorum,
    text_paths,
    with_text,
    with_text_everywhere,
)
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import for_all
from tests.live import Host, open_in_process
from tests.live.host import TIMEOUT_SECONDS
from tests.live.steering import cancel, flow, interrupt_node, register
from tests.live.tokens import approval_workflow, created_link
from weftwork.adapters.http.page import form_body, form_view, markup, pages, site, value_view
from weftwork.adapters.http.page.layout import CONTENT_TYPE
from weftwork.adapters.http.page.outcome_view import Decision
from weftwork.adapters.http.page.pages import ADVISED_CODES
from weftwork.adapters.http.page.site import STYLESHEET
from weftwork.engine.api.interrupts import Interrupts
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.forms import fields
from weftwork.protocol.forms.answer import resume_value
from weftwork.protocol.forms.fields import MAX_FORM_OPTIONS, SHORT_TEXT
from weftwork.protocol.forms.plan import plan_for
from weftwork.protocol.forms.visible_text import HIDDEN_CHARACTERS, mark_hidden
from weftwork.protocol.json import caller_schema
from weftwork.protocol.people.answer_pages import InterruptOutcome, PageContext

FULL = os.environ.get("WEFTWORK_PROOF") == "full"
ELEMENTS = set(
    "html head meta title style body header strong main h1 h2 h3 h4 p section div dl dt dd time bdi span ul li pre "
    "code form fieldset legend label input select option textarea button details summary a footer".split()
)
ATTRIBUTES = set(
    "lang dir charset name content class id for type value checked selected required autofocus rows step min max "
    "spellcheck autocapitalize autocomplete method action accept-charset datetime href open disabled role aria-label "
    "aria-describedby aria-invalid title placeholder hidden".split()
)
ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|#39|#96);)")


def check(document: bytes) -> Element:
    """The page holds nothing but what this host puts into pages."""
    tree = parse(document)
    source = document.decode()
    assert source.count("<style>") == source.count("</style>") == 1
    for element in tree.all():
        assert element.name in ELEMENTS | {""}, element.name
        assert set(element.attributes) <= ATTRIBUTES, element.attributes
        assert re.fullmatch(r"(#[a-z0-9.]+)?", element.get("href")), element.get("href")
        assert element.name != "form" or (element.get("action"), element.get("method")) == ("token", "post")
    before, _, after = source.partition("</style>")
    assert not ENTITY.search(before.partition("<style>")[0] + after)
    return tree


def stand_in(text: str) -> str:
    """A harmless text of the same length, lines and hidden characters."""
    return "".join(each if each.isspace() or HIDDEN_CHARACTERS.match(each) else "x" for each in text)


def render(question: dict[str, Any]) -> bytes:
    return pages.render_question(question, "token")


def test_the_corpus_is_large() -> None:
    assert len(PAYLOADS) == len(set(PAYLOADS)) >= 130
    assert sum(len(text_paths(question)) for question in KINDS.values()) >= 200


@each_case("name", *KINDS)
def test_each_place_takes_text_only(name: str) -> None:
    """Of the short proof, each place takes one of the texts."""
    payloads = [*POLYGLOTS, PAYLOADS[0]]
    for number, place in enumerate(text_paths(KINDS[name])):
        for payload in payloads if FULL else [payloads[number % len(payloads)]]:
            tree = check(render(with_text(KINDS[name], place, payload)))
            assert shape(tree) == shape(check(render(with_text(KINDS[name], place, stand_in(payload))))), place


@each_case("name", *KINDS)
def test_all_places_take_text_only(name: str) -> None:
    """Of the short proof, each kind takes its share of the texts."""
    step = 1 if FULL else 8
    for payload in PAYLOADS[list(KINDS).index(name) % step :: step]:
        tree = check(render(with_text_everywhere(KINDS[name], payload)))
        assert shape(tree) == shape(check(render(with_text_everywhere(KINDS[name], stand_in(payload))))), payload


def done(text: str) -> bytes:
    """The page after an answer, with this text wherever it has text that is not its own."""
    context = PageContext(text, text, 1_000_000)
    votes = ((text, "accept"), (text, "reject"))
    outcome = InterruptOutcome("open", text, context, "approval", None, text, text, False, True, votes, 3, text)
    return pages.render_receipt(
        outcome, with_text_everywhere(KINDS["approval"], text), Decision({"action": text}, text)
    )


def ended(text: str) -> bytes:
    """The page of a link whose question is closed, in the same way."""
    context = PageContext(text, text, 1_000_000)
    outcome = InterruptOutcome(
        "resolved", text, context, "approval", "accepted", text, text, False, False, ((text, "accept"),), 3
    )
    return pages.render_outcome(outcome)


@each_case("payload", *PAYLOADS[:: 1 if FULL else 4], *POLYGLOTS)
def test_other_pages_take_text_only(payload: str) -> None:
    for document in (
        done(payload),
        ended(payload),
        pages.render_refusal(ClientFault("forbidden", payload)),
        pages.render_refusal(invalid(payload)),
        pages.render_question(
            KINDS["clarification"], "token", [("f0", payload), ("action", payload)], invalid(payload)
        ),
        pages.render_question(KINDS["clarification"], "token", [("f8", payload), (payload, payload)], None),
        pages.render_question(KINDS["approval"], "token", [("comment", payload)], invalid("x", field=payload)),
    ):
        check(document)


@example(text="<>\"'`&lt;")
@for_all(300, text=st.text())
def test_escaped_text_reads_as_the_text_with_its_hidden_characters_shown(text: str) -> None:
    escaped = markup.escape(text)
    assert not set(escaped) & set("<>\"'`")
    assert not ENTITY.search(escaped)
    assert not HIDDEN_CHARACTERS.search(escaped)
    assert html.unescape(escaped) == mark_hidden(text)
    escaped.encode()


def test_without_the_escaping_the_proof_is_red(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "escape", lambda text: text.encode("utf-8", "replace").decode())
    seen = 0
    for payload in PAYLOADS:
        try:
            same = shape(check(render(with_text_everywhere(KINDS["approval"], payload)))) == shape(
                check(render(with_text_everywhere(KINDS["approval"], stand_in(payload))))
            )
        except AssertionError:
            same = False
        seen += not same
    assert seen >= 90


@pytest.mark.parametrize("dropped", ["<", ">", '"', "&"])
def test_one_character_that_is_not_escaped_is_seen(monkeypatch: pytest.MonkeyPatch, dropped: str) -> None:
    table = {code: entity for code, entity in markup._ENTITIES.items() if code != ord(dropped)}
    monkeypatch.setattr(markup, "_ENTITIES", table)
    with pytest.raises(AssertionError):
        test_escaped_text_reads_as_the_text_with_its_hidden_characters_shown()


@each_case("payload", *PAYLOADS[:: 1 if FULL else 4])
def test_what_a_question_says_can_be_read(payload: str) -> None:
    for question, place in (
        (KINDS["approval"], ("data", "title")),
        (KINDS["one question"], ("data", "questions", 0, "question")),
    ):
        assert mark_hidden(payload) in check(render(with_text(question, place, payload))).text


def test_an_address_is_shown_and_leads_nowhere() -> None:
    tree = check(render(with_text_everywhere(KINDS["approval"], CANARY)))
    assert CANARY in tree.text
    assert tree.named("a") == []


def test_every_page_of_the_host_has_the_headers_once(host: Host) -> None:
    run_id = host.create(register(host, approval_workflow("page-headers")))
    path = created_link(host, run_id)["path"]
    for address, status in ((path, 200), (path + "x", 404)):
        connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=TIMEOUT_SECONDS)
        with contextlib.closing(connection):
            connection.request("GET", address, headers={"Accept": "text/html"})
            answer = connection.getresponse()
            assert answer.status == status
            for name, value in site.HEADERS:
                assert answer.headers.get_all(name.decode()) == [value.decode()]
    cancel(host, run_id)


async def broken(*_: Any) -> Any:
    raise RuntimeError("broken")


async def away(*_: Any) -> Any:
    raise StoreUnavailable("away")


@pytest.mark.parametrize(("fault", "status", "said"), [(broken, 500, b"went wrong"), (away, 503, b"is busy")])
async def test_a_person_is_told_of_a_fault_of_the_host_on_a_page(
    monkeypatch: pytest.MonkeyPatch, fault: Any, status: int, said: bytes
) -> None:
    async with open_in_process(flow("page-fault", [interrupt_node("ask")])) as inside:
        made = await inside.call("POST", "/v1/runs", {"workflowId": "page-fault"})
        shown = await inside.call("GET", f"/v1/runs/{made.document['runId']}")
        path = f"/v1/interrupts/{shown.document['interrupt']['interruptToken']}"
        monkeypatch.setattr(Interrupts, "read_by_token", fault)
        form = {"content-type": "application/x-www-form-urlencoded"}
        for method, headers in (("GET", {"accept": "text/html"}), ("POST", form)):
            answer = await inside.call(method, path, headers=headers)
            assert (answer.status, answer.headers["content-type"]) == (status, CONTENT_TYPE.decode())
            assert said in answer.body
        program = await inside.call("GET", path)
        assert (program.status, program.headers["content-type"]) == (status, "application/json")


HEADERS = {name.decode(): value.decode() for name, value in site.HEADERS}
PAGES = {
    **{name: pages.render_question(question, "token") for name, question in KINDS.items()},
    "done": done("running"),
    "refusal": pages.render_refusal(ClientFault("forbidden", "no")),
}


def directives() -> dict[str, str]:
    pairs = [part.strip().partition(" ") for part in HEADERS["content-security-policy"].split(";")]
    return {name: value for name, _, value in pairs}


def sheet_fits(document: bytes) -> bool:
    (style,) = parse(document).named("style")
    digest = base64.b64encode(hashlib.sha256(style.text.encode()).digest()).decode()
    return directives()["style-src"] == f"'sha256-{digest}'"


def test_nothing_is_allowed_but_the_sheet_and_the_form() -> None:
    found = directives()
    style = found.pop("style-src")
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", style)
    assert found == {
        "default-src": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }


def test_the_other_headers() -> None:
    assert {name: value for name, value in HEADERS.items() if name != "content-security-policy"} == {
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "x-robots-tag": "noindex",
    }
    assert CONTENT_TYPE == b"text/html; charset=utf-8"


@each_case("name", *PAGES)
def test_the_policy_lets_the_sheet_in(name: str) -> None:
    assert sheet_fits(PAGES[name])


def test_another_sheet_is_not_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "STYLESHEET", STYLESHEET + " ")
    assert not sheet_fits(done("running"))


def test_the_sheet_loads_nothing() -> None:
    assert not re.search(r"url\(|@import|@font-face|expression|javascript|//|<|\\", STYLESHEET)


def colours(dark: bool) -> dict[str, str]:
    light, _, rest = STYLESHEET.partition("@media (prefers-color-scheme:dark)")
    found = dict(re.findall(r"--([a-z-]+):(#[0-9a-f]{3,6})", light.partition("*,")[0]))
    return {**found, **dict(re.findall(r"--([a-z-]+):(#[0-9a-f]{3,6})", rest))} if dark else found


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(each * 2 for each in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


TEXTS = (
    "ink/ground ink/card ink/workflow ink/wrong soft/ground soft/card soft/workflow accent/ground accent/card "
    "accent/workflow accent-ink/accent go-ink/go stop/card stop/workflow stop/wrong"
).split()
LINES = "edge/card edge/workflow workflow-edge/ground workflow-edge/workflow stop/ground go/ground go/card".split()


@each_case("dark", False, True)
@each_case("pair, least", *((pair, 4.5) for pair in TEXTS), *((pair, 3.0) for pair in LINES))
def test_colours_stand_out_as_wcag_asks(pair: str, least: float, dark: bool) -> None:
    one, other = (colours(dark)[name] for name in pair.split("/"))
    assert contrast(one, other) >= least, round(contrast(one, other), 2)


def test_contrast_is_reckoned_as_wcag_does() -> None:
    assert contrast("#000", "#fff") == 21
    assert round(contrast("#767676", "#ffffff"), 2) == 4.54


LONG = 90
WORDS = [[f"{which}-{place}" for place in range(LONG)] for which in range(20)]
NUMBERS = [list(range(which, which + LONG)) for which in range(20)]


def listed(question: dict[str, Any]) -> int:
    """The options of all fields of the page."""
    tree = parse(pages.render_question(question, "token"))
    choices = [each for each in tree.named("option") if each.get("value")]
    return len(choices) + len([each for each in tree.named("input") if each.get("type") == "checkbox"])


def questions(*schemas: dict[str, Any]) -> dict[str, Any]:
    return clarification(*((f"q{place}", "Which?", schema) for place, schema in enumerate(schemas)))


def members(*schemas: dict[str, Any]) -> dict[str, Any]:
    properties = {f"p{place}": schema for place, schema in enumerate(schemas)}
    return interrupt_document("custom", {"customKind": "c"}, resumeSchema={"type": "object", "properties": properties})


@each_case("made", questions, members)
@each_case("listing", WORDS, NUMBERS)
def test_a_form_lists_so_many_options_and_the_rest_is_written(made: Any, listing: list[list[Any]]) -> None:
    question = made(*({"enum": each} for each in listing))
    assert MAX_FORM_OPTIONS - LONG < listed(question) <= MAX_FORM_OPTIONS
    first, *_, last = plan_for(question).buttons[0].fields
    assert (first.control, len(first.options)) == ("choice", LONG)
    assert (last.control, last.options) == ("line" if listing is WORDS else "json", ())


def test_several_of_a_list_count_as_well() -> None:
    question = questions(*({"type": "array", "items": {"enum": each}} for each in WORDS))
    assert MAX_FORM_OPTIONS - LONG < listed(question) <= MAX_FORM_OPTIONS
    assert plan_for(question).buttons[0].fields[-1].control == "json"


def test_without_the_bound_there_would_be_more(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fields.OptionBudget.options

    def endless(room: fields.OptionBudget, schema: Any) -> list[fields.Option]:
        return whole(fields.OptionBudget(), schema)

    monkeypatch.setattr(fields.OptionBudget, "options", endless)
    assert listed(questions(*({"enum": each} for each in WORDS))) == len(WORDS) * LONG
    with pytest.raises(AssertionError):
        test_several_of_a_list_count_as_well()


@each_case("listing, text", (WORDS, "19-4"), (NUMBERS, "23"))
def test_what_is_written_is_still_held_to_the_list(listing: list[list[Any]], text: str) -> None:
    question = questions(*({"enum": each} for each in listing))
    fields = plan_for(question).buttons[0].fields
    sent = [(field.name, "0" if field.options else str(field.schema["enum"][4])) for field in fields if field.schema]
    assert dict(sent)["f19"] == text
    assert resume_value(question, sent)["answers"]["q19"] == listing[19][4]
    with pytest.raises(ClientFault, match="question 20 must be one of"):
        resume_value(question, [*sent[:-1], ("f19", "100000")])


def test_yes_and_no_are_few() -> None:
    question = questions(*({"type": "boolean"} for _ in range(50)))
    assert {each.control for each in plan_for(question).buttons[0].fields} == {"choice"}


def test_a_view_checks_no_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were checked when it was asked."""
    for name in ("analyze_schema", "_compile_caller_schema"):
        monkeypatch.setattr(caller_schema, name, forbidden)
    looked_at(questions({"type": "string", "maxLength": 17}, {"enum": [1, 2]}))
    looked_at(members({"type": "integer"}))
    looked_at(
        interrupt_document(
            "conversation.exchange", {"conversationId": "c", "prompt": "?", "outcomeSchema": {"type": "null"}}
        )
    )


def test_a_look_that_checks_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.protocol.forms.plan._without_schemas", lambda data: data)
    with pytest.raises(AssertionError):
        test_a_view_checks_no_schema(monkeypatch)


def looked_at(question: dict[str, Any]) -> None:
    assert not plan_for(question).is_malformed
    pages.render_question(question, "token")


def forbidden(*_: Any) -> Any:
    raise AssertionError("a schema was checked")


@each_case("action, said", ("accept", "approved"), ("reject", "rejected"))
@fails_without("weftwork.adapters.http.page.question_view.has_voted", lambda *_: False)
def test_who_has_voted_is_told_so(action: str, said: str) -> None:
    tree = parse(pages.render_question({**quorum(), "voted": action}, "token"))
    assert f"You have {said}. Sending the form again changes your vote." in tree.text
    assert tree.named("h1")[0].text == "You have already voted"
    assert [each.get("value") for each in tree.named("button")] == ["accept", "reject"]


@each_case("kind", *KINDS)
def test_it_says_who_asks_and_as_whom_one_answers(kind: str) -> None:
    text = parse(pages.render_question({**KINDS[kind], "for": "Ada <b>"}, "token")).text
    assert "From ask, in the workflow sales" in text
    assert "You are answering as" in text
    assert "Ada <b>" in text
    assert "You are answering as" not in parse(pages.render_question(KINDS[kind], "token")).text


TEXT = (Path(__file__).parents[4] / "docs" / "reference" / "answer-page.md").read_text("utf-8")


def test_headers() -> None:
    rows = dict(re.findall(r"^\| `([A-Za-z-]+)` \| `([^`]+)` \|$", TEXT, re.MULTILINE))
    said = {name.lower(): value for name, value in rows.items()}
    sent = {name.decode(): re.sub(r"sha256-[^']+", "sha256-…", value.decode()) for name, value in site.HEADERS}
    assert said == sent


def test_bounds() -> None:
    for bound in (
        form_body.MAX_FORM_BYTES,
        form_body.MAX_FIELDS,
        form_body.MAX_NAME,
        form_body.MAX_VALUE,
        value_view.MAX_CHARACTERS,
        SHORT_TEXT,
    ):
        assert re.search(rf"(?<![\d,]){bound:,}(?![\d,])", TEXT), bound
    assert form_view.MAX_RADIO_OPTIONS == 7
    assert "if there are eight or more options" in TEXT


def test_refusals() -> None:
    rows = set(re.findall(r"^\| `([a-z_]+)` \|", TEXT.partition("## Refusals")[2], re.MULTILINE))
    assert rows <= set(ADVISED_CODES)
    assert {code for code in ADVISED_CODES if code.startswith("interrupt_")} <= rows


@each_case(
    "artifact_id, shown",
    ("ask", "Approve the offer"),
    ("ask-2", "Approve the offer"),
    ("offerOfMarch", "Offer of march"),
    ("asked", "Asked"),
)
def test_an_artifact_has_the_name_that_its_author_gave(artifact_id: str, shown: str) -> None:
    question = approval()
    question["data"] = {**question["data"], "artifactId": artifact_id}
    page = pages.render_question(question, "token", context=PageContext("Sales", "Approve the offer", 1_000_000))
    assert re.search(rf"<dt>Artifact</dt><dd><bdi[^>]*>{shown}</bdi>", page.decode())
    assert question["runId"] not in page.decode()
