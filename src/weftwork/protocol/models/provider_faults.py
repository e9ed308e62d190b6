"""What a failed call of a model provider means: one table of HTTP statuses, error codes and failed connections.

Error bodies of providers often quote the request, and sometimes the key. Only the names in them are read: each row has
the host's own message.

Sources: RFC 0091 (failure codes), RFC 9110 section 10.2.3 (Retry-After); statuses and error codes of servers with the
chat completions API.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.timestamps import parse_iso

Remedy = Literal["none", "node", "repeat", "wait", "refusal"]
"""What helps after a failure. `none`: nothing, the node fails. `node`: the retries of the node. `repeat`: repeating the
call after a moment, then the retries of the node. `wait`: the same, then waiting until the provider is available again.
`refusal`: the provider refused to answer, which is an answer."""


class FaultRow(msgspec.Struct, frozen=True):
    code: str
    """The code of the protocol."""
    text: str
    """The message, with `{provider}` for the name of the provider."""
    remedy: Remedy = "none"

    @property
    def is_retryable(self) -> bool:
        return self.remedy in ("node", "repeat", "wait")

    def message(self, provider: str) -> str:
        return self.text.format(provider=provider)


_CREDENTIAL: Final = FaultRow(
    "provider_unavailable",
    "The provider {provider} rejects the key of this host, or needs one; check the environment variable that "
    "`credential` in [providers.{provider}] names.",
)
_INVALID_REQUEST: Final = FaultRow(
    "invalid_request", "The provider {provider} does not accept the request; check the settings of the node."
)
_UNKNOWN_MODEL: Final = FaultRow(
    "model_not_supported",
    "The provider {provider} does not have the requested model at its address; check the model and `base_url`.",
)
_TOO_LONG: Final = FaultRow("content_too_long", "The request is too long for the model of the provider {provider}.")
_QUOTA: Final = FaultRow(
    "provider_quota_exhausted", "The account of this host at the provider {provider} has no quota left."
)
_RATE_LIMIT: Final = FaultRow("provider_rate_limited", "The provider {provider} limits the rate of calls.", "wait")
_DOWN: Final = FaultRow("provider_unavailable", "The provider {provider} is down or overloaded.", "wait")
_TIMED_OUT: Final = FaultRow("provider_timed_out", "The provider {provider} did not answer in time.", "wait")
_REFUSAL: Final = FaultRow("content_filtered", "The provider {provider} refuses to answer the request.", "refusal")
_SCHEMA: Final = FaultRow(
    "response_schema_invalid", "The provider {provider} does not support the schema of the requested answer."
)
_MOVED: Final = FaultRow(
    "provider_unavailable", "The provider {provider} redirects calls to another address; correct its `base_url`."
)

INVALID_ANSWER: Final = FaultRow(
    "provider_unavailable", "The provider {provider} sent a response that is not valid for its API.", "repeat"
)
INCOMPLETE_ANSWER: Final = FaultRow(
    "provider_unavailable", "The answer of the provider {provider} was cut off before its end.", "repeat"
)
TOO_LARGE_ANSWER: Final = FaultRow(
    "provider_unavailable", "The answer of the provider {provider} is larger than this host accepts."
)
NO_CREDENTIAL: Final = FaultRow(
    "provider_unavailable",
    "The host has no usable key for the provider {provider}; check the variable that `credential` names in "
    "[providers.{provider}]: a key is one line of ASCII.",
)

STATUS_FAULTS: Final[Mapping[int, FaultRow]] = {
    400: _INVALID_REQUEST,
    401: _CREDENTIAL,
    402: _QUOTA,
    403: _CREDENTIAL,
    404: _UNKNOWN_MODEL,
    408: _TIMED_OUT,
    409: _DOWN,
    413: _TOO_LONG,
    422: _INVALID_REQUEST,
    425: _DOWN,
    429: _RATE_LIMIT,
    498: _RATE_LIMIT,
    501: _INVALID_REQUEST,
    504: _TIMED_OUT,
}
"""The row of a status. Another 3xx, 4xx or 5xx has the row of its class."""

ERROR_CODE_FAULTS: Final[Mapping[str, FaultRow]] = {
    "invalid_api_key": _CREDENTIAL,
    "incorrect_api_key": _CREDENTIAL,
    "authentication_error": _CREDENTIAL,
    "permission_denied": _CREDENTIAL,
    "model_not_found": _UNKNOWN_MODEL,
    "model_not_available": _UNKNOWN_MODEL,
    "deploymentnotfound": _UNKNOWN_MODEL,
    "context_length_exceeded": _TOO_LONG,
    "exceed_context_size_error": _TOO_LONG,
    "string_above_max_length": _TOO_LONG,
    "request_too_large": _TOO_LONG,
    "insufficient_quota": _QUOTA,
    "billing_hard_limit_reached": _QUOTA,
    "billing_not_active": _QUOTA,
    "rate_limit_exceeded": _RATE_LIMIT,
    "rate_limit_error": _RATE_LIMIT,
    "tokens_exceeded_error": _RATE_LIMIT,
    "server_overloaded": _DOWN,
    "overloaded_error": _DOWN,
    "engine_overloaded": _DOWN,
    "unavailable_error": _DOWN,
    "server_error": _DOWN,
    "content_filter": _REFUSAL,
    "content_policy_violation": _REFUSAL,
    "responsibleaipolicyviolation": _REFUSAL,
    "invalid_json_schema": _SCHEMA,
    "json_validate_failed": INVALID_ANSWER,
}
"""The row of an error code of the wire, in lower case. It comes before the row of the status."""

TRANSPORT_FAULTS: Final[Mapping[str, FaultRow]] = {
    "refused": FaultRow(
        "provider_unavailable",
        "Requests to the provider {provider} are blocked: its address or its headers are not allowed. If it is on a "
        "private network, set allow_private_network = true in [providers.{provider}].",
    ),
    "connect": FaultRow(
        "provider_unavailable",
        "The host could not connect to the provider {provider}; check that its server runs, and `base_url` in "
        "[providers.{provider}].",
        "wait",
    ),
    "first_byte": _TIMED_OUT,
    "idle": FaultRow("provider_timed_out", "The provider {provider} stopped in its answer.", "wait"),
    "total": FaultRow("provider_timed_out", "The answer of the provider {provider} took too long.", "node"),
    "lost": FaultRow("provider_unavailable", "The connection to the provider {provider} was lost.", "repeat"),
    "invalid": INVALID_ANSWER,
    "too_large": TOO_LARGE_ANSWER,
}
"""The row of each reason why the outbound client has no complete response, and of a request that it refused."""

MAX_RETRY_AFTER_MS: Final = 3_600_000
"""A longer Retry-After counts as this long, so that a wrong value cannot stop a run for days."""
MAX_NAMES: Final = 8
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_MONTHS: Final = "JanFebMarAprMayJunJulAugSepOctNovDec"
_HTTP_DATE: Final = re.compile(r"[A-Z][a-z]{2}, ([0-9]{2}) ([A-Z][a-z]{2}) ([0-9]{4}) ([0-9]{2}:[0-9]{2}:[0-9]{2}) GMT")
_SECONDS: Final = re.compile(r"([0-9]{1,12})(?:\.[0-9]{0,12})?")


def fault_of_status(status: int, names: Iterable[str] = ()) -> FaultRow:
    """model-50 (RFC 0091): the row for an error response. `names` are those that `error_names` found in its body."""
    row = fault_of_names(names)
    # Some servers send the type `server_error` with every status, and a wrong credential must not count as an outage.
    if row is not None and not (row is _DOWN and 400 <= status < 500):
        return row
    if status in STATUS_FAULTS:
        return STATUS_FAULTS[status]
    if status >= 500:
        return _DOWN
    if status >= 400:
        return _INVALID_REQUEST
    return _MOVED if status >= 300 else INVALID_ANSWER


def fault_of_names(names: Iterable[str]) -> FaultRow | None:
    """model-50 (RFC 0091): the row for the first known name; None if no name is known."""
    return next((ERROR_CODE_FAULTS[name] for name in names if name in ERROR_CODE_FAULTS), None)


def error_names(document: Any) -> list[str]:
    """The names in an error body that say what went wrong, in lower case, the most specific first. Texts are ignored.

    Servers differ in the place: `error.code`, `error.innererror.code`, `error.type`, or the same without `error`.
    """
    holder = document[0] if is_array(document) and document else document
    error = holder.get("error", holder) if is_object(holder) else None
    if not is_object(error):
        return []
    inner = error.get("innererror")
    found: list[Any] = [inner.get("code")] if is_object(inner) else []
    found += [error.get("code"), error.get("type")]
    if str(error.get("param")).startswith("response_format"):
        found.insert(0, "invalid_json_schema")
    return [each.lower() for each in found if isinstance(each, str) and _NAME.fullmatch(each)][:MAX_NAMES]


def retry_after_ms(value: str | None, now: int) -> int | None:
    """model-51 (RFC 9110): the delay of a Retry-After header, in seconds or as a date, from `now` in milliseconds since
    the epoch. None if there is no valid value; at most MAX_RETRY_AFTER_MS."""
    if value is None:
        return None
    text = value.strip()
    if _SECONDS.fullmatch(text):
        delay = int(float(text) * 1000)
    else:
        instant = _parse_http_date(text)
        if instant is None:
            return None
        delay = instant - now
    return min(max(delay, 0), MAX_RETRY_AFTER_MS)


def _parse_http_date(text: str) -> int | None:
    """Milliseconds since the epoch of a date in the only form that servers may send; None for other texts."""
    match = _HTTP_DATE.fullmatch(text)
    if match is None:
        return None
    day, name, year, time = match.groups()
    month, rest = divmod(_MONTHS.find(name), 3)
    return None if rest or month < 0 else parse_iso(f"{year}-{month + 1:02}-{day}T{time}Z")
