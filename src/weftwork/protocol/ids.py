"""Grammars of the ids that cross the wire, and the tenant partition.

Run ids are URL-safe and hold neither `:` nor `/`, because official clients paste them into paths
unescaped and verbs follow the last colon (OpenWOP rest-endpoints, rule on `:verb` suffixes).
"""

import re
from typing import Final, Literal

Mode = Literal["live", "test"]

TEST_KEY_PREFIX: Final = "hk_test_"
"""Keys that start with this are test keys; all others are live (readings, Keys)."""

MAX_NODE_ID: Final = 128
"""What the nodeId of an event may hold; the schema of definitions sets no bound."""

_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
ID_PATTERN: Final = "^[A-Za-z0-9._~-]{1,128}$"
_ID = re.compile(ID_PATTERN[1:-1])
SCHEMA_FILE_PATTERN: Final = r"^[A-Za-z0-9._~-]{1,256}\.schema\.json$"
_SCHEMA_FILE = re.compile(SCHEMA_FILE_PATTERN[1:-1])
_IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def is_tenant(text: str) -> bool:
    """A tenant name: 1 to 64 of letters, digits, dot, dash, underscore; starts with a letter or digit."""
    return _TENANT.fullmatch(text) is not None


def is_path_id(text: str) -> bool:
    """Whether a path segment can name a run or workflow at all; what cannot is simply not found."""
    return _ID.fullmatch(text) is not None


def is_node_id(text: str) -> bool:
    """Whether a path segment can name a node: any text of 1 to 128 characters, as definitions allow it."""
    return 1 <= len(text) <= MAX_NODE_ID


def is_schema_file(text: str) -> bool:
    """Whether a path segment can name a schema: that of a kind may have a long name."""
    return _SCHEMA_FILE.fullmatch(text) is not None


def is_idempotency_key(text: str) -> bool:
    """idem-04 (OpenWOP rest-endpoints): at most 255 characters, printable ASCII without spaces."""
    return _IDEMPOTENCY_KEY.fullmatch(text) is not None


def parse_api_key(text: str) -> tuple[str, str, list[str] | None] | None:
    """auth-06 (readings, Keys): KEY=TENANT[:SCOPE+SCOPE], split at the first `=`, then at the first `:`.

    Key, tenant and scopes, None for all of them; or None for a text of another form.
    """
    key, _, rest = text.partition("=")
    tenant, colon, scopes = rest.partition(":")
    return (key, tenant, scopes.split("+") if colon else None) if key and tenant else None


def mode_of_key(key: str) -> Mode:
    """auth-03: test keys never touch live data and the other way round, so the mode is in the partition."""
    return "test" if key.startswith(TEST_KEY_PREFIX) else "live"


def partition(tenant: str, mode: Mode) -> str:
    """The storage partition that every key in every store starts with."""
    return f"{mode}:{tenant}"
