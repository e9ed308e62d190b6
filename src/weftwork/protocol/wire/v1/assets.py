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
"""The path prefix of assets; the rest of the path is a token."""
SAMPLE_ASSET_PREFIX: Final = path_prefix("getSampleAsset")
ASSET_PREFIXES: Final = (ASSET_PREFIX, SAMPLE_ASSET_PREFIX)
"""Every response below these paths has the headers of an asset, errors included."""
MAX_UPLOAD_DAYS: Final = 3_650
DIGEST_PATTERN: Final = "^[0-9a-f]{64}$"
ASSET_CURSOR_PATTERN: Final = "^[0-9]{1,15}[.][0-9a-f]{64}$"
"""Creation time of an asset in milliseconds, and its digest. A cursor stays valid after its asset is deleted."""

_NAME_SCHEMA: Final[dict[str, Any]] = {"type": "string", "maxLength": 1024}
_serve: Final = partial(
    Route,
    path_patterns={"token": ASSET_TOKEN_PATTERN},
    params=(
        Parameter(
            "Range",
            STRING_SCHEMA,
            "A single byte range returns 206; any other value returns 200 and all bytes.",
            "header",
        ),
        Parameter("If-Range", STRING_SCHEMA, "Apply Range only if the asset has this ETag.", "header"),
        IF_NONE_MATCH,
    ),
    errors=("not_found",),
    content=ANY_TYPE,
)

ASSET_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        *operation("uploadAsset"),
        "Upload an asset. The body is the content, of any type; runs refer to it by its mediaRef.",
        scope="runs:create",
        success_status=201,
        response="asset-upload",
        params=(
            Parameter("name", _NAME_SCHEMA, "The file name for downloads."),
            integer_parameter(
                "days",
                1,
                MAX_UPLOAD_DAYS,
                "Days until the asset is deleted if no run refers to it; `upload_days` by default.",
            ),
            Parameter(
                "sha256",
                {"type": "string", "pattern": DIGEST_PATTERN},
                "Refuse the upload if its SHA-256 digest is different.",
            ),
            Parameter(
                "Content-Digest", STRING_SCHEMA, "The expected digest by RFC 9530, as `sha-256=:BASE64:`.", "header"
            ),
        ),
        errors=("rate_limited",),
        raw_body=True,
    ),
    Route(
        *operation("listAssets"),
        "List the tenant's assets, newest first, each with a URL that is valid for 30 minutes.",
        scope="artifacts:read",
        response="asset-list",
        params=(
            Parameter("runId", {"type": "string", "pattern": ID_PATTERN}, "Only assets that this run refers to."),
            page_limit("Assets"),
            page_cursor(ASSET_CURSOR_PATTERN),
        ),
    ),
    _serve(
        *operation("getAsset"),
        "Download an asset by its signed URL. Requires no API key.",
    ),
    _serve(
        *operation("getSampleAsset"),
        "The same operation at the path that the conformance suite uses. Requires no API key.",
    ),
    Route(
        *operation("putMedia"),
        "Store bytes for a limited time and return their URL.",
        scope="runs:create",
        success_status=201,
        request="media-put",
        response="media-put-response",
        test_only=True,
    ),
)
