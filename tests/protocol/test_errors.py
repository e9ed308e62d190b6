"""The error table and the envelope."""

import re
from http import HTTPStatus

import pytest
from openwop_client import HTTP_ERROR_CODES, is_http_error_code

from weftwork.protocol.errors import ERRORS, RUN_ERRORS, ClientFault, Fault, HostFault, error_document, invalid
from weftwork.protocol.json import schema

OUR_OWN = {
    "interrupt_already_resolved",
    "interrupt_expired",
    "untrusted_content_blocks_approval",
    "interrupt_gone",
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
}
"""Codes that are settled but that the official client does not list."""


@pytest.mark.parametrize("code", ERRORS)
def test_every_code_has_a_status_and_says_when_it_is_used(code: str) -> None:
    row = ERRORS[code]
    assert re.fullmatch("[a-z]+(_[a-z]+)*", code)
    assert 400 <= HTTPStatus(row.status) < 600
    assert re.fullmatch(r"[A-Z].{10,100}\.", row.when)


def test_a_retry_can_help_only_where_time_changes_the_answer() -> None:
    retryable = {code for code, row in ERRORS.items() if row.retryable}
    waiting = {"run_already_active", "idempotency_in_flight", "rate_limited", "internal_error", "service_unavailable"}
    assert retryable == waiting


def test_the_official_client_knows_our_codes() -> None:
    assert {code for code in ERRORS if not is_http_error_code(code)} == OUR_OWN
    assert OUR_OWN.isdisjoint(HTTP_ERROR_CODES)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("validation_error", 400),
        ("unauthenticated", 401),
        ("key_expired", 401),
        ("key_revoked", 401),
        ("forbidden", 403),
        ("not_found", 404),
        ("method_not_allowed", 405),
        ("run_already_active", 409),
        ("idempotency_key_mismatch", 409),
        ("payload_too_large", 413),
        ("unsupported_media_type", 415),
        ("capability_required", 422),
        ("rate_limited", 429),
        ("internal_error", 500),
        ("capability_not_provided", 501),
        ("service_unavailable", 503),
    ],
)
def test_a_fault_has_the_status_of_its_code(code: str, status: int) -> None:
    assert ClientFault(code, "Text.").status == status


def test_codes_of_runs_say_what_happened() -> None:
    assert all(re.fullmatch("[a-z]+(_[a-z]+)*", code) and text.endswith(".") for code, text in RUN_ERRORS.items())


@pytest.mark.rule("err-01")
@pytest.mark.parametrize("details", [None, {}, {"pointer": "/a"}])
def test_the_envelope_holds_code_message_and_details_alone(details: dict[str, str] | None) -> None:
    document = error_document("not_found", "Nothing here.", details)
    assert document == {"error": "not_found", "message": "Nothing here."} | ({"details": details} if details else {})
    assert schema.check("error-envelope", document) == []
    assert schema.check("error-envelope", {**document, "code": "x"})


def test_an_invalid_request_is_pointed_at() -> None:
    fault = invalid("No.", "/a/0", parameter="x")
    assert isinstance(fault, Fault)
    assert not isinstance(fault, HostFault)
    assert (fault.code, fault.details) == ("validation_error", {"pointer": "/a/0", "parameter": "x"})
    assert str(fault) == "validation_error: No."


def test_a_code_outside_the_table_cannot_be_raised() -> None:
    with pytest.raises(KeyError):
        ClientFault("teapot", "Short and stout.")
