"""Credentials in what callers send: learnt from values, found again by their text and their form, and masked."""

from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import node, plan_of, variable, workflow
from tests.protocol.privacy.test_credential_patterns import BODY, CREDENTIALS
from weftwork.protocol.privacy import credential_redaction
from weftwork.protocol.privacy.credential_patterns import MARKER
from weftwork.protocol.privacy.credential_redaction import MAX_CREDENTIALS, CredentialMatcher, mask_options
from weftwork.protocol.privacy.redaction import Redactor, reveal
from weftwork.protocol.privacy.value_paths import SENT_KINDS, value_members

KEY = CREDENTIALS["model key"]


def knowing(value: Any) -> CredentialMatcher:
    made = CredentialMatcher()
    made.learn_credentials(value)
    return made


@pytest.mark.rule("hide-09")
@each_case("name", *CREDENTIALS)
def test_a_credential_and_its_copies_are_masked(name: str) -> None:
    text = f"see {CREDENTIALS[name]}"
    made = knowing({"a": [text]})
    assert BODY not in made.mask(text)
    assert BODY not in made.mask(f"x{CREDENTIALS[name]}")
    assert not made.is_absent([{"a": text}])
    assert made.is_absent(["see", 1, None])


@each_case(
    "sent, copy",
    (f"Bearer {BODY}", BODY),
    (f"postgres://admin:{BODY}@db", f"password={BODY}"),
    (f"x {KEY}", f"say{KEY}"),
)
def test_a_part_that_is_used_alone_is_found(sent: str, copy: str) -> None:
    assert BODY not in knowing(sent).mask(copy)
    assert CredentialMatcher().mask(copy) == copy


@pytest.mark.rule("hide-09")
@fails_without(credential_redaction, "mask_credentials_in_text", lambda text: text)
def test_more_credentials_than_are_learnt_are_found_by_their_form() -> None:
    keys = [f"sk-{at:04}-{BODY}" for at in range(MAX_CREDENTIALS * 2)]
    made = knowing(keys)
    assert len(made.learnt_texts) <= MAX_CREDENTIALS
    assert made.mask(f"the last is {keys[-1]}") == f"the last is {MARKER}"


def test_without_a_credential_nothing_is_searched() -> None:
    made = knowing(["https://example.com/a", "sk-short"])
    assert not made.has_texts
    assert made.is_absent(KEY)
    assert made.mask(KEY) == KEY


def test_a_sensitive_value_keeps_its_name() -> None:
    made = CredentialMatcher()
    made.learn_value("[REDACTED:key]", KEY)
    made.learn_credentials(KEY)
    assert made.mask(f"say {KEY}") == "say [REDACTED:key]"


@pytest.mark.rule("hide-09")
def test_options_of_a_run_are_masked_in_its_documents() -> None:
    document = {"runId": "r", "tags": (KEY, "b"), "metadata": {KEY: [KEY]}, "configurable": {"a": 1}}
    assert mask_options(document) == {
        "runId": "r",
        "tags": [MARKER, "b"],
        "metadata": {MARKER: [MARKER]},
        "configurable": {"a": 1},
    }


@pytest.mark.rule("hide-09")
@each_case("kind", *sorted(SENT_KINDS))
def test_every_event_with_sent_values_is_masked_and_revealed(kind: str) -> None:
    redactor = Redactor(plan_of(workflow([node("a")], [], [variable("v")])))
    payload: dict[str, Any] = {name: {"text": f"use {KEY}"} for name in value_members(kind, {})}
    payload |= {"name": "v"} if kind == "variable.changed" else {"channel": "c"} if kind == "channel.written" else {}
    visible, removed = redactor.hide_payload(kind, "a", payload)
    assert KEY not in str(visible)
    assert len(removed) == len(tuple(value_members(kind, {})))
    assert reveal(visible, removed) == payload


@pytest.mark.rule("hide-09")
@fails_without(CredentialMatcher, "names_marker", lambda self, value: None)
@each_case("kind", *sorted(SENT_KINDS))
def test_an_object_with_a_credential_in_a_member_name_is_hidden_whole_and_revealed(kind: str) -> None:
    redactor = Redactor(plan_of(workflow([node("a")], [], [variable("v")])))
    payload: dict[str, Any] = {name: {"kept": [{f"x {KEY}": 1}], KEY: {}} for name in value_members(kind, {})}
    payload |= {"name": "v"} if kind == "variable.changed" else {"channel": "c"} if kind == "channel.written" else {}
    visible, removed = redactor.hide_payload(kind, "a", payload)
    assert KEY not in str(visible)
    assert reveal(visible, removed) == payload
    inner, _ = redactor.hide_payload("acme.made", "a", {"list": [{KEY: 1}, {"b": 2}]})
    assert inner == {"list": [{"redacted": MARKER}, {"b": 2}]}
