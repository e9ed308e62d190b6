"""What one operation of the wire is, and the parameters that several operations share."""

from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.wire.streams import CURSOR_PATTERN

REPLAY_HEADER: Final = "openwop-Idempotent-Replay"
MAX_PAGE: Final = 200
MAX_EVENTS: Final = 10_000
MAX_CURSOR: Final = 2**53 - 1
POLL_SECONDS: Final = 30
MAX_POLL_SECONDS: Final = 60


class Param(msgspec.Struct, frozen=True):
    """A query or header parameter; `schema` is its JSON Schema."""

    name: str
    schema: dict[str, Any]
    text: str
    where: Literal["query", "header"] = "query"
    required: bool = False


class Route(msgspec.Struct, frozen=True):
    """One operation. `scope` None means public; `seam` routes exist only with --test-seams.

    `ok` is the status of success, `also` holds others with the same body. `unprocessable`: a body can be refused with
    422 for what it means. `content` is the media type of success, `refusal` the schema of one more form of 400. `raw`:
    the body is any bytes.
    """

    operation: str
    method: str
    path: str
    text: str
    scope: str | None = None
    ok: int = 200
    request: str | None = None
    response: str | None = None
    params: tuple[Param, ...] = ()
    errors: tuple[str, ...] = ()
    seam: bool = False
    stream: bool = False
    also: tuple[int, ...] = ()
    unprocessable: bool = False
    content: str = "application/json"
    refusal: str | None = None
    raw: bool = False


TEXT: Final[dict[str, Any]] = {"type": "string"}
SEQUENCE: Final[dict[str, Any]] = {"type": "integer", "minimum": -1, "maximum": MAX_CURSOR}
IDEMPOTENCY = Param(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    "Repeating a request with the same key and body gives the first outcome again.",
    "header",
)
DEDUP = Param("X-Dedup", {"enum": ["enforce"]}, "Refuse when a run of the same scopeId is live.", "header")
CURSOR_HEADER = Param(
    "Last-Event-ID",
    {"type": "string", "pattern": f"^({CURSOR_PATTERN})?$"},
    "Resume after this id.",
    "header",
)
NOT_MODIFIED = Param("If-None-Match", TEXT, "Answers 304 when the document is unchanged.", "header")


ANY_TYPE: Final = "*/*"
