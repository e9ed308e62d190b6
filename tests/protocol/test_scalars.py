"""Ids, partitions and keys; instants on the wire; the error table and the envelope."""

import hashlib
import re
from datetime import UTC, date, datetime, timedelta
from http import HTTPStatus
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from openwop_client import HTTP_ERROR_CODES, is_http_error_code

from tests.harness.cases import each_case
from tests.harness.definitions import example_count, for_all
from weftwork.protocol import timestamps
from weftwork.protocol.errors import ERRORS, RUN_ERRORS, ClientFault, Fault, HostFault, error_document, invalid
from weftwork.protocol.ids import TEST_KEY_PREFIX, is_idempotency_key, is_path_id, is_tenant, mode_of_key, partition
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import digest
from weftwork.protocol.spelling import MAX_KNOWN, did_you_mean
from weftwork.protocol.timestamps import iso
from weftwork.protocol.wire import idempotency


@each_case(
    "text, fits",
    *(
        [("a", True), ("Acme-1.x_y", True), ("9", True), ("a" * 64, True), ("a" * 65, False), ("", False)]
        + [(text, False) for text in (".a", "-a", "_a", "a:b", "a/b", "a b", "a\n", "ä", "a\0")]
    ),
)
def test_a_tenant_is_a_short_plain_name(text: str, fits: bool) -> None:
    assert is_tenant(text) is fits


@each_case(
    "text, fits",
    *(
        [("run-1", True), ("A~.z", True), ("x" * 128, True), ("x" * 129, False), ("", False)]
        + [(text, False) for text in ("a:b", "a/b", "a b", "a\n", "ä", "a%20")]
    ),
)
def test_a_path_id_needs_no_escaping(text: str, fits: bool) -> None:
    assert is_path_id(text) is fits


@pytest.mark.rule("idem-04")
@for_all(100, st.text(max_size=300) | st.text("!a~ \x7f\n", max_size=300), full=4_000)
def test_an_idempotency_key_is_printable_ascii_without_spaces(text: str) -> None:
    fits = 1 <= len(text) <= 255 and all("!" <= each <= "~" for each in text)
    assert is_idempotency_key(text) is fits
    if fits:
        idempotency.check_key(text)
    else:
        with pytest.raises(ClientFault) as caught:
            idempotency.check_key(text)
        assert caught.value.code == "validation_error"
        assert len(text) < 20 or text not in str(caught.value)


@pytest.mark.rule("idem-04")
@each_case("text, fits", ("k" * 255, True), ("k" * 256, False), ("k\n", False), ("\u00e9", False))
def test_the_edges_of_an_idempotency_key(text: str, fits: bool) -> None:
    assert is_idempotency_key(text) is fits


@pytest.mark.rule("auth-03")
def test_the_mode_of_a_key_is_part_of_the_partition() -> None:
    assert TEST_KEY_PREFIX == "hk_test_"
    assert [mode_of_key(key) for key in ("hk_test_x", "hk_live_x", "xhk_test_", "HK_TEST_x", "")] == [
        "test",
        "live",
        "live",
        "live",
        "live",
    ]
    assert partition("acme", "live") != partition("acme", "test")


@pytest.mark.rule("auth-03")
@settings(max_examples=example_count(100), deadline=None)
@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,8}", fullmatch=True), st.from_regex(r"[a-z.-]{1,5}", fullmatch=True))
def test_no_two_tenants_share_a_partition(one: str, other: str) -> None:
    partitions = {partition(tenant, mode) for tenant, mode in product({one, other}, ("live", "test"))}
    assert len(partitions) == 2 * len({one, other})


