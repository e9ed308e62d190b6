"""The shape of an envelope, at the gate: its members, its depth and its time."""

from typing import Any

import pytest

from tests.protocol.envelopes.sample_envelopes import ABSENT, accept_outcome, envelope, refusal_of, with_meta
from weftwork.protocol.envelopes.checks import is_instant
from weftwork.protocol.envelopes.outcome import Accepted, Invalid, outcome_document


@pytest.mark.rule("env-04")
@pytest.mark.parametrize(
    ("document", "place", "keyword"),
    [
        (None, "", "type"),
        ([], "", "type"),
        ("text", "", "type"),
        (envelope(meta=ABSENT), "", "required"),
        (envelope(extra=1), "", "additionalProperties"),
        (envelope(type=7), "/type", "type"),
        (envelope(schemaVersion="1.0"), "/schemaVersion", "type"),
        (envelope(partial=True), "/partial", "type"),
        (with_meta(source="tool"), "/meta/source", "enum"),
        (with_meta(**{"acme.key": 1}), "/meta", "additionalProperties"),
        (envelope(payload={"bad": "\ud800"}), "", "type"),
        (envelope(payload={1, 2}), "", "schema"),
        (envelope(payload=object()), "", "type"),
    ],
)
def test_a_document_that_is_no_envelope(document: Any, place: str, keyword: str) -> None:
    outcome = refusal_of(document)
    assert outcome.code == "invalid_envelope_shape"
    assert outcome.reason.startswith("invalid_envelope_shape: ")
    assert (place, keyword) in [(each.instance_path, each.keyword) for each in outcome.details]
    shown = outcome_document(outcome)
    assert shown["status"] == "invalid"
    assert set(shown["details"][0]) == {"instancePath", "schemaPath", "keyword", "message"}


def nested(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.rule("env-04")
@pytest.mark.parametrize(("levels", "taken"), [(62, True), (63, True), (64, False), (500, False), (100_000, False)])
def test_depth_is_bounded_as_the_decoder_bounds_it(levels: int, taken: bool) -> None:
    assert isinstance(accept_outcome(envelope("vendor.any", nested(levels))), Accepted) is taken


@pytest.mark.rule("env-05")
@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("2026-01-31T08:05:09Z", True),
        ("2026-01-31T08:05:09.1Z", True),
        ("2026-01-31T08:05:09.123456789Z", True),
        ("2026-01-31T08:05:09+01:00", True),
        ("2026-01-31T08:05:09.5-23:59", True),
        ("2024-02-29T00:00:00Z", True),
        ("2000-02-29T00:00:00Z", True),
        ("2025-02-29T00:00:00Z", False),
        ("1900-02-29T00:00:00Z", False),
        ("2026-02-30T00:00:00Z", False),
        ("2026-04-31T00:00:00Z", False),
        ("2026-13-01T00:00:00Z", False),
        ("2026-00-01T00:00:00Z", False),
        ("2026-01-00T00:00:00Z", False),
        ("2026-01-31T24:00:00Z", False),
        ("2026-01-31T08:60:09Z", False),
        ("2026-01-31T08:05:60Z", False),
        ("2026-01-31T08:05:09.Z", False),
        ("2026-01-31T08:05:09.1234567890Z", False),
        ("2026-01-31T08:05:09", False),
        ("2026-01-31T08:05Z", False),
        ("2026-01-31 08:05:09Z", False),
        ("2026-01-31T08:05:09+24:00", False),
        ("2026-01-31T08:05:09+0100", False),
        ("2026-01-31T08:05:09Z\n", False),
        ("٢٠٢٦-01-31T08:05:09Z", False),
        ("yesterday", False),
        ("", False),
        ("1738310709", False),
    ],
)
def test_a_time_of_an_envelope(text: str, good: bool) -> None:
    assert is_instant(text) is good
    outcome = accept_outcome(with_meta(ts=text))
    assert isinstance(outcome, Accepted) is good
    if isinstance(outcome, Invalid):
        assert "ISO 8601" in outcome.reason
        assert [each.instance_path for each in outcome.details] == ["/meta/ts"]
