"""What one operation of the wire is, and the parameters that several operations share."""

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
    """One operation of the wire.

    `scope` None means public. `errors` are those beyond what every operation, and every one with a
    scope, can answer. `success_status` has the status of success, `other_success_statuses` more with the same
    body, and `content` their media type. `test_only` routes exist only with --test-seams. `unprocessable`: a valid body
    can be refused with 422 for what it means. `refusal` is the schema of one more form of 400. `raw_body`: the body is
    any bytes. `body_optional`: a request may come without its body. `path_patterns` has the pattern of each path
    parameter that is not an id.
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
    "Repeating a request with the same key and body gives the first outcome again.",
    "header",
)
DEDUP = Parameter("X-Dedup", {"enum": ["enforce"]}, "Refuse when a run of the same scopeId is live.", "header")
LAST_EVENT_ID = Parameter(
    "Last-Event-ID", {"type": "string", "pattern": f"^({CURSOR_PATTERN})?$"}, "Resume after this id.", "header"
)
IF_NONE_MATCH = Parameter("If-None-Match", STRING_SCHEMA, "Answers 304 when the document is unchanged.", "header")


def integer_parameter(name: str, least: int, most: int, description: str) -> Parameter:
    return Parameter(name, {"type": "integer", "minimum": least, "maximum": most}, description)


def page_limit(items: str) -> Parameter:
    return integer_parameter("limit", 1, MAX_PAGE, f"{items} per page, 50 by default.")


def page_cursor(pattern: str = ID_PATTERN) -> Parameter:
    return Parameter("cursor", {"type": "string", "pattern": pattern}, "nextCursor of the page before.")


ANY_TYPE: Final = "*/*"
