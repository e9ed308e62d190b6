"""Grammars of the ids on the wire, and the storage partition of a tenant.

Run ids are URL-safe and contain neither `:` nor `/`, because official clients put them into paths unescaped, where a
verb follows the last colon (OpenWOP rest-endpoints, rule on `:verb` suffixes).
"""

import re
from typing import Final, Literal

Mode = Literal["live", "test"]
MODES: Final[tuple[Mode, ...]] = ("live", "test")

TEST_KEY_PREFIX: Final = "hk_test_"
"""Keys that start with this are test keys; all others are live (readings, Keys)."""

MAX_INTERRUPT_ID: Final = 160
MAX_NODE_ID: Final = 128
"""Maximum length of the nodeId of an event. The schema of definitions has no limit; `workflow.validation` has."""

_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
ID_PATTERN: Final = "^[A-Za-z0-9._~-]{1,128}$"
_ID = re.compile(ID_PATTERN[1:-1])
SCHEMA_FILE_PATTERN: Final = r"^[A-Za-z0-9._~-]{1,256}\.schema\.json$"
_SCHEMA_FILE = re.compile(SCHEMA_FILE_PATTERN[1:-1])
_IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def is_tenant(text: str) -> bool:
    """Whether `text` has 1 to 64 letters, digits, dots, dashes and underscores and starts with a letter or digit."""
    return _TENANT.fullmatch(text) is not None


def is_path_id(text: str) -> bool:
    """Whether a path segment can be the id of a run or workflow. If not, the response is 404 without a store lookup."""
    return _ID.fullmatch(text) is not None


def is_node_id(text: str) -> bool:
    """Whether a path segment can be the id of a node: any text of 1 to 128 characters, as in a definition."""
    return 1 <= len(text) <= MAX_NODE_ID


def is_surface_id(text: str) -> bool:
    """Whether a path segment can be the id of a surface: that of an envelope, or of an interrupt, which starts with the
    id of its node."""
    return 1 <= len(text) <= MAX_INTERRUPT_ID


def is_schema_file(text: str) -> bool:
    """Whether a path segment can be the file name of a schema. The file of an envelope kind contains the kind's name,
    so it may be longer than an id."""
    return _SCHEMA_FILE.fullmatch(text) is not None


def is_idempotency_key(text: str) -> bool:
    """idem-04 (OpenWOP rest-endpoints): at most 255 characters, printable ASCII without spaces."""
    return _IDEMPOTENCY_KEY.fullmatch(text) is not None


def parse_api_key(text: str) -> tuple[str, str, list[str] | None] | None:
    """auth-06 (readings, Keys): KEY=TENANT[:SCOPE+SCOPE], split at the first `=`, then at the first `:`.

    Returns key, tenant and scopes, or None if the text has another form. Scopes of None mean every scope.
    """
    key, _, rest = text.partition("=")
    tenant, colon, scopes = rest.partition(":")
    return (key, tenant, scopes.split("+") if colon else None) if key and tenant else None


def mode_of_key(key: str) -> Mode:
    """auth-03: the mode of a key is part of the partition, so a test key never reaches live data, nor a live key
    test data."""
    return "test" if key.startswith(TEST_KEY_PREFIX) else "live"


def partition(tenant: str, mode: Mode) -> str:
    """The prefix of every storage key, which separates tenants and modes in every store."""
    return f"{mode}:{tenant}"


def tenant_of(partition: str) -> str:
    """The tenant of a partition."""
    return partition.partition(":")[2]


def partitions_of_tenant(tenant: str) -> tuple[str, ...]:
    """The partitions of a tenant, one per mode."""
    return tuple([partition(tenant, mode) for mode in MODES])
