"""The table of provider faults, Retry-After, and the circuit breaker as a state machine."""

from email.utils import formatdate
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import example_count
from weftwork.ports.outbound import FailureReason
from weftwork.protocol.models import provider_faults
from weftwork.protocol.models.circuit_breaker import (
    FAILURES_TO_OPEN,
    MAX_WAIT_MS,
    PROBE_WAIT_MS,
    Circuit,
    admit,
    after_cancel,
    after_failure,
    down_wait_ms,
)
from weftwork.protocol.models.provider_faults import (
    ERROR_CODE_FAULTS,
    MAX_RETRY_AFTER_MS,
    STATUS_FAULTS,
    TRANSPORT_FAULTS,
    error_names,
    fault_of_status,
    retry_after_ms,
)

CODES = {
    "content_filtered",
    "content_too_long",
    "invalid_request",
    "model_not_supported",
    "provider_quota_exhausted",
    "provider_rate_limited",
    "provider_timed_out",
    "provider_unavailable",
    "response_schema_invalid",
}


@pytest.mark.rule("model-50")
def test_every_row_has_a_code_of_the_protocol_and_a_message_of_the_host() -> None:
    rows = [*STATUS_FAULTS.values(), *ERROR_CODE_FAULTS.values(), *TRANSPORT_FAULTS.values()]
    assert {row.code for row in rows} == CODES
    for row in rows:
        assert "acme" in row.message("acme")
        assert "{" not in row.message("acme")
    assert set(TRANSPORT_FAULTS) == {*get_args(FailureReason), "refused"}
    assert all(name == name.lower() for name in ERROR_CODE_FAULTS)


@pytest.mark.rule("model-50")
@each_case(
    "status, code, remedy",
    (200, "provider_unavailable", "repeat"),
    (204, "provider_unavailable", "repeat"),
    (301, "provider_unavailable", "none"),
    (400, "invalid_request", "none"),
    (401, "provider_unavailable", "none"),
    (402, "provider_quota_exhausted", "none"),
    (403, "provider_unavailable", "none"),
    (404, "model_not_supported", "none"),
    (408, "provider_timed_out", "wait"),
    (409, "provider_unavailable", "wait"),
    (413, "content_too_long", "none"),
    (418, "invalid_request", "none"),
    (422, "invalid_request", "none"),
    (429, "provider_rate_limited", "wait"),
    (500, "provider_unavailable", "wait"),
    (501, "invalid_request", "none"),
    (502, "provider_unavailable", "wait"),
    (503, "provider_unavailable", "wait"),
    (504, "provider_timed_out", "wait"),
    (520, "provider_unavailable", "wait"),
    (529, "provider_unavailable", "wait"),
)
def test_a_status_has_a_row(status: int, code: str, remedy: str) -> None:
    row = fault_of_status(status)
    assert (row.code, row.remedy, row.is_retryable) == (code, remedy, remedy in ("repeat", "wait"))