@pytest.mark.rule("idem-01", "idem-02")
def test_records_are_kept_for_a_day_in_slots_by_tenant_operation_and_key() -> None:
    assert idempotency.RETENTION_SECONDS == 24 * 60 * 60
    places = list(product(("live:a", "test:a", "live:b"), ("createRun", "cancelRun/run-1"), ("k", "k2")))
    slots = {place: idempotency.record_key(*place) for place in places}
    assert len(set(slots.values())) == len(places)
    assert all(re.fullmatch("[0-9a-f]{64}", slot) for slot in slots.values())
    assert slots["live:a", "createRun", "k"] == hashlib.sha256(b"live:a:createRun:k").hexdigest()


@pytest.mark.rule("idem-03")
@each_case(
    "one, other, same",
    ({"a": 1, "b": [1.0]}, {"b": [1], "a": 1}, True),
    ({"a": 1}, {"a": "1"}, False),
    ({"a": None}, {}, False),
    ([1, 2], [2, 1], False),
)
def test_the_same_key_with_another_body_is_a_conflict(one: Any, other: Any, same: bool) -> None:
    recorded, offered = digest(one), digest(other)
    if same:
        idempotency.check_fingerprint(recorded, offered)
    else:
        with pytest.raises(ClientFault) as caught:
            idempotency.check_fingerprint(recorded, offered)
        assert (caught.value.code, caught.value.status) == ("idempotency_key_mismatch", 409)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST = (datetime(1, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)
LAST = (datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC) - EPOCH) // timedelta(milliseconds=1)


