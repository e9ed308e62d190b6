"""The description of one HTTP operation, and the parameters that several operations share."""

from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.ids import ID_PATTERN
from weftwork.protocol.wire.streams import CURSOR_PATTERN

REPLAY_HEADER: Final = "openwop-Idempotent-Replay"
MAX_PAGE: Final = 200
MAX_EVENTS: Final = 10_000
MAX_CURSOR: Final = 2**53 - 1
DEFAULT_POLL_SECONDS: Final = 30
MAX_POLL_SECONDS: Final = 60


class Parameter(msgspec.Struct, frozen=True):
    """A query or header parameter; `schema` is its JSON Schema."""

    name: str
    schema: dict[str, Any]
    description: str
    location: Literal["query", "header"] = "query"
    required: bool = False


class Route(msgspec.Struct, frozen=True):
    """One HTTP operation.

    scope: the scope that an API key needs; None for a public operation.
    success_status, other_success_statuses: the statuses of success, which have the same body.
    request, response: names of the schemas of the bodies.
    errors: error codes in addition to those of every operation and of every operation with a scope.
    test_only: the route exists only with --test-seams.
    stream: the response can be an event stream.
    unprocessable: a body that matches its schema can still be refused, with status 422.
    content: the media type of the response.
    refusal: the schema of a second form of error body with status 400.
    raw_body: the request body is arbitrary bytes.
    body_optional: the request body may be absent.
    path_patterns: the patterns of path parameters that are not ids.
    """

    operation_id: str
    method: str
    path: str
    summary: str
    scope: str | None = None
    success_status: int = 200
    request: str | None = None
    response: str | None = None
    params: tuple[Parameter, ...] = ()
    errors: tuple[str, ...] = ()
    test_only: bool = False
    stream: bool = False
    other_success_statuses: tuple[int, ...] = ()
    unprocessable: bool = False
    content: str = "application/json"
    refusal: str | None = None
    raw_body: bool = False
    body_optional: bool = False
    path_patterns: dict[str, str] = {}


STRING_SCHEMA: Final[dict[str, Any]] = {"type": "string"}
SEQUENCE_SCHEMA: Final[dict[str, Any]] = {"type": "integer", "minimum": -1, "maximum": MAX_CURSOR}
IDEMPOTENCY_KEY = Parameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    "A repeated request with the same key and body returns the first outcome again.",
    "header",
)
DEDUP = Parameter(
    "X-Dedup", {"enum": ["enforce"]}, "Refuse the request while another run with the same scopeId is active.", "header"
)
LAST_EVENT_ID = Parameter(
    "Last-Event-ID",
    {"type": "string", "pattern": f"^({CURSOR_PATTERN})?$"},
    "Resume after the frame with this id.",
    "header",
)
IF_NONE_MATCH = Parameter("If-None-Match", STRING_SCHEMA, "Return 304 if the document still has this ETag.", "header")


def integer_parameter(name: str, least: int, most: int, description: str) -> Parameter:
    return Parameter(name, {"type": "integer", "minimum": least, "maximum": most}, description)


def page_limit(items: str) -> Parameter:
    return integer_parameter("limit", 1, MAX_PAGE, f"{items} per page, 50 by default.")


def page_cursor(pattern: str = ID_PATTERN) -> Parameter:
    return Parameter("cursor", {"type": "string", "pattern": pattern}, "The nextCursor of the previous page.")


JAVASCRIPT_TYPE: Final = "text/javascript"
ANY_TYPE: Final = "*/*"
