"""Operations on assets: upload, list, serve."""

from functools import partial
from typing import Any, Final

from weftwork.protocol.ids import ID_PATTERN
from weftwork.protocol.media.asset_references import ASSET_TOKEN_PATTERN
from weftwork.protocol.wire.route import (
    ANY_TYPE,
    IF_NONE_MATCH,
    STRING_SCHEMA,
    Parameter,
    Route,
    integer_parameter,
    page_cursor,
    page_limit,
)
from weftwork.protocol.wire.v1.paths import operation, path_prefix

ASSET_PREFIX: Final = path_prefix("getAsset")
"""Where assets are served; the rest of the path is a token."""
SAMPLE_ASSET_PREFIX: Final = path_prefix("getSampleAsset")
ASSET_PREFIXES: Final = (ASSET_PREFIX, SAMPLE_ASSET_PREFIX)
"""Every response below these paths has the headers of an asset, errors included."""
MAX_UPLOAD_DAYS: Final = 3_650
DIGEST_PATTERN: Final = "^[0-9a-f]{64}$"
ASSET_CURSOR_PATTERN: Final = "^[0-9]{1,15}[.][0-9a-f]{64}$"
"""When an asset was created, in milliseconds, and its digest: a place in the list, even after the asset is gone."""

_NAME_SCHEMA: Final[dict[str, Any]] = {"type": "string", "maxLength": 1024}
_serve: Final = partial(
    Route,
    path_patterns={"token": ASSET_TOKEN_PATTERN},
    params=(
        Parameter("Range", STRING_SCHEMA, "One range of bytes is answered with 206, anything else with 200.", "header"),
        Parameter("If-Range", STRING_SCHEMA, "The range counts only if the asset has this entity tag.", "header"),
        IF_NONE_MATCH,
    ),
    errors=("not_found",),
    content=ANY_TYPE,
)

ASSET_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        *operation("uploadAsset"),
        "Keep the bytes of the body, whatever they are, for runs to refer to.",
        scope="runs:create",
        success_status=201,
        response="asset-upload",
        params=(
            Parameter("name", _NAME_SCHEMA, "The name under which the bytes are saved by whoever opens the URL."),
            integer_parameter(
                "days",
                1,
                MAX_UPLOAD_DAYS,
                "Days that the asset stays if no run refers to it; `upload_days` by default.",
            ),
            Parameter(
                "sha256", {"type": "string", "pattern": DIGEST_PATTERN}, "Take the bytes only if this is their digest."
            ),
            Parameter("Content-Digest", STRING_SCHEMA, "The same by RFC 9530, as `sha-256=:BASE64:`.", "header"),
        ),
        errors=("rate_limited",),
        raw_body=True,
    ),
    Route(
        *operation("listAssets"),
        "The tenant's assets, newest first, each with a URL that lasts for 30 minutes.",
        scope="artifacts:read",
        response="asset-list",
        params=(
            Parameter("runId", {"type": "string", "pattern": ID_PATTERN}, "Only those that this run refers to."),
            page_limit("Assets"),
            page_cursor(ASSET_CURSOR_PATTERN),
        ),
    ),
    _serve(
        *operation("getAsset"),
        "The bytes that a URL of an asset leads to. Needs no key.",
    ),
    _serve(
        *operation("getSampleAsset"),
        "The same under the path of the conformance suite. Needs no key.",
    ),
    Route(
        *operation("putMedia"),
        "Keep bytes for a while and tell their URL.",
        scope="runs:create",
        success_status=201,
        request="media-put",
        response="media-put-response",
        test_only=True,
    ),
)
