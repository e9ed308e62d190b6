# pyright: reportPrivateUsage=false
"""Every hand-written scanner of the source, with adversarial inputs, or the reason why it needs none.

A case calls scanners through the function that uses them, with texts that repeat what makes them start again: openings
that are never closed, escapes, separators, members whose names become equal.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from tests.house.linear_text.pattern_table import Input
from weftwork import settings_file
from weftwork.adapters.http.page import form_body, value_view
from weftwork.adapters.http.page.messages import load_messages
from weftwork.adapters.http.routes import interrupts
from weftwork.adapters.providers import scripted
from weftwork.adapters.providers.openai_compatible.event_stream import EventReader
from weftwork.cli.client import event_stream
from weftwork.cli.commands import models
from weftwork.cli.console import table, text
from weftwork.cli.imports import media_packing
from weftwork.cli.render import form_text, interrupt_text, node_type_details
from weftwork.protocol.envelopes import answer_documents, checks, completion, partial_surface
from weftwork.protocol.envelopes.text import extraction, repair
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.expressions import cost, faults, template
from weftwork.protocol.forms import visible_text
from weftwork.protocol.forms.visible_text import readable_name
from weftwork.protocol.json import decoder, pieces, pointers, source_locations
from weftwork.protocol.media import asset_headers, asset_references, inline_media, media_types, media_urls
from weftwork.protocol.models import prompt_composition, prompt_templates
from weftwork.protocol.net import target
from weftwork.protocol.people import interrupt_tokens
from weftwork.protocol.privacy import credential_patterns, credential_redaction, redaction, trust
from weftwork.protocol.privacy.questions import QuestionMatcher
from weftwork.protocol.privacy.secret_matcher import HoldBack, SecretMatcher, redact_value, replace_literals
from weftwork.protocol.review import bundle_media
from weftwork.protocol.review.bundle_import import replace_texts
from weftwork.protocol.spelling import did_you_mean
from weftwork.protocol.surfaces import a2ui
from weftwork.protocol.surfaces.a2ui import markdown as a2ui_markdown
from weftwork.protocol.surfaces.a2ui import texts as a2ui_texts
from weftwork.protocol.wire import streams

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Case:
    covers: tuple[str, ...]
    """The scanners that this case goes through."""
    prepare: Callable[[Any], Callable[[], Any]]
    """Makes a call from an input."""
    inputs: tuple[Any, ...]
    """Inputs, or functions from a length to what `prepare` takes."""

    def call(self, given: Any, length: int) -> Callable[[], Any]:
        made = given.text(length) if isinstance(given, Input) else given(length)
        call = self.prepare(made)

        def guarded() -> None:
            try:
                call()
            except (ClientFault, faults.ExpressionFault, target.OutboundRefused, event_stream.FrameTooLarge):
                return

        return guarded


def case(covers: str, process: Callable[..., Any], *inputs: Any) -> Case:
    """A case for a function of one argument."""
    made = [Input(each) if isinstance(each, str) else each for each in inputs]
    return Case(tuple(covers.split()), lambda given: partial(process, given), tuple(made))


def encoded(process: Callable[[bytes], Any]) -> Callable[[str], Any]:
    return lambda given: process(given.encode("utf-8", "surrogatepass"))


def _matcher(*secrets: str) -> SecretMatcher:
    made = SecretMatcher()
    for secret in secrets:
        made.learn_secret("s", secret)
    made.learn_value("***", ["aaaa", "[REDACTED:x", "s" * 80])
    return made


def _mask_with_media(given: str) -> None:
    matcher = credential_redaction.CredentialMatcher()
    matcher.learn_asset(bytes(32))
    matcher.learn_credentials(["sk-aaaaaaaaaaaa"])
    matcher.mask_counted(given)


def _asset_urls(length: int) -> str:
    tokens = (
        asset_references.AssetToken("p", bytes(32), f"run-{number}", "image/png") for number in range(length // 150)
    )
    return " ".join(f"/assets/{asset_references.encode_asset_token('k', each, bytes(32))}" for each in tokens)


def _stream(secret: str, given: str, step: int) -> None:
    hold = HoldBack([secret, "ssab", "ssss"])
    for at in range(0, len(given), step):
        hold.release(given[at : at + step])
    hold.release("", last=True)


def _hold_case(given: str) -> None:
    _stream("s" * (len(given) + 9), given, 16)
    _stream("sx" + "s" * len(given), given, len(given))
    _stream("s" * (len(given) // 2) + "x", given, 16)


def _feed(given: str) -> None:
    parser = event_stream.FrameParser()
    data = given.encode()
    for at in range(0, len(data), 8):
        parser.feed(data[at : at + 8])
    event_stream.FrameParser().feed(data)


def _read_events(given: str) -> None:
    data = given.encode()
    for size in (8, len(data) or 1):
        reader = EventReader()
        for at in range(0, len(data), size):
            list(reader.feed(data[at : at + size]))
        list(reader.end())


def _fill_a2ui(given: str) -> None:
    with contextlib.suppress(a2ui_texts.NotText):
        a2ui_texts.resolve_text({"call": "formatString", "args": {"value": given}}, lambda path: path)


def _read_a2ui(given: str) -> None:
    a2ui.from_messages([{"version": "v0.9", "updateDataModel": {"surfaceId": "s", "path": given, "value": given}}])


def _elide(given: str) -> None:
    elider = inline_media.Base64Elider()
    for at in range(0, len(given), 16):
        elider.feed(given[at : at + 16])
    inline_media.Base64Elider().feed(given)


def _inline(given: str) -> None:
    spans = inline_media.find_inline_media(given, 0, 4, None)
    inline_media.replace_inline_media(given, spans, {})
    inline_media.truncate_inline_media(given, 64, everywhere=True)
    inline_media.elide_base64(given, 64)


def _hide(given: Mapping[str, Any]) -> None:
    visible = redaction._hide_places(given, "", {f"/{name}/a": "x" for name in given}, [])
    search = redaction._CopySearch(QuestionMatcher(), ())
    search.hide(visible, "")
    for name in given:
        search.hidden_whole.isdisjoint(redaction._ancestors(f"/{name}/a"))


def _compose(given: str) -> None:
    made = prompt_templates.PromptTemplate("t", "1.0.0", "user", "x", ())
    prompt_composition.compose(made, given, {}, lambda variable: prompt_composition.Binding("v"))


def _extract(given: str) -> None:
    extraction.extract_value(given, clean=True)
    extraction.extract_envelopes(given, clean=True)
    extraction.repair_document(given)
    answer_documents.read_text(given + '"type" "error"')
    extraction.holds_document(given)


def _read_partial_surface(given: str) -> None:
    surface = partial_surface.PartialSurface()
    for at in range(0, len(given), 64):
        surface.add(given[at : at + 64])


def _echo(given: str) -> None:
    completion.remove_prompt_echo(given, [given, given[:20], "a" * 30])


def _names(length: int) -> dict[str, int]:
    return {"s" * 80 + str(number): number for number in range(length // 8)}


def _members(length: int) -> dict[str, Any]:
    return {str(number): {"a": number, "b": "text"} for number in range(length // 8)}


_OPENINGS = ("{", "[", '{"', '["', '{"a":', "[{", '"', '\\"', "{'", "{a:", "{/*", "[//", "\u201c", "{ ", "[ ")
_PROSE = (
    Input("~", after="{"),
    Input("`", after="{"),
    "~~~\n",
    "~~~\n{\n~~~\n",
    Input("~", "", "\n{"),
    "```\n[1]\n",
    "[1] ",
    Input('{"a":[', after=""),
    Input("[", after="]"),
    Input('\\"', '{"'),
    Input("a ", "{"),
    Input(" ", "{"),
    '{"a":1} ',
    Input("[0,", "[", "x"),
    Input("/* */ ", "{"),
    Input("/*", "{"),
    Input("//\n", "{"),
    Input("'a',", "['a',"),
    Input("a:1,", "{"),
    Input("-", "[1"),
    Input("\n", "```"),
    Input(" {", "{'"),
    "x",
    "\n~~~",
    "   ```\n",
)
_TEMPLATES = (
    Input('\\"', '{{"', ""),
    Input('\\"', '{{"'),
    Input("\\'", "{{'"),
    Input('\\"""', '{{"""'),
    Input("\\'''", "{{'''"),
    Input('r"', "{{"),
    Input("{{a}}"),
    Input("{", "{{"),
    Input("}", "{{{"),
    Input('"\\""', "{{"),
    Input("'\"", "{{"),
    Input('"\n', "{{"),
    Input("//\n", "{{"),
    Input("a ", "{{"),
    Input("{{"),
    Input("br'", "{{"),
    Input("\\\"'", '{{"'),
)
_BASE64_TEXTS = (
    "A",
    "A" * 39 + "\n",
    "A" * 80 + "\n",
    'base64":"',
    "data:image/png;base64,AAAA",
    "data:a/b;base64,",
    "A\\n",
    "\\",
    '{"type":"media.image","payload":{"base64":"AAAAAAAAAAAA"}}',
    Input("A", "data:image/png;base64,"),
    "base64",
    "=",
    Input("AAAA\\n", 'base64":"'),
    "AAAA BBBB ",
)
_MARKERS = ("<", "&lt;", "&amp;", "&amp;lt;", "<unt", "<U", "\\u003c", "&", "%25", "<\u200b", "< ", "&#0", "<UNTRUSTE")
_CREDENTIALS = ("sk-", "sk-" + "a" * 20 + " ", "://a:b@", "eyJ", "Bearer ", " PRIVATE KEY-----", "CANARY-", "a", "-")
_HOLD = ("s", "sx", "ssss", "ssa", "x", "ssab")

CASES: tuple[Case, ...] = (
    # Answers of models.
    case(
        """protocol/envelopes/text/extraction.py:_strict_candidates
        protocol/envelopes/text/extraction.py:_repaired_candidates
        protocol/envelopes/text/extraction.py:repair_document protocol/envelopes/answer_documents.py:may_hold_envelopes
        protocol/envelopes/text/extraction.py:split_sections
        protocol/envelopes/text/extraction.py:balanced_spans
        protocol/envelopes/text/extraction.py:find_closing_bracket""",
        _extract,
        *_PROSE,
        *_OPENINGS,
    ),
    case(
        """protocol/envelopes/partial_surface.py:PartialSurface._read""",
        _read_partial_surface,
        *_OPENINGS,
        Input('{"component":"text","text":"}"},', '{"catalogVersion":"0.9.1","surface":{"components":['),
        Input("}", '{"catalogVersion":"'),
    ),
    case(
        """protocol/envelopes/text/repair.py:_RepairPass.run
        protocol/envelopes/text/repair.py:_RepairPass._value
        protocol/envelopes/text/repair.py:_RepairPass._text_or_word""",
        lambda given: (repair.repair(given, clean=True), repair.repair("{" + given)),
        *(Input(each, "{", "") for each in _OPENINGS),
        Input("/* */ ", "{"),
        Input("'a':'b',", "{"),
        Input("a:1,", "{"),
        Input("1,", "["),
        Input("[", "["),
        Input(" ", "["),
        Input("/*", "["),
        Input("\\'", "['"),
        Input("//\n", "{"),
        Input("a", "{"),
        Input("1", "["),
    ),
    case(
        """protocol/envelopes/completion.py:_fold protocol/envelopes/completion.py:_find_quotations
        protocol/envelopes/completion.py:_masked_parts""",
        _echo,
        "a",
        "ab",
        " ",
        "\u0130",
        "a" * 23 + "b",
        LETTERS,
    ),
    case(
        """protocol/media/inline_media.py:Base64Elider.feed protocol/media/inline_media.py:Base64Elider._spans""",
        _elide,
        *_BASE64_TEXTS,
    ),
    case(
        """protocol/media/inline_media.py:_media_spans protocol/media/inline_media.py:_data_url_start
        protocol/media/inline_media.py:replace_inline_media""",
        _inline,
        *_BASE64_TEXTS,
    ),
    case("protocol/envelopes/checks.py:is_instant", checks.is_instant, "0", Input("0", "2026-02-29T00:00:00.", "Z")),
    case("", scripted.split_words, " ", "a ", "a", Input(" ", "a"), Input(" ", after="")),
    # Definitions: expressions, templates, prompts.
    case(
        "protocol/expressions/template.py:split_template protocol/expressions/template.py:_expression_end",
        template.split_template,
        *_TEMPLATES,
    ),
    case(
        "protocol/expressions/cost.py:count_states", cost.count_states, "\\p{", "[", "(", "a{9}", "[\\p{", "\\Q", "[[:a"
    ),
    case(
        "protocol/expressions/faults.py:evaluation_fault",
        lambda given: faults.evaluation_fault(given, frozenset("a")),
        faults._KEY,
        "overload for '",
        "overloads found : ",
        "overloads found : a(",
        Input('"', faults._KEY),
    ),
    case(
        "",
        lambda given: faults.compile_fault(given, ("a",)),
        "<input>:1:1: ",
        "recursion ",
        "overload for 'a' applied to '(",
    ),
    case(
        "protocol/models/prompt_composition.py:extract_path",
        lambda given: prompt_composition.extract_path({}, given),
        "a",
        ".a",
        "[0]",
        "[",
        Input("1", "$["),
    ),
    case(
        "protocol/models/prompt_composition.py:compose",
        _compose,
        "{{",
        "{{a}}",
        "{{ ",
        Input(" ", "{{"),
        "{{{",
        lambda n: "".join(f"{{{{v{each}}}}}" for each in range(n // 8)),
    ),
    case(
        "protocol/models/prompt_templates.py:_precedence",
        prompt_templates._precedence,
        Input("a.", "1.0.0-", "a"),
        Input("a", "1.0.0-", ""),
    ),
    # What callers send: bodies, headers, URLs, names.
    case(
        "protocol/json/decoder.py:_check_values",
        encoded(decoder.decode),
        Input('"a",', "[", "1]"),
        Input("[", "", ""),
        Input("1,", "[", "1]"),
        Input("\\\\", '["', '"]'),
        lambda n: msgspec.json.encode(_members(n)).decode(),
        lambda n: msgspec.json.encode(_names(n)).decode(),
    ),
    case(
        "adapters/http/page/form_body.py:decode_form",
        encoded(form_body.decode_form),
        "a=b&",
        "%",
        "%20",
        "&",
        Input("%20", "a="),
        Input("+", "a="),
        Input("a", "a="),
    ),
    case("protocol/forms/visible_text.py:readable_name", readable_name, "a", "aB", "a_", Input("Ab", "a")),
    case(
        "adapters/http/page/value_view.py:render_paragraphs",
        lambda given: value_view.render_paragraphs(given, value_view.DisplayBudget(load_messages(), 10**9)),
        "\n",
        "\n ",
        "\r",
        Input(" ", "\n", "x"),
        "a\n\n",
        " \n",
        "<",
    ),
    case(
        "protocol/surfaces/a2ui/markdown.py:_references protocol/surfaces/a2ui/markdown.py:escape_markdown",
        a2ui_markdown.escape_markdown,
        "\n",
        " ",
        "\n ",
        "a\n",
        "* ",
        Input(" ", after="a"),
    ),
    case(
        "protocol/surfaces/a2ui/texts.py:_fill protocol/surfaces/a2ui/texts.py:_closing",
        _fill_a2ui,
        "${a}",
        "\\${",
        "}",
        "$",
        Input("${a}", after="${"),
        Input("a", "${"),
    ),
    case("protocol/surfaces/a2ui/streams.py:_Stream.read", _read_a2ui, "a", "\\", "\u20ac", "[", Input("a", "\0")),
    case("protocol/forms/visible_text.py:_json_escape", visible_text.json_text, "\u200b", "\U000e0001", "a"),
    case(
        "adapters/http/routes/interrupts.py:prefers",
        interrupts.prefers_html,
        ",",
        ";",
        "a;q=",
        ";q=1",
        " ",
        "a/b,",
    ),
    case("protocol/wire/streams.py:wants_json", streams.wants_json, ",", ";", " ", "a/b;q=1,"),
    case(
        "",
        lambda given: asset_headers.parse_byte_range(given, 9),
        "bytes=",
        "0-",
        Input(" ", "bytes=0-"),
        Input("0", "bytes="),
    ),
    case("", lambda given: asset_headers.is_not_modified(given, '"a"'), '"', "W/", '"a", ', Input("a", '"')),
    case(
        "",
        interrupt_tokens.mask_tokens,
        "a",
        "a.",
        "aaaa.",
        "%2E",
        "a" * 43 + ".",
        Input("a", "/", "."),
        Input("a", after=".%2"),
    ),
    case("", interrupt_tokens.decode_token, "a", "a.", Input("a", "aaaa.")),
    case(
        "protocol/net/target.py:parse_target protocol/net/target.py:_remove_dot_segments",
        lambda given: (
            target.resolve_reference(target.RequestTarget("https", "a", 443, "/b"), given),
            target.parse_target(f"https://{given}", target.OutboundPolicy()),
        ),
        "a",
        "../",
        "./",
        "/",
        "a.",
        "[",
        ":",
        "?",
        "#",
        "@",
        Input("../", "/a/"),
        "\u3002",
    ),
    case(
        "protocol/media/media_urls.py:find_url_secret",
        lambda given: media_urls.find_url_secret(given, lambda text: False, lambda text: False),
        Input("a=b&", "https://a?"),
        Input("%25", "https://a?"),
        "@",
        "&",
        ";",
        Input("/", "https://"),
        Input("=", "https://a?"),
    ),
    case(
        "protocol/media/asset_headers.py:sanitize_name protocol/media/asset_headers.py:_shorten_name",
        lambda given: (asset_headers.sanitize_name(given), asset_headers.safe_file_name(given)),
        "a",
        ".",
        " ",
        "\u202e",
        "é",
        "\U0001f9f6",
        "/",
    ),
    case(
        """protocol/media/media_types.py:sniff_media_type protocol/media/media_types.py:_active_markup
        protocol/media/media_types.py:_sniff_iso_media protocol/media/media_types.py:_decode_head""",
        encoded(media_types.sniff_media_type),
        "<!---->",
        "<!--",
        "<",
        " ",
        "<a ",
        Input("a", "<"),
        Input(" ", "{"),
        Input("\0", "\0\0\2\0ftyp"),
        "\xff",
        "é",
    ),
    case("", media_types.canonical_media_type, "a", "a/", "/", ";", Input(" ", after="a/b")),
    # What the log hides: credentials, secrets, markers, media.
    case(
        """protocol/privacy/credential_patterns.py:may_hold_credential
        protocol/privacy/credential_patterns.py:_find_in_pieces
        protocol/privacy/credential_patterns.py:find_credentials""",
        lambda given: (
            credential_patterns.may_hold_credential(given.encode()),
            list(credential_patterns.find_credentials([given])),
            credential_redaction.mask_credentials_in_text(given),
        ),
        *_CREDENTIALS,
    ),
    case(
        """protocol/privacy/secret_matcher.py:SecretMatcher.mask_counted
        protocol/privacy/secret_matcher.py:_KeptMarkers.__init__""",
        lambda given: _matcher("bcabca" + "abc" * (len(given) // 6), "abcab", "[RED").mask_counted(given),
        "abc",
        "a",
        "[REDACTED:x]",
        "[REDACTED:",
        "[",
        "s",
        "[REDACTED:aaaa]",
        "abcab",
    ),
    case(
        "",
        lambda given: [_matcher(given).is_absent(given), _matcher(given + "x").is_absent_in_json(given.encode())],
        "a",
        "ab",
        Input("a", "Bearer "),
        '\\"',
    ),
    case("", lambda given: redact_value(given, _matcher()), _names, _members, lambda n: ["aaaa"] * (n // 8)),
    case(
        "protocol/privacy/secret_matcher.py:HoldBack._may_begin protocol/privacy/secret_matcher.py:_longest_matches",
        _hold_case,
        *(Input(each, after="") for each in _HOLD),
    ),
    case(
        "protocol/privacy/secret_matcher.py:replace_literals", _mask_with_media, _asset_urls, "/assets/v1.", "assets/"
    ),
    case(
        "",
        lambda given: replace_literals(given, ["a" * (len(given) // 2) + "x", "aab", "ba"], "*"),
        "a",
        "aab",
        "b",
    ),
    case(
        "protocol/review/bundle_import.py:replace_texts",
        lambda given: replace_texts(given, [("a" * (len(given) // 2) + "x", "1"), ("aab", "2"), ("ba", "3")]),
        "a",
        "aab",
        "ba",
        "b",
    ),
    case(
        """protocol/privacy/redaction.py:_hide_places protocol/privacy/redaction.py:_ancestors
        protocol/privacy/redaction.py:Redactor._hide""",
        _hide,
        _members,
    ),
    case(
        """protocol/privacy/trust.py:neutralize_markers protocol/privacy/trust.py:_is_marker_name
        protocol/privacy/trust.py:_fold_character""",
        trust.neutralize_markers,
        *_MARKERS,
        Input("&amp;", "<"),
        Input("\u200b", "<"),
        Input("amp;", "&"),
        Input("25", "%"),
    ),
    case(
        """protocol/media/asset_references.py:find_asset_tokens
        protocol/media/asset_references.py:referenced_assets""",
        lambda given: (
            asset_references.find_asset_tokens(given),
            asset_references.referenced_assets(given.encode(), "p", inline=True),
            asset_references.rewrite_around_tokens(given, str),
        ),
        "assets/",
        "/assets/v1.",
        "assets\\",
        '"base64":"',
        "weftwork-asset:",
        "v1.",
        _asset_urls,
    ),
    case(
        "protocol/review/bundle_media.py:may_hold_media protocol/review/bundle_media.py:_in_pieces",
        lambda given: (bundle_media.may_hold_media(given.encode()), bundle_media.reference_media({"a": given}, None)),
        *_BASE64_TEXTS,
    ),
    case(
        "protocol/json/pieces.py:_parts",
        lambda given: list(pieces.encode_pieces({"inputs": msgspec.json.decode(given.encode())})),
        Input("1,", "[", "1]"),
        Input('"a",', "[", "1]"),
        Input("1,[],", "[", "1]"),
        Input("[1],", "[", "1]"),
    ),
    case(
        "cli/imports/media_packing.py:_asset_urls cli/imports/media_packing.py:_origin",
        lambda given: list(media_packing._asset_urls(given.encode())),
        "http://",
        "https://a/v1/host/weftwork/assets/",
        "/v1/host/weftwork/assets/v1.a.aaaa." + "a" * 43 + " ",
        "http://" * 40 + "/v1/host/weftwork/assets/v1.a.aaaa." + "a" * 43 + " ",
    ),
    # Pointers and locations.
    case(
        "settings_file.py:find_lines",
        settings_file.find_lines,
        "a = 1\n",
        "[a]\n",
        "[[a]]\n",
        "a.",
        "[",
        "{",
        "[a.",
        "a = [",
        "a = {a = ",
        '"',
        '"a" = "b"\n',
        '"""',
        "a = '''\n",
        "#",
        ",",
    ),
    case("protocol/json/pointers.py:split_pointer", pointers.split_pointer, "/", "/a", "~1", "~"),
    case(
        """protocol/json/source_locations.py:locate protocol/json/source_locations.py:_resolve
        protocol/json/source_locations.py:_scan protocol/json/source_locations.py:_to_locations
        protocol/json/source_locations.py:_find_unreadable""",
        lambda given: (
            source_locations.locate(given.encode(), ["/a", "/0/0", ""]),
            source_locations.locate_syntax_error(given.encode()),
            source_locations._find_unreadable(given),
        ),
        '"',
        '\\"',
        "{",
        '{"a":',
        "\n",
        " ",
        "1",
        "1 ",
        Input('\\"', '"'),
        Input("[", after="\x0b"),
        Input(" ", after="\x0b"),
        Input("\n1,", "[", "\n1]"),
        Input('"a":1,\n', "{", '"a":1}'),
    ),
    case("", lambda given: did_you_mean(given, [given[:-1], given[1:]] * 9), "a", "ab"),
    # What a model provider sends.
    case(
        "adapters/providers/openai_compatible/event_stream.py:EventReader._feed",
        _read_events,
        "a",
        "\n",
        "\r",
        "data: 1\n",
        "data: 1\n\n",
        "\r\n",
        ":",
    ),
    # What the command line reads from a host.
    case(
        "cli/client/event_stream.py:FrameParser.feed",
        _feed,
        "a",
        "\n",
        "\r",
        "data: 1\n",
        "data: 1\n\n",
        "\r\n",
        ":",
        "id: a\n",
    ),
    case("cli/commands/models.py:_escape_controls", models._escape_controls, "a", "\n", "\x1b"),
    case("cli/console/table.py:truncate", lambda given: table.truncate(given, 40, "..."), "a", "\u0301", "字"),
    case(
        "cli/console/text.py:printable cli/console/text.py:display_width",
        lambda given: (text.printable(given, 10**9), text.display_width(given)),
        "a",
        "\x1b",
        "字",
        "\u0301",
        " ",
    ),
    case(
        "cli/render/form_text.py:wrap cli/render/form_text.py:_wrap_line cli/render/form_text.py:_pieces "
        "cli/render/form_text.py:_limit_marks",
        lambda given: form_text.wrap(given, 40),
        "a",
        "\n",
        "\x1b",
        "字",
        "\u0301",
        "a ",
        " ",
    ),
    case(
        "cli/render/node_type_details.py:node_type_lines",
        lambda given: (list(node_type_details.node_type_lines({"description": given})),),
        "```json\n",
        "\n```",
        "\n",
        " ",
        "a\n",
        Input("```json\n", after="\n```"),
    ),
    case(
        "cli/render/interrupt_text.py:describe_interrupt cli/render/interrupt_text.py:_member_lines",
        lambda given: interrupt_text.describe_interrupt({"kind": "approval", "data": {"prompt": given, "x": given}}),
        "\n",
        "a",
        "a\n",
        "\x1b",
    ),
)