def expected(milliseconds: int) -> str:
    text = (EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


@for_all(250, st.integers(FIRST, LAST), full=10_000)
@example(0)
@example(-1)
@example(951_782_400_000)
@example(FIRST)
@example(LAST)
def test_an_instant_is_written_as_iso_8601_in_utc(milliseconds: int) -> None:
    assert iso(milliseconds) == expected(milliseconds)


@each_case("year", 1600, 1700, 1900, 1970, 2000, 2024, 2026, 2100, 2400)
def test_every_day_around_the_end_of_february_is_right(year: int) -> None:
    start = (datetime(year, 2, 26, tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)
    for day in range(5):
        assert iso(start + day * 86_400_000) == expected(start + day * 86_400_000)


def test_kept_dates_are_bounded_and_stay_right() -> None:
    for day in range(500):
        assert iso(day * 86_400_000) == expected(day * 86_400_000)
    assert timestamps._iso_seconds.cache_info().currsize <= 64


@for_all(150, st.integers(FIRST, LAST), full=6_000)
def test_an_instant_is_read_again(milliseconds: int) -> None:
    assert timestamps.parse_iso(iso(milliseconds)) == milliseconds
    assert re.fullmatch(timestamps.INSTANT_PATTERN, iso(milliseconds))


@each_case(
    "text, value",
    ("1970-01-01T00:00:00Z", 0),
    ("2024-02-29T23:59:59.9Z", 1_709_251_199_900),
    ("2026-01-01T00:00:00.123456789Z", 1_767_225_600_123),
    ("2026-02-30T00:00:00Z", 1_772_409_600_000),
    ("2026-01-01T00:00:00", None),
    ("2026-01-01T00:00:00+00:00", None),
    ("2026-01-01 00:00:00Z", None),
    ("2026-13-01T00:00:00Z", None),
    ("2026-01-01T24:00:00Z", None),
    ("2026-01-01T00:00:00.Z", None),
    ("\u0662026-01-01T00:00:00Z", None),
    ("2026-01-01T00:00:00Z\n", None),
    ("", None),
)
def test_what_is_no_instant_in_utc_is_none(text: str, value: int | None) -> None:
    assert timestamps.parse_iso(text) == value


OUR_OWN = {
    "a2ui_surface_invalid",
    "interrupt_already_resolved",
    "interrupt_expired",
    "untrusted_content_blocks_approval",
    "channel_access_denied",
    "channel_cross_engine_write_forbidden",
    "annotation_limit_reached",
    "conflict",
    "run_terminal",
    "unsupported_mock_provider",
    "method_not_allowed",
    "payload_too_large",
    "unsupported_media_type",
    "unsupported_modality",
    "service_unavailable",
    "workflow_version_conflict",
    "workflow_limit_reached",
    "tenant_quota_exceeded",
}
"""Codes that are settled but that the official client does not list."""


@each_case("code", *ERRORS)
def test_every_code_has_a_status_and_says_when_it_is_used(code: str) -> None:
    row = ERRORS[code]
    assert re.fullmatch("[a-z][a-z0-9]*(_[a-z]+)*", code)
    assert 400 <= HTTPStatus(row.status) < 600
    assert re.fullmatch(r"[A-Z].{10,100}\.", row.when)


def test_the_table_of_codes_says_which_are_retried_and_which_are_our_own() -> None:
    retryable = {code for code, row in ERRORS.items() if row.retryable}
    waiting = {"run_already_active", "idempotency_in_flight", "rate_limited", "internal_error", "service_unavailable"}
    assert retryable == waiting
    assert {code for code in ERRORS if not is_http_error_code(code)} == OUR_OWN
    assert OUR_OWN.isdisjoint(HTTP_ERROR_CODES)


STATUS_OF_CODES = """
    400 validation_error    401 unauthenticated      401 key_expired         401 key_revoked
    403 forbidden           404 not_found            405 method_not_allowed  409 run_already_active
    409 idempotency_key_mismatch                     413 payload_too_large   415 unsupported_media_type
    422 capability_required 429 rate_limited         500 internal_error      501 capability_not_provided
    503 service_unavailable
""".split()


def test_a_fault_has_the_status_of_its_code_and_a_code_of_a_run_says_what_happened() -> None:
    for status, code in zip(STATUS_OF_CODES[::2], STATUS_OF_CODES[1::2], strict=True):
        assert ClientFault(code, "Text.").status == int(status), code
    assert all(re.fullmatch("[a-z]+(_[a-z]+)*", code) and text.endswith(".") for code, text in RUN_ERRORS.items())


@pytest.mark.rule("err-01")
@pytest.mark.parametrize("details", [None, {}, {"pointer": "/a"}])
def test_the_envelope_holds_code_message_and_details_alone(details: dict[str, str] | None) -> None:
    document = error_document("not_found", "Nothing here.", details)
    assert document == {"error": "not_found", "message": "Nothing here."} | ({"details": details} if details else {})
    assert schema.check("error-envelope", document) == []
    assert schema.check("error-envelope", {**document, "code": "x"})


def test_an_invalid_request_is_pointed_at_with_a_code_of_the_table() -> None:
    fault = invalid("No.", "/a/0", parameter="x")
    assert isinstance(fault, Fault)
    assert not isinstance(fault, HostFault)
    assert (fault.code, fault.details) == ("validation_error", {"pointer": "/a/0", "parameter": "x"})
    assert str(fault) == "validation_error: No."
    with pytest.raises(KeyError):
        ClientFault("teapot", "Short and stout.")


@each_case(
    "name, known, hint",
    ("prot", ["port", "host"], "; did you mean port?"),
    ("core.dealy", ["core.delay", "core.noop"], "; did you mean core.delay?"),
    ("colour", ["port", "host"], ""),
    ("", ["port"], ""),
    ("a" * 65, ["a" * 64], ""),
    ("port", [*(f"x{number}" for number in range(MAX_KNOWN)), "port"], ""),
)
def test_a_similar_name_is_suggested(name: str, known: list[str], hint: str) -> None:
    assert did_you_mean(name, known) == hint


@for_all(
    300, text=st.dates().map(str) | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", fullmatch=True) | st.text(max_size=11)
)
def test_a_date_is_a_day_of_the_calendar(text: str) -> None:
    try:
        expected = re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        # Python has no year 0, which is a leap year.
        expected = text.startswith("0000") and bool(_date_or_none(f"2000{text[4:]}"))
    assert timestamps.is_date(text) is expected


def _date_or_none(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