@pytest.mark.rule("model-50")
@each_case(
    "document, code",
    ({"error": {"code": "insufficient_quota", "type": "rate_limit_error"}}, "provider_quota_exhausted"),
    ({"error": {"code": None, "type": "Rate_Limit_Error"}}, "provider_rate_limited"),
    ({"error": {"code": 400, "type": "exceed_context_size_error"}}, "content_too_long"),
    ({"error": {"code": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}, "content_filtered"),
    ({"error": {"code": "DeploymentNotFound"}}, "model_not_supported"),
    ([{"error": {"code": "model_not_found"}}], "model_not_supported"),
    ({"object": "error", "code": "context_length_exceeded"}, "content_too_long"),
    ({"error": {"type": "invalid_request_error", "param": "response_format.x"}}, "response_schema_invalid"),
    ({"error": "model_not_found"}, "invalid_request"),
    ({"error": {"code": ["model_not_found"]}}, "invalid_request"),
    ({"error": {"code": "x" * 10_000}}, "invalid_request"),
    ({"error": {"code": "unknown", "message": "model_not_found"}}, "invalid_request"),
    ([], "invalid_request"),
    (None, "invalid_request"),
)
def test_the_codes_of_an_error_body_come_before_the_status(document: Any, code: str) -> None:
    assert fault_of_status(400, error_names(document)).code == code


@pytest.mark.rule("model-50")
@each_case(
    "status, remedy",
    (401, "none"),
    (403, "none"),
    (404, "none"),
    (400, "none"),
    (429, "wait"),
    (408, "wait"),
    (500, "wait"),
    (503, "wait"),
)
def test_a_status_of_a_wrong_request_is_no_outage(status: int, remedy: str) -> None:
    assert fault_of_status(status, ["server_error"]).remedy == remedy


NOW = 1_767_225_600_000


@pytest.mark.rule("model-51")
@each_case(
    "value, expected",
    (None, None),
    ("0", 0),
    (" 7 ", 7_000),
    ("1.5", 1_500),
    ("3600", 3_600_000),
    ("1000000000", MAX_RETRY_AFTER_MS),
    ("9" * 13, None),
    ("-1", None),
    ("soon", None),
    ("", None),
    ("7 s", None),
    (formatdate(NOW / 1000 + 90, usegmt=True), 90_000),
    (formatdate(NOW / 1000 - 90, usegmt=True), 0),
    ("Fri, 31 Dec 9999 23:59:59 GMT", MAX_RETRY_AFTER_MS),
    ("Thu, 99 Jan 2026 00:00:00 GMT", None),
    ("Thu, 01 Jan 0001 00:00:00 GMT", 0),
    ("Thu, 01 Anf 2026 00:00:00 GMT", None),
    ("Thursday, 01-Jan-26 00:00:00 GMT", None),
)
def test_retry_after_is_seconds_or_a_date_within_bounds(value: str | None, expected: int | None) -> None:
    assert retry_after_ms(value, NOW) == expected


@pytest.mark.rule("model-51")
@settings(max_examples=example_count(100, full=5_000), deadline=None)
@given(st.text("0123456789 .,:+-GMTJanSu\0é", max_size=40))
def test_no_retry_after_breaks_the_host(value: str) -> None:
    delay = retry_after_ms(value, NOW)
    assert delay is None or 0 <= delay <= MAX_RETRY_AFTER_MS


@fails_without(provider_faults, "MAX_RETRY_AFTER_MS", 10**15)
def test_an_absurd_retry_after_is_bounded() -> None:
    assert retry_after_ms("1000000000", NOW) == 3_600_000


STEPS = st.lists(
    st.tuples(st.sampled_from(["call", "fail", "succeed", "cancel", "pass"]), st.integers(0, 400_000)), max_size=60
)


@pytest.mark.rule("model-52")
@settings(max_examples=example_count(200, full=10_000), deadline=None)
@given(STEPS)
def test_the_circuit_lets_calls_through_only_while_it_is_closed_or_one_probe(steps: list[tuple[str, int]]) -> None:
    circuit, now, failures = Circuit(), 0, 0
    calls: list[bool] = []
    """The calls in progress, and whether each is the probe."""
    for step, number in steps:
        if step == "pass":
            now += number
        elif step == "call":
            was_open = circuit.open_until is not None
            admission = admit(circuit, now)
            circuit = admission.circuit
            if admission.wait_ms is None:
                assert admission.is_probe == was_open
                assert not (admission.is_probe and any(calls))
                calls.append(admission.is_probe)
            else:
                assert was_open
                assert admission.wait_ms == PROBE_WAIT_MS or now + admission.wait_ms == circuit.open_until
        elif calls:
            is_probe = calls.pop(number % len(calls))
            if step == "fail":
                failures += 1
                circuit = after_failure(circuit, now, number, is_probe)
                assert (circuit.open_until is not None) >= (failures >= FAILURES_TO_OPEN or is_probe)
            elif step == "succeed":
                circuit, failures = Circuit(), 0
                calls = [False for _ in calls]
            else:
                circuit = after_cancel(circuit, is_probe)
            assert circuit.failures == failures
            assert circuit.is_probing == any(calls)


@pytest.mark.rule("model-52")
def test_the_wait_doubles_up_to_its_limit_and_is_random() -> None:
    assert [down_wait_ms(number, 1.0) for number in (1, 2, 3, 6)] == [5_000, 10_000, 20_000, 160_000]
    assert down_wait_ms(7, 1.0) == down_wait_ms(10**9, 1.0) == MAX_WAIT_MS
    assert down_wait_ms(1, 0.0) == 2_500
