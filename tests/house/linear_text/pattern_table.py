# pyright: reportPrivateUsage=false
"""Every regular expression of the source, with adversarial inputs: the texts that would take it the longest.

An input has a part that is repeated, and what comes before and after it: by default nothing, and a NUL, with which no
repetition continues. Good inputs repeat what a repetition reads, or what a search may start with, and end so that the
match fails. `tests/house/linear_text/test_patterns.py` adds inputs that it derives from the parse tree.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from weftwork.protocol.envelopes.text import repair
from weftwork.protocol.media import inline_media
from weftwork.protocol.privacy import credential_patterns, trust
from weftwork.protocol.privacy.questions import QuestionMatcher


@dataclass(frozen=True)
class Input:
    repeated: str
    before: str = ""
    after: str = "\0"

    def text(self, length: int) -> str:
        return self.before + self.repeated * max(1, length // len(self.repeated)) + self.after


@dataclass(frozen=True)
class Entry:
    inputs: tuple[Input, ...]
    patterns: Callable[[], Iterable["re.Pattern[Any]"]] | None = None
    """Examples of a pattern that is made at run time."""
    use: str = ""
    """How the pattern is applied, if the source does not show it: `match`, `fullmatch` or `search`."""
    sound: str = ""
    """Why the pattern is linear although its parse tree looks as if it were not."""


def entry(*inputs: str | Input, **options: Any) -> Entry:
    return Entry(tuple(each if isinstance(each, Input) else Input(each) for each in inputs), **options)


def _question_words() -> Iterable["re.Pattern[Any]"]:
    matcher = QuestionMatcher()
    yield matcher._word_pattern()
    matcher.learn_value("***", ["a", "ab", "aa", ".", "1"])
    yield matcher._word_pattern()


def _credentials() -> Iterable["re.Pattern[Any]"]:
    return [pattern for _, pattern in credential_patterns._PATTERNS]


def _long_runs() -> Iterable["re.Pattern[Any]"]:
    make = inline_media._runs_longer_than
    return [make(64, inline_media._LETTERS), make(512, inline_media._ESCAPED)]


_ID = entry("a", "a.", "a-", "a" * 63 + ".")
_CURSOR = entry("a", "0", "a.", ".", "A-_")
_BASE64 = "A" * 39 + "\n"
_LONG_LINE = "A" * 41 + "\n"

PATTERNS: dict[str, Entry] = {
    "adapters/blobs/blob_key.py:_KEY_PATTERN": entry("0", "0/", Input("0", "a" * 32 + "/00/00/0000")),
    "adapters/postgres/database/address.py:_SCHEMA": entry("a", "_", Input("a", "a_0")),
    "adapters/postgres/database/migrations.py:_NEEDS": entry("1", Input("1", "-- needs: ")),
    "adapters/http/page/form_body.py:_ENCODED": entry("a", "%", "%2", "%20", Input("%20", after="%")),
    "protocol/forms/answer.py:_NUMBER": entry("1", "1.", "1e", Input("1", "."), Input("1", "-1.")),
    "protocol/forms/answer.py:_WHOLE": entry("1", "+", Input("1", "-")),
    "protocol/forms/answer.py:_option_index": entry("1", "01"),
    "protocol/forms/visible_text.py:HIDDEN_CHARACTERS": entry("a", "\u200b", " "),
    "protocol/forms/visible_text.py:_CAMEL": entry("a", "aB", Input("Ab", "a"), Input("a", "aB")),
    "protocol/forms/visible_text.py:_SNAKE": entry("a", "a_", Input("_a", "a"), Input("a", "a-")),
    "protocol/forms/visible_text.py:_WORD_START": entry("a", "aB", "_"),
    "adapters/http/page/question_view.py:_KEY_ID": entry("0", Input("0", "key_")),
    "adapters/http/page/messages.py:NAME": entry("{", "a", "{a}", Input("a", "{")),
    "protocol/people/organisation.py:_COLOUR": entry("0", "#000", Input("0", "#")),
    "adapters/http/page/value_view.py:_DATE": entry("0", "0000-00-00"),
    "adapters/http/page/value_view.py:_TIME": entry("0", "0000-00-00T00:00", Input("0", "0000-00-00T00:00:00.")),
    "adapters/http/page/value_view.py:_PARAGRAPHS": entry("\n", "\n ", " ", Input(" ", "\n"), Input("\t", "\n\n")),
    "adapters/http/routes/assets.py:_CURSOR": _CURSOR,
    "adapters/http/routes/assets.py:_HEX": entry("a", "0"),
    "adapters/http/routes/assets.py:_ITEM": entry(
        " ", "a", "a=", "a=:", Input("A", "sha-256=:"), Input(" ", "a=:A:"), Input("=", "a=:")
    ),
    "adapters/http/routes/interrupts.py:_CURSOR": _CURSOR,
    "adapters/http/routes/interrupts.py:_QUALITY": entry("0", "q=", Input("0", "q=0."), Input("0", "q=1.")),
    "adapters/nodes/data/run_data.py:_NUMBERED_ID": entry("1", "-", "-1", "a-1", Input("1", "a-", "x")),
    "adapters/nodes/net/http_request.py:_JSON_TYPE": entry("a", "+", Input("a", "text/"), Input("a+", "text/")),
    "adapters/nodes/net/http_request.py:_TEXT_TYPE": entry(
        Input("a", "application/"), Input("+", "application/"), Input("json+", "application/"), Input("a", "text/")
    ),
    "adapters/nodes/net/http_request.py:_decode_text": entry("charset=", "charset", "c", Input("a", "charset=")),
    "adapters/providers/openai_compatible/options.py:_HEADER_NAME": entry("a", "-"),
    "adapters/providers/openai_compatible/options.py:_HEADER_VALUE": entry("a", " "),
    "adapters/providers/script.py:_PLACEHOLDER": entry("{media", "{media[", "{media[1]", "{media[11].", "{"),
    "adapters/providers/scripted.py:_WORD_PATTERN": entry(
        " ",
        "a",
        "a ",
        Input(" ", after=""),
        Input(" ", "a"),
        Input("a  ", after=" "),
        sound="every start matches: a word follows the white space, or the end of the text",
    ),
    "adapters/python/calls/interrupts.py:_KEY": _ID,
    "adapters/python/declaration/decorator.py:_TYPE_ID": _ID,
    "adapters/python/declaration/decorator.py:_VERSION": entry(
        "0",
        "1",
        "1.",
        Input("0", "1.0.0-"),
        Input("a", "1.0.0-"),
        Input("0.", "1.0.0-"),
        Input("0a.", "1.0.0-1."),
        Input("-", "1.0.0+"),
        Input("a.", "1.0.0+"),
    ),
    "adapters/python/errors.py:_CODE": entry("a", "a.", "a_a", "a-"),
    "adapters/python/values.py:_UNSAFE": entry("a", Input("a", after="")),
    "cli/client/options.py:_SAFE": _ID,
    "cli/commands/assets.py:_ASSET_NAME": entry("0", "weftwork-asset:", Input("0", "weftwork-asset:")),
    "cli/commands/assets.py:_ETAG": entry("0", '"', Input("0", '"')),
    "cli/commands/new.py:_NAME": entry("a", "a-", "-", "a1-"),
    "cli/commands/nodes.py:_ALIAS_TEXT": entry("a", "Same as `", Input("a", "Same as `"), "`"),
    "cli/compare/media_names.py:_DATA_URL": entry(
        "data:", "a", Input("a", "data:a/"), Input("a", "data:a/a;"), "data:a/a;a"
    ),
    "cli/compare/media_names.py:_MEDIA_URL": entry(
        "http://",
        Input("a", "http://"),
        Input("/assets/", "http://a"),
        Input("a", "http://a/assets/<"),
        "http://a/assets/<a>",
    ),
    "cli/commands/review/eval.py:_NAME": _ID,
    "cli/console/units.py:parse_duration": entry("1", "1s"),
    "cli/doctor/machine_checks.py:check_packages": entry("a", " ", "a "),
    "cli/follow/event_steps.py:_KEY": entry("a", "\x1b", "\x1b[", Input("0;", "\x1b[")),
    "cli/render/drawing.py:_UNSAFE": entry("a", "\x1b", " "),
    "cli/render/form_text.py:_WORDS": entry("a", " ", "a "),
    "cli/render/interrupt_text.py:_KEY": _ID,
    "protocol/envelopes/checks.py:_INSTANT": entry("0", "2026-01-01T00:00:00.", Input("0", "2026-01-01T00:00:00.")),
    "protocol/envelopes/checks.py:_URI": entry("a", "a:", ":", Input("a", "a:", " ")),
    "protocol/envelopes/kinds.py:_KIND_NAME": entry(
        "a", Input("a", "vendor."), Input("a.", "vendor."), Input("a-", "vendor.a."), Input("a", "local."), "local."
    ),
    "protocol/envelopes/partial_surface.py:_START": entry("[", "[ ", Input(" ", "["), Input("\n", "[")),
    "protocol/envelopes/text/extraction.py:_BRACKET": entry("a", "{", '"'),
    "protocol/envelopes/text/extraction.py:_FENCE": entry(
        Input("~", after="{"),
        Input("`", after="{"),
        Input("~~~", after="\n{"),
        "~~~\n",
        Input("~", "   ", "["),
        " ",
        Input(" ", "~~~", "`"),
        Input("~a", after="{"),
    ),
    "protocol/envelopes/text/extraction.py:_LENIENT_START": entry(
        "{", "{ ", "{a", "[ ", Input(" ", "{"), Input("a", "{"), Input("a ", "{"), Input(" ", "{a"), "{a ", "[-", "\n"
    ),
    "protocol/envelopes/text/extraction.py:_START": entry("{", "{ ", "[ ", Input(" ", "{"), Input("\n", "[")),
    "protocol/envelopes/text/extraction.py:_STRING": entry("a", "\\", '\\"', "\\\\", Input("a\\", after="")),
    "protocol/envelopes/text/repair.py:_NUMBER": entry("1", "0", "1.", "1e", Input("1", "-1."), Input("1", "1e-", "x")),
    "protocol/envelopes/text/repair.py:_QUOTED_BODIES": entry(
        "a",
        "\\",
        "\\'",
        '\\"',
        Input("a\\", after=""),
        "\u201c",
        use="match",
        patterns=repair._QUOTED_BODIES.values,
    ),
    "protocol/envelopes/text/repair.py:_SPACE": entry(
        " ", "//", "/*", "/**/", "/* */ ", Input(" ", "/*"), Input("*", "/*"), "//\n", Input("/**/ ", after="/*")
    ),
    "protocol/envelopes/text/repair.py:_SPECIAL": entry("a", "\\", "\\n", '"', Input("a", after="\\")),
    "protocol/envelopes/text/repair.py:_WORD": entry("a", "$", "1", "a-"),
    "protocol/expressions/cost.py:_PATTERN_TOKEN": entry(
        "\\p{",
        "\\x{",
        "[",
        "[:",
        "[:a",
        "[\\p{",
        "\\Q",
        "(?P<",
        "(?",
        "{1",
        "{1,",
        "\\",
        Input("a", "\\p{"),
        Input("\\p{", "["),
        Input("a", "[:"),
        Input("[:a:]", "["),
        Input("\\x{a", "("),
        Input("1", "{"),
        Input("a", "(?"),
    ),
    "protocol/expressions/cost.py:_token_states": entry("\\p", "\\", "a"),
    "protocol/expressions/faults.py:_MEMBER_OVERLOAD": entry(
        "overloads found : (",
        "overloads found : (a).a(",
        Input("a", "overloads found : ("),
        Input("a,", "overloads found : (a).a("),
        Input(" ", "overloads found : (a).a("),
    ),
    "protocol/expressions/faults.py:_OVERLOAD": entry(
        "overload for '",
        "overload for 'a' applied to '(",
        "overloads found : ",
        "overloads found : a(",
        Input("a", "overload for '"),
        Input("'", "overload for '"),
        Input("a)", "overload for 'a' applied to '("),
        Input("a", "overloads found : "),
        Input("(", "overloads found : "),
        Input(")", "overloads found : a("),
    ),
    "protocol/expressions/faults.py:_PLACE": entry("<input>:", "<input>:1", "<input>:1:1: ", Input("1", "<input>:")),
    "protocol/expressions/faults.py:_TOO_DEEP": entry("recursion ", "recursion limi", "r"),
    "protocol/expressions/faults.py:_TYPES": entry("a", "a, ", "("),
    "protocol/expressions/faults.py:_UNDECLARED": entry(
        "undeclared reference to '", Input("a", "undeclared reference to '"), "undeclared reference to 'a"
    ),
    "protocol/expressions/faults.py:_mismatch": entry("a", "<"),
    "protocol/expressions/template.py:_SKIPPED": entry(
        "a",
        '"',
        "'",
        '\\"',
        Input('\\"', '"'),
        Input('\\"""', '"""'),
        Input("\\'''", "'''"),
        'r"',
        "r'",
        'r"""',
        "//",
        Input("a", '"'),
        Input("a", '"""'),
        Input("a", "r'''"),
        "/",
        "br",
    ),
    "protocol/ids.py:_ID": _ID,
    "protocol/ids.py:_IDEMPOTENCY_KEY": _ID,
    "protocol/ids.py:_SCHEMA_FILE": entry("a", "a/", "a.", "a-", Input("a/", "envelopes/"), Input("a", "envelopes/")),
    "protocol/ids.py:_TENANT": _ID,
    "protocol/json/caller_schema.py:_REFERENCE": entry("a", "#/$defs/", Input("a", "#/$defs/")),
    "protocol/json/caller_schema.py:_SCHEMA": entry("a", "#", "https://json-schema.org/draft/2020-12/schema"),
    "protocol/json/decoder.py:_UNSAFE_ESCAPE": entry("\\", "\\u", "\\u0", "\\u000", "\\ud", "a"),
    "protocol/json/decoder.py:_UNSAFE_TEXT": entry("a", Input("a", after="")),
    "protocol/json/pointers.py:_NOT_PRINTABLE": entry("a", "\x7f", "é"),
    "protocol/json/source_locations.py:_TOKEN": entry(
        " ", '"', '\\"', "a", Input('\\"', '"'), Input(" ", after="\x0b"), Input("\\", '"', ""), "{", '"":'
    ),
    "protocol/media/asset_headers.py:_OUTSIDE_ASCII": entry("a", "é", '"'),
    "protocol/media/asset_headers.py:_RANGE": entry("bytes=", Input("0", "bytes="), Input(" ", "bytes=0-"), "0-"),
    "protocol/media/asset_headers.py:_SPACES": entry(" ", "a ", "\t"),
    "protocol/media/asset_headers.py:_TAGS": entry('"', "W/", 'W/"', "a", Input("a", '"'), '"a"', '"a" ', 'W/"a'),
    "protocol/media/asset_references.py:_ASSET_REFERENCE": entry(
        "weftwork-asset:",
        "assets",
        "assets\\",
        "assets/v1.",
        "assets/v1.a.",
        Input("\\", "assets"),
        Input("a", "assets/v1."),
        Input("A", "assets/v1.a."),
        "assets/v1.a." + "A" * 1800,
        "weftwork-asset:00",
    ),
    "protocol/media/asset_references.py:_INLINE": entry('"base64":"', Input("A", '"base64":"'), '"base64":"A"', '"'),
    "protocol/media/asset_references.py:_PLACEHOLDER": entry("\0", "\0001", Input("1", "\0", "")),
    "protocol/media/asset_references.py:_REF": entry("0", "weftwork-asset:", Input("0", "weftwork-asset:")),
    "protocol/media/asset_references.py:_TOKEN_IN_URL": entry(
        "/assets/v1.", "/assets/v1.a.", "/assets/", Input("A", "/assets/v1.a."), "/assets/v1.a." + "A" * 1800
    ),
    "protocol/media/asset_references.py:_TOKEN_TEXT": entry("v1.", Input("a", "v1."), Input("A", "v1.a."), "v1.a."),
    "protocol/media/inline_media.py:_BASE64_CONTEXT": entry(
        "base64", "base64:", Input(" ", "base64"), "base\\u0036\\u0034"
    ),
    "protocol/media/inline_media.py:_DATA_URL_PREFIX": entry(
        "data:",
        "data:a/",
        "data:a/a;",
        Input("a", "data:"),
        Input(";a", "data:a/a"),
        Input("a", "data:a/a;"),
        "data:a/a;base64,",
    ),
    "protocol/media/inline_media.py:_LONG_RUN": entry("A", _BASE64, _LONG_LINE, "=", "\\", Input("A\n", "A" * 40)),
    "protocol/media/inline_media.py:_MEDIA_KIND": entry("media.", "media.imag", "m"),
    "protocol/media/inline_media.py:_STRICT": entry("A", "=", Input("A", after="=="), "A="),
    "protocol/media/inline_media.py:_UNICODE_ESCAPE": entry("\\", "\\u", "\\u00", "\\u0041"),
    "protocol/media/inline_media.py:_URLSAFE": entry("A", "-"),
    "protocol/media/inline_media.py:_runs_longer_than": entry(
        "A", "A" * 64 + " ", "A" * 512 + ".", "=", "\\", use="search", patterns=_long_runs
    ),
    "protocol/media/media_types.py:_BRANDS": entry("a", "avi", "avif", use="fullmatch"),
    "protocol/media/media_types.py:_BRANDS#2": entry("i", "iso", "mp4", "dash", use="fullmatch"),
    "protocol/media/media_types.py:_CONTROL": entry("a", " ", Input("a", after="")),
    "protocol/media/media_types.py:_EXECUTABLE": entry("h", "htm", "/", "polic", "s"),
    "protocol/media/media_types.py:_FORM": entry("a", "a/", "a/a", Input("a", "a/"), "/"),
    "protocol/media/media_types.py:_HTML_INSIDE": entry("<", "<a", "<a:", "<html", Input("a", "<")),
    "protocol/media/media_types.py:_JSON_START": entry(" ", "{", "{ ", Input(" ", "{"), Input(" ", "{}"), "[ "),
    "protocol/media/media_types.py:_NAMESPACE": entry("<", "<a", "<a ", Input(" ", "<a"), Input(" xmlns", "<a")),
    "protocol/media/media_types.py:_OFFICE": entry("a", "application/vnd.", Input("a", "application/vnd.oasis.")),
    "protocol/media/media_types.py:_SVG_INSIDE": entry("<", "<a", "<a:", "<svg", Input("a", "<")),
    "protocol/media/media_types.py:_TAG": entry("<", Input(" ", "<!doctype"), Input("a", "<"), "<a:", "</"),
    "protocol/media/media_types.py:_TEXTUAL": entry(
        "a", Input("a", "text/", "\n"), Input("+json", "application/"), Input("+", "application/"), "application/"
    ),
    "protocol/media/media_types.py:_sniff_matroska": entry("\x42", "\x42\x82", "\x42\x82\x84"),
    "protocol/media/media_urls.py:_AUTHORITY_END": entry("a", "/", "a/"),
    "protocol/media/media_urls.py:_PAIR_END": entry("a", "&", "a="),
    "protocol/media/message_parts.py:_BASE64": entry("A", "=", "A="),
    "protocol/models/capability_gate.py:_NAME": entry("a", "-", "a-", Input("a", "A")),
    "protocol/models/model_catalogue.py:_HOST_CAPABILITY": entry(
        "x-host-", Input("a", "x-host-"), Input("a-", "x-host-")
    ),
    "protocol/models/prompt_composition.py:_PATH_STEP": entry("a", ".", "[", "[1", Input("1", "[")),
    "protocol/models/prompt_composition.py:_PLACEHOLDER": entry(
        "{", "{{", "{{a", "{{ ", "{{{a}", Input(" ", "{{"), Input(" ", "{{{"), Input(" ", "{{a"), Input("a", "{{")
    ),
    "protocol/models/prompt_templates.py:_VERSION_PARTS": entry(
        "0", "1.", Input("a", "1.0.0-"), Input("a", "1.0.0+", "\n"), Input("+", "1.0.0", "\n"), Input("-", "1.0.0-")
    ),
    "protocol/models/provider_faults.py:_HTTP_DATE": entry("A", "Thu, 01 ", Input("1", "Thu, ")),
    "protocol/models/provider_faults.py:_NAME": entry("a", "a."),
    "protocol/models/provider_faults.py:_SECONDS": entry("1", Input("1", "1.")),
    "protocol/net/outbound.py:_CROSS_ORIGIN_HEADERS": entry("a", "accept", "content-"),
    "protocol/models/provider_settings.py:PROVIDER_NAME": entry("a", "a-", "a.", Input("a_", after="-")),
    "protocol/models/provider_settings.py:_CREDENTIAL": entry("env:", Input("a", "env:"), Input("_", "env:A")),
    "protocol/net/outbound.py:_HEADER_NAME": entry("a", "-"),
    "protocol/net/outbound.py:_HEADER_VALUE": entry("a", " ", "a ", Input(" ", "a"), Input("a\t", after=" ")),
    "protocol/net/target.py:_NAME": entry("a", "a.", "a-", "a" * 63 + ".", "-", Input("a-a.", after="-")),
    "protocol/net/target.py:_PORT": entry("1"),
    "protocol/net/target.py:_SCHEME": entry("a", "a+", "a:", Input("a", after="/")),
    "protocol/people/interrupt_tokens.py:_PERSON_NAME": entry("a", " "),
    "protocol/people/interrupt_tokens.py:_TOKEN": entry("a", "a.", Input("A", "aaaa.")),
    "protocol/people/interrupt_tokens.py:_TOKEN_IN_TEXT": entry(
        "a", "aaaa.", "aaa.", "aaaa%2E", "%2", "a" * 43 + ".", "aaaa." + "a" * 42, Input("a", after="."), "-"
    ),
    "protocol/privacy/credential_patterns.py:_pattern": entry(
        "a",
        "sk-",
        "sk-a",
        "AKIA",
        "ghp_",
        "eyJ",
        "eyJ.",
        "eyJa.",
        "Bearer ",
        "Basic ",
        " PRIVATE KEY-----",
        "://",
        "://a:",
        "CANARY",
        "CANARY-",
        "CANARY-a",
        Input("a", "sk-"),
        Input("a", "eyJ"),
        Input("a", "eyJaaaaaaaa."),
        Input(" ", "Bearer "),
        Input("a", "://"),
        Input("a", "://a:"),
        Input("-", " PRIVATE KEY-----", ""),
        Input("----- ", " PRIVATE KEY-----"),
        Input("A", "Basic "),
        Input("a-", " PRIVATE KEY-----"),
        "-----END ",
        use="search",
        patterns=_credentials,
    ),
    "protocol/privacy/questions.py:QuestionMatcher._word_pattern": entry(
        "a", "ab", "a ", "1", ".", use="search", patterns=_question_words
    ),
    "protocol/privacy/questions.py:_ANY_MARKER": entry("[REDACTED:", Input("a", "[REDACTED:"), "[", "[REDACTED:a"),
    "protocol/privacy/questions.py:_READABLE": entry("_", " ", "."),
    "protocol/privacy/questions.py:_SENSITIVE_MARKER": entry(
        "[REDACTED:", "[REDACTED:credential", Input("a", "[REDACTED:"), "[REDACTED:credential]", "["
    ),
    "protocol/privacy/redaction.py:_KEEPS_SHAPE": entry(
        "/", "a", "/questions", "/1", Input("a", "/"), Input("1", "//")
    ),
    "protocol/privacy/secret_matcher.py:_ESCAPE_PATTERN": entry("\\", "\\u", "\\u00", "\\u00ff"),
    "protocol/privacy/secret_matcher.py:_HALF_CHARACTER": entry("a", "\ud800"),
    "protocol/privacy/secret_matcher.py:_MARKER_PATTERN": entry("[REDACTED:", Input("a", "[REDACTED:"), "[REDACTED:]"),
    "protocol/privacy/trust.py:_attribute_name": entry("a", " "),
    "protocol/privacy/trust.py:_attribute_value": entry("a", "\t", "\u200b"),
    "protocol/privacy/trust.py:_openings": entry(
        "&",
        "&amp;",
        "amp;",
        "&#",
        "&#0",
        "\\u0026",
        "%25",
        "%",
        "%2525",
        "\\u{0",
        "&a",
        Input("amp;", "&"),
        Input("0", "&#"),
        Input("0", "&#x"),
        Input("#38;", "&"),
        Input("#0038", "&"),
        Input("25", "%"),
        Input("0", "\\u{"),
        Input("amp", "&"),
        Input("#x26;#38;", "&", "1"),
        "\\ud800",
        "%e2%80%8",
        Input("a", "&"),
        "<",
        use="search",
        patterns=lambda: [trust._openings()],
    ),
    "protocol/privacy/trust.py:_tokens": entry(
        "&",
        "&amp;",
        "&#0",
        "\\u0026",
        "%25",
        " ",
        "a",
        "\\u{0",
        Input("amp;", "&"),
        Input("0", "&#"),
        Input("0", "&#x"),
        Input("#38;", "&"),
        Input("25", "%"),
        Input("0", "\\u{"),
        Input("#x26;#38;", "&", "1"),
        "\\ud800",
        use="search",
        patterns=lambda: [trust._tokens()],
    ),
    "cli/imports/media_packing.py:_ASSET_PATH": entry(
        "/v1/host/weftwork/assets/",
        "v1.",
        Input("a", "/v1/host/weftwork/assets/v1."),
        Input("a", "/v1/host/weftwork/assets/v1.a."),
        Input("a", "/v1/host/weftwork/assets/v1.a.aaaa."),
        "/v1/host/weftwork/assets/v1.a.aaaa." + "a" * 43,
    ),
    "protocol/review/bundle_import.py:_EVENT_ID": entry("a", Input("a", after=" ")),
    "protocol/review/bundle_import.py:_MEDIA_TYPE": entry("a", "a/", "/", Input("a", "a/"), Input("a", "a/a", ";")),
    "protocol/review/bundle_import.py:_MEDIA_URL": entry("a", "http://", Input("a", "https://", '"')),
    "protocol/review/bundle_media.py:_CONTENT": entry(
        "A",
        _BASE64,
        _LONG_LINE,
        "\\n",
        "\\/",
        "\\",
        "A" * 40 + "\\n",
        "A" * 39 + "\\n",
        Input("A", _LONG_LINE, "=x"),
        Input("A" * 4, _LONG_LINE, "-"),
        "=",
        "\\r\\n",
    ),
    "protocol/review/bundle_media.py:_CUT": entry("A", "=", "\\", "\r\n", " ", "A="),
    "protocol/review/bundle_media.py:_HEX": entry("a", " "),
    "protocol/review/bundle_media.py:_LINES": entry("A", _BASE64, _LONG_LINE, "\n", "\r\n", _LONG_LINE + _BASE64),
    "protocol/review/bundle_media.py:_elide_lines": entry(" ", "a", "a "),
    "protocol/review/spans.py:_TRACEPARENT": entry(
        "0", "-", "00-", Input("-", "00-" + "0" * 32 + "-" + "0" * 16 + "-00", "\n"), Input("0", "00-")
    ),
    "protocol/review/compared_form.py:_DERIVED_ID": entry("env-", "{run}:", "env-0", Input("0", "env-"), "{run}:0"),
    "protocol/run/events.py:_VENDOR": entry("a", "a.", "core.", "a-", Input("a.", after="."), Input("a", "a.")),
    "protocol/timestamps.py:_DATE": entry("0", "2026-01-31"),
    "protocol/timestamps.py:_INSTANT": entry("0", Input("0", "2026-01-01T00:00:00.")),
    "protocol/surfaces/actions.py:_NUMBER": entry("1", "1.1", "1.", "-1", Input("1", after="x")),
    "protocol/surfaces/a2ui/basic_tree.py:_HEADING": entry("#", "# ", " ", Input("a", "# "), Input("#", "# a")),
    "protocol/surfaces/a2ui/markdown.py:_ESCAPED": entry("\\\\", "&", "&#", "&#1", "&a", "&#x0", Input("a", "&"), "&;"),
    "protocol/surfaces/a2ui/markdown.py:_NUMBER": entry("1", "1.", Input("1", after=".")),
    "protocol/surfaces/a2ui/markdown.py:_SPECIAL": entry("*", ".", ":", "/", "a", ".a", ":/"),
    "protocol/surfaces/a2ui/streams.py:COMPONENT_ID": entry("a", "a-", Input("a", after=" ")),
    "protocol/surfaces/a2ui/streams.py:_INDEX": entry("1", "0", Input("1", after="x")),
    "protocol/surfaces/a2ui/streams.py:_UNSAFE": entry("a", "\ud800", "\0"),
    "protocol/surfaces/a2ui/texts.py:_CALL": entry(
        "a",
        " ",
        "/",
        Input("a", "formatDate(value: ${"),
        Input(" ", "formatDate("),
        Input(" ", "formatDate(value: ${/a"),
    ),
    "protocol/surfaces/a2ui/texts.py:_CURRENCY": entry("currency:", "currency: ", "currency:'", " "),
    "protocol/surfaces/a2ui/texts.py:_ONE": entry("one:", "one: '", "one:'a", " ", "'"),
    "protocol/surfaces/a2ui/texts.py:_OTHER": entry("other:", "other: '", "other:'a", " ", "'"),
    "protocol/surfaces/a2ui/texts.py:_PATH": entry("/", "/a", Input("a", after=" ")),
    "protocol/surfaces/limits.py:_FIELD_ID": entry("a", "a-", "action", "openwop.", Input("a", after=" ")),
    "protocol/surfaces/limits.py:_ID": entry("a", "a", "a-", Input("a", after=" ")),
    "protocol/wire/openapi.py:_operation": entry("{", "{a", "a", Input("a", "{")),
    "protocol/wire/embedding.py:_ORIGIN": entry(
        "a", "a.", "1", Input("1:", "http://["), Input("f", "http://["), Input("a-", "https://a")
    ),
    "protocol/wire/served_hosts.py:_ALLOWED": entry("a", "a.", "a-", "1:", Input("1:", "["), Input("f", "[")),
    "protocol/wire/served_hosts.py:_HEADER": entry("a", "a:1", Input("1", "a:"), Input("1:", "["), Input("f", "[")),
    "protocol/wire/served_hosts.py:_LOOPBACK": entry("127.", "1.1", "localhost", Input("1", "127.")),
    "protocol/wire/streams.py:_CURSOR": entry("0", "1", "10"),
    "protocol/wire/streams.py:parse_buffer": entry("0", "1"),
    "protocol/wire/v1/paths.py:_PARAMETER": entry("{", "{a", Input("a", "{")),
    "protocol/workflow/run_options.py:_WEB_ADDRESS": entry(
        "a",
        "https://",
        Input("a", "https://"),
        Input("a/", "https://"),
        Input("/", "https://a"),
        Input("?", "http://a", " "),
    ),
    "protocol/workflow/timed_waits.py:_ZONED": entry("0", Input("0", "2026-01-01T00:00:00."), "2026-"),
    "settings.py:_PLAIN_NAME": entry("a", "."),
    "settings.py:_is_base_url": entry("a", "?", "é"),
    "settings_file.py:_TOKEN": entry(
        " ", "#", '"', "'", '\\"', '"""', "'''", Input('"', '"""'), Input("\\", '"""'), Input("a", '"'), "a", "=", "\n"
    ),
    "wiring/blob_store.py:_S3_URL": entry("s3://", Input("a", "s3://"), Input("a/", "s3://aaa/"), Input("a.", "s3://")),
}
"""By the name of the pattern: module, then constant or function."""