_ITEMS = "goes through items, not through a text"
_ONCE = "divides a text once and reads each part once"
_SHORT = "reads a text with a small fixed limit"
_OWN = "reads a text of the host, of its settings or of the person who runs the command"
_BUFFER = "fills or empties a buffer in blocks; what is copied is bounded by the block"

NOT_MEASURED: dict[str, str] = {
    "adapters/admin/client.py:send_request": _BUFFER,
    "adapters/blobs/local.py:LocalSink._write": "writes what the system did not take; it takes all but the last block",
    "adapters/blobs/memory.py:_Sink.write": _BUFFER,
    "adapters/blobs/memory.py:_Source.read": _BUFFER,
    "adapters/blobs/spool.py:Spool._flush": "writes what the system did not take; it takes all but the last block",
    "adapters/http/response_writer.py:ResponseWriter.write_available": _BUFFER,
    "adapters/http/response_writer.py:ResponseWriter.write_part": _BUFFER,
    "adapters/http/routes/assets.py:_expected_digests": _ONCE,
    "adapters/http/routes/host_info.py:StaticDocument.respond": _ONCE,
    "adapters/http/routes/interrupts.py:_kinds": _ONCE,
    "adapters/http/routes/runs.py:_statuses": _ONCE,
    "adapters/outbound/body.py:_GzipDecoder.decompress_into": _BUFFER,
    "adapters/outbound/exchange.py:HttpExchange.send": _BUFFER,
    "adapters/outbound/exchange.py:_NetworkStream.read": "looks once for two short texts in each piece of a head",
    "adapters/providers/openai_compatible/answer.py:AnswerAssembler._add_tool_calls": _ITEMS,
    "adapters/providers/openai_compatible/provider.py:OpenAICompatibleProvider._check_status": _BUFFER,
    "adapters/providers/openai_compatible/provider.py:OpenAICompatibleProvider.generate": (
        "looks once for a short text in each event of the answer"
    ),
    "adapters/providers/schema_sample.py:_Sampler._definition": _ONCE,
    "adapters/python/declaration/module_loading.py:_is_standard": _OWN,
    "adapters/python/declaration/module_loading.py:load_module": _OWN,
    "adapters/python/declaration/node_discovery.py:_loaded_submodules": _OWN,
    "adapters/postgres/array_statements.py:_batch_parts": _OWN,
    "adapters/postgres/database/address.py:StoreAddress.__init__": _OWN,
    "adapters/postgres/database/address.py:StoreAddress.mask": "replaces a few spellings of one password, once each",
    "adapters/postgres/database/migrations.py:load_migrations": _OWN,
    "adapters/postgres/processes/hints.py:PostgresHints._deliver": _ONCE,
    "adapters/sqlite/database/connection.py:check_library": _OWN,
    "adapters/system/clock_and_ids.py:RandomIds.event_ids": _OWN,
    "adapters/system/faults.py:arm_points": _OWN,
    "cli/answer/agent_form.py:_entered": _ITEMS,
    "cli/answer/agent_form.py:_prompt_for_button": _OWN,
    "cli/answer/agent_form.py:_prompt_for_value": _OWN,
    "cli/answer/command_line.py:_edit": _OWN,
    "cli/answer/form.py:AnswerField._parse_text": _OWN,
    "cli/answer/prompt.py:TerminalPrompt.line": _OWN,
    "cli/answer/prompt.py:TerminalPrompt.confirm": _OWN,
    "cli/answer/prompt.py:TerminalPrompt.field": _OWN,
    "cli/answer/prompt.py:TerminalPrompt.text": _OWN,
    "cli/client/options.py:_suggest_from_host": _ITEMS,
    "cli/client/options.py:suggest_kinds": _ITEMS,
    "cli/client/options.py:suggest_statuses": _ITEMS,
    "cli/client/run_ids.py:match_prefix": _ITEMS,
    "cli/client/run_selection.py:branched_runs": _ITEMS,
    "cli/client/run_selection.py:select_runs": _ITEMS,
    "cli/client/transport.py:Transport._read": _BUFFER,
    "cli/commands/review/bundle.py:open_bundle": _ITEMS,
    "cli/commands/review/bundle.py:save": _SHORT,
    "cli/commands/new.py:_write": _OWN,
    "cli/compare/picture_size.py:_jpeg_size": "a segment is at least four bytes long, so each byte is read once",
    "cli/console/root_group.py:RootGroup.shell_complete": _ITEMS,
    "cli/follow/event_steps.py:_cut": "first cuts the line to the width of a terminal",
    "cli/follow/event_steps.py:_read_commands": _OWN,
    "cli/follow/event_steps.py:_typed_commands": _OWN,
    "cli/eval/sources.py:_lines": _OWN,
    "cli/render/bundle_file.py:annotation_lines": _SHORT,
    "cli/render/drawing.py:Lanes._links": "one character per lane of a drawing, whose lanes are limited",
    "cli/render/run_details.py:_interrupt_lines": _ONCE,
    "cli/render/run_display.py:RunDisplay._result": _ONCE,
    "cli/render/run_progress.py:_apply_node_event": _ITEMS,
    "engine/media/assets.py:Assets.put": _SHORT,
    "engine/media/assets.py:_chunks_of": _ITEMS,
    "engine/models/answer_stream.py:AnswerStream._end": "adds the rest of a character once, at the end of a stream",
    "engine/sdk/answer_attempts.py:AnswerAttempts.ask": _ITEMS,
    "engine/models/message_media.py:MessageMedia._resolve_own_url": _ITEMS,
    "engine/nodes/node_context.py:EntryContext._repeats_recorded_part": _SHORT,
    "ports/models.py:Message.media": _ITEMS,
    "protocol/review/compared_form.py:ComparedForm.without_ids": "replaces a few ids, once each",
    "ports/models.py:Message.text": _ITEMS,
    "protocol/envelopes/instructions.py:_safe_name": _SHORT,
    "protocol/expressions/syntax_tree.py:_fields": "reads the encoded tree of an expression, which has 8 KiB at most",
    "protocol/expressions/syntax_tree.py:_varint": "reads the encoded tree of an expression, which has 8 KiB at most",
    "protocol/expressions/template.py:Template.render": _ITEMS,
    "protocol/fold/facts.py:_map_item": _ITEMS,
    "protocol/fold/traversal.py:_end_round": _SHORT,
    "protocol/fold/traversal.py:_left_value": _ONCE,
    "protocol/models/answers.py:_mask_event": _ITEMS,
    "protocol/wire/openapi.py:_operation": _OWN,
    "protocol/wire/streams.py:chunk_frame": _ITEMS,
    "protocol/workflow/registration.py:_shorten_pointer": "a pointer of a definition, whose depth is limited to 64",
    "settings.py:_from_text": _OWN,
    "wiring/blob_store.py:_build_object_blobs": _OWN,
    "wiring/loop_activity.py:stage_of": "splits the name of a module, which has a few parts",
}
"""Functions that the scan finds and that need no measurement, with the reason."""
