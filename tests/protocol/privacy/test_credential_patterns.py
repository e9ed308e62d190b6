"""What looks like a credential is found wherever it stands, and little else is."""

import base64
import json
import re
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import for_all
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.privacy import credential_patterns
from weftwork.protocol.privacy.credential_patterns import MARKER, may_hold_credential
from weftwork.protocol.privacy.credential_redaction import mask_credentials, mask_credentials_in_text

BODY = "Q7w8E9r0T1y2U3i4O5p6A7s8D9f0G1h2"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{BODY}\n{BODY}\n-----END RSA PRIVATE KEY-----"
TOKEN = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (b'{"alg":"HS256"}', b'{"sub":"me"}'))
CREDENTIALS: dict[str, str] = {
    "model key": f"sk-{BODY}",
    "model key with a name": f"sk-ant-api03-{BODY}",
    "key of ours": f"hk_live_{BODY}",
    "test key of ours": f"hk_test_{BODY}",
    "payment key": f"sk_live_{BODY}",
    "cloud key": "AKIAIOSFODNN7EXAMPLE",
    "passing cloud key": "ASIAIOSFODNN7EXAMPLE",
    "search key": f"AIza{BODY}",
    "code key": f"ghp_{BODY}",
    "new code key": f"github_pat_{BODY}",
    "chat key": f"xoxb-{BODY}",
    "package key": f"npm_{BODY}",
    "app key": f"xapp-1-A0B1-{BODY}",
    "fast model key": f"gsk_{BODY}",
    "hosted model key": f"r8_{BODY}",
    "other model key": f"xai-{BODY}",
    "model search key": f"pplx-{BODY}",
    "server key": f"dop_v1_{BODY}",
    "shop key": f"shpat_{BODY}",
    "image key": f"dckr_pat_{BODY}",
    "till key": f"sq0atp-{BODY}",
    "index key": f"pypi-AgEIcHlw{BODY}",
    "vault key": f"hvs.{BODY}",
    "office key": f"ya29.{BODY}",
    "webhook secret": f"whsec_{BODY}+/{BODY}==",
    "mail key": f"SG.{BODY}.{BODY}",
    "file key": f"AGE-SECRET-KEY-1{BODY.upper()}",
    "webhook address": f"https://hooks.slack.com/services/T0/B1/{BODY}",
    "signed token": f"{TOKEN}.{BODY}",
    "token without a signature": TOKEN,
    "header": f"Bearer {BODY}",
    "small header": f"bearer {BODY}",
    "basic header": f"Basic {BODY}",
    "private key": PEM,
    "address": f"postgres://admin:{BODY}@db.example/runs",
    "planted key": f"sk-canary-{BODY}",
    "planted mark": f"CANARY-{BODY}",
    "planted secret": f"secret:canary-{BODY}",
}
HARMLESS = [
    "",
    "risk-assessment-for-the-quarter",
    "task-force-of-the-year-2026",
    "sk-short",
    "Bearer authentication is on",
    "a bearer of good news",
    "https://example.com/a:b@c",
    "https://example.com/path?query=1",
    "deployment.canary.adjusted",
    "the canary in the coal mine",
    "AKIA and ASIA",
    "eyJ is how they begin",
    "BEGIN PRIVATE KEY",
    "[REDACTED:credential]",
    "hk_live_",
    "01m7f5zzhp2z8y1fpzhf93nsbb",
    "Basic arithmetic",
    "xai-grok-of-the-fourth-generation-fast-non-reasoning",
    "r8_of_a_long_name_that_a_program_gave_to_a_variable",
    "pplx-of-seventy-billion-parameters-with-a-search-online",
    "SG. is short for a country",
    "https://hooks.slack.com/services/",
]


@pytest.mark.rule("bundle-02")
@fails_without(credential_patterns, "_PATTERNS", (), match="name='model key'")
@each_case("name", *CREDENTIALS)
@each_case("around", "{}", "the key is {}.", '"{}"', "key={}", "({})", "a\n{}\nb")
def test_a_credential_is_found_in_any_text(name: str, around: str) -> None:
    text = around.format(CREDENTIALS[name])
    shown = mask_credentials_in_text(text)
    assert MARKER in shown
    assert BODY not in shown
    assert CREDENTIALS[name] not in shown
    assert mask_credentials_in_text(shown) == shown
    assert may_hold_credential(json.dumps(text, ensure_ascii=False).encode())


@each_case("text", *HARMLESS)
def test_what_is_none_stays_as_it_is(text: str) -> None:
    assert mask_credentials_in_text(text) == text


def test_several_in_one_text_are_all_found() -> None:
    text = " and ".join(CREDENTIALS.values())
    shown = mask_credentials_in_text(text)
    assert BODY not in shown
    assert shown.count(" and ") == len(CREDENTIALS) - 1


def graphs() -> st.SearchStrategy[Any]:
    secrets = st.sampled_from(sorted(CREDENTIALS.values()))
    texts = st.text(max_size=12) | secrets | st.tuples(st.text(max_size=4), secrets).map(" ".join)
    plain = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts
    return st.recursive(
        plain, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
    )


def shape(value: Any) -> Any:
    """The value without its texts."""
    if isinstance(value, dict):
        return [shape(each) for each in value.values()]
    if isinstance(value, list):
        return ["list", *map(shape, value)]
    return "text" if isinstance(value, str) else value


@pytest.mark.rule("bundle-02")
@for_all(100, graphs(), full=4_000)
def test_no_value_and_no_name_keeps_one(value: Any) -> None:
    shown = mask_credentials(value)
    data = encode_stored(shown).decode()
    assert not [name for name, secret in CREDENTIALS.items() if secret in data]
    assert BODY not in data
    assert shape(shown) == shape(value)
    # What is not suspected has none, and then need not be looked at.
    if not may_hold_credential(encode_stored(value)):
        assert shown == value


def test_names_that_are_masked_stay_apart() -> None:
    given_names = {f"sk-{BODY}{at}": at for at in range(50)} | {MARKER: 50, f"{MARKER}#2": 51}
    assert list(mask_credentials(given_names).values()) == list(range(52))


HOSTILE = [
    *("sk-", "://a:", "eyJ", "eyJaaaaaaaa.", "-", "-----BEGIN PRIVATE KEY-----", "Bearer ", "CANARY-", "AKIA", "xox"),
    *("-----BEGIN A", " PRIVATE KEY-----", "://:", "hk_live_", "Basic a", "ghp_", "://a:a@"),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_is_looked_at_again_and_again(monkeypatch: pytest.MonkeyPatch, piece: str) -> None:
    """Counted and not timed: every pattern is asked once for each text that holds its literal."""
    asked: list[str] = []

    class Counting:
        def __init__(self, head: str, pattern: re.Pattern[str]) -> None:
            self.head, self.pattern = head, pattern

        def sub(self, marker: str, text: str) -> str:
            asked.append(self.head)
            return self.pattern.sub(marker, text)

    patterns = [(head, Counting(head, pattern)) for head, pattern in credential_patterns._PATTERNS]
    monkeypatch.setattr(credential_patterns, "_PATTERNS", patterns)
    text = piece * (200_000 // len(piece))
    shown = mask_credentials_in_text(text)
    assert len(asked) == len(set(asked))
    assert mask_credentials_in_text(shown) == shown


def check_literals(around: str) -> None:
    size = credential_patterns._PIECE - 2
    for prefix, pattern in credential_patterns._PATTERNS:
        # The literal is across the end of a piece.
        text = (around * size)[:size] + prefix + "." * 20_000
        expected = [each for literal, each in credential_patterns._PATTERNS if literal in text]
        assert pattern in expected
        assert credential_patterns.patterns_in(text) == expected


@fails_without(credential_patterns, "_LONGEST", 0)
def test_the_literals_of_a_long_text_are_found() -> None:
    check_literals("xy ")


def test_the_literals_of_a_long_text_are_found_among_very_many() -> None:
    check_literals("sk-")
