"""Channels of a workflow: declarations, the shape of values for each reducer, and access lists.

A write is checked against its reducer, the channel's schema and the access list before it is appended to the log.
`fold.channel_state` computes the value of a channel from its writes.

Source: OpenWOP channels-and-reducers.
"""

from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.json.caller_schema import ANNOTATION_KEYWORDS, check_caller_schema, check_value
from weftwork.protocol.json.decoder import MAX_INTEGER
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_array, is_object

REDUCERS: Final = ("replace", "append", "merge", "counter", "votes", "feedback", "message")
"""chan-01 (OpenWOP channels-and-reducers): the reducers of the protocol. This host has no vendor reducers."""
LIST_REDUCERS: Final = frozenset({"append", "votes", "feedback", "message"})
"""Reducers whose channel is a list of the written values."""
EXPIRING_REDUCERS: Final = frozenset({"append", "votes", "feedback"})
MESSAGE_ROLES: Final = ("system", "user", "assistant", "tool", "agent")
MAX_CHANNEL_NAME: Final = 256
"""Maximum length of a channel's name and of a message's id."""


def shape_error(reducer: str, value: Any) -> str | None:
    """chan-04 (OpenWOP channels-and-reducers): why the reducer rejects the value, or None if it accepts it."""
    match reducer:
        case "message" if message_key(value) is None:
            return f"must be an object with a messageId of 1 to {MAX_CHANNEL_NAME} characters"
        case "message" if value.get("role") not in MESSAGE_ROLES:
            return f"must have a role, one of: {', '.join(MESSAGE_ROLES)}"
        case "message" if "content" not in value:
            return "must have content"
        case "merge" if not is_object(value):
            return "must be an object"
        case "counter" if isinstance(value, bool) or not (isinstance(value, int | float) and abs(value) <= MAX_INTEGER):
            return f"must be a number between -{MAX_INTEGER} and {MAX_INTEGER}"
        case "votes" if vote_key(value) is None:
            return "must be an object with a userId or voter that is a non-empty string"
        case _:
            return None


def vote_key(value: Any) -> str | None:
    """The voter: `userId`, or `voter` if there is no `userId`. None if neither is a non-empty string."""
    user: Any = value.get("userId", value.get("voter")) if is_object(value) else None
    return user if isinstance(user, str) and user else None


def message_key(value: Any) -> str | None:
    message_id: Any = value.get("messageId") if is_object(value) else None
    return message_id if isinstance(message_id, str) and 0 < len(message_id) <= MAX_CHANNEL_NAME else None


ENTRY_KEYS: Final[dict[str, Callable[[Any], str | None]]] = {"votes": vote_key, "message": message_key}
"""Reducers whose list holds one entry per key, with the function that returns the key of an entry."""


_LIST_SCHEMA_KEYWORDS: Final = ANNOTATION_KEYWORDS | {"type", "items", "$defs", "$schema"}

Access = str | dict[str, tuple[str, ...]]
"""`public`, `private`, or the lists `readers` and `writers`. A missing list allows every node."""


class Channel(msgspec.Struct, frozen=True):
    """A declared channel. Each written value must match `schema`."""

    name: str
    reducer: str
    schema: dict[str, Any] | None = None
    has_default: bool = False
    default: Any = None
    max_size: int | None = None
    ttl_ms: int | None = None
    access: Access = "public"
    schema_version: int = 1
    compatible_with: tuple[int, ...] = ()
    sensitive: bool = False


def parse_channels(documents: dict[str, Any]) -> tuple[dict[str, Channel], list[Violation]]:
    """chan-02 (OpenWOP workflow-definition, readings, Channels): the supported channels, and the violations of the
    others.

    `documents` is the `channels` member of a definition that matches its schema.
    """
    channels: dict[str, Channel] = {}
    violations: list[Violation] = []
    for name, document in documents.items():
        at = f"/channels/{printable_token(name)}"
        found = _check_declaration(name, document, at)
        if not found:
            channels[name] = _parse_channel(name, document)
            found = _check_default(channels[name], at)
        violations += found
    return channels, violations


def _parse_channel(name: str, document: dict[str, Any]) -> Channel:
    access: Any = document.get("access", "public")
    return Channel(
        name=name,
        reducer=document["reducer"],
        schema=_write_schema(document),
        has_default="default" in document,
        default=document.get("default"),
        max_size=document.get("maxSize"),
        ttl_ms=document.get("ttlMs"),
        access={side: tuple(entries) for side, entries in access.items()} if is_object(access) else access,
        schema_version=document.get("schemaVersion", 1),
        compatible_with=tuple(document.get("compatibleWith", ())),
        sensitive=document.get("sensitive", False),
    )


def _has_list_schema(document: dict[str, Any]) -> bool:
    return document["reducer"] in LIST_REDUCERS and document.get("schema", {}).get("type") == "array"


def _write_schema(document: dict[str, Any]) -> dict[str, Any] | None:
    """chan-03 (readings, Channel schemas): the schema of one write. If the declared schema describes the whole list,
    that is its `items`."""
    schema: dict[str, Any] | None = document.get("schema")
    if schema is None or not _has_list_schema(document):
        return schema
    items: Any = schema.get("items", True)
    if is_object(items):
        return {**items, "$defs": schema.get("$defs", {})}
    return None if items else {"not": {}}


def _check_declaration(name: str, document: dict[str, Any], at: str) -> list[Violation]:
    reducer = document["reducer"]
    if reducer not in REDUCERS:
        text = f"is not a reducer of this host; use one of: {', '.join(REDUCERS)}"
        return [Violation(f"{at}/reducer", "unsupported", text)]
    found: list[Violation] = []
    if not 0 < len(name) <= MAX_CHANNEL_NAME:
        found.append(Violation(at, "name", f"must have a name of 1 to {MAX_CHANNEL_NAME} characters"))
    if "ttlMs" in document and reducer not in EXPIRING_REDUCERS:
        found.append(Violation(f"{at}/ttlMs", "unsupported", f"is not supported by the reducer {reducer}; remove it"))
    if "maxSize" in document and reducer not in LIST_REDUCERS:
        found.append(Violation(f"{at}/maxSize", "unsupported", f"is not supported by the reducer {reducer}; remove it"))
    found += _check_access(document.get("access"), f"{at}/access")
    if "schema" in document:
        found += check_caller_schema(document["schema"], f"{at}/schema")
        if _has_list_schema(document):
            text = "cannot be checked, because writes are checked one entry at a time; put the schema under items"
            found.extend(
                Violation(f"{at}/schema/{printable_token(keyword)}", "unsupported", text)
                for keyword in document["schema"]
                if keyword not in _LIST_SCHEMA_KEYWORDS
            )
    return found


def _check_access(access: Any, at: str) -> list[Violation]:
    """Allows `*` alone or after a dot. Elsewhere it could be part of a name or a prefix, and access must not be
    guessed."""
    return [
        Violation(f"{at}/{side}/{index}", "access", "has a star in the wrong place; write prefix.* or *")
        for side, entries in (access.items() if is_object(access) else ())
        for index, entry in enumerate(entries)
        if entry.endswith("*") and entry != "*" and not entry.endswith(".*")
    ]


def _check_default(channel: Channel, at: str) -> list[Violation]:
    if not channel.has_default:
        return []
    at, default = f"{at}/default", channel.default
    if channel.reducer not in LIST_REDUCERS:
        fault = shape_error(channel.reducer, default)
        return [Violation(at, "default", fault)] if fault else _check_schema(channel, default, at)
    if not is_array(default):
        return [Violation(at, "default", "must be of type array")]
    if default and channel.ttl_ms is not None:
        return [Violation(at, "unsupported", "must be empty, because ttlMs counts from the time an entry is written")]
    if channel.max_size is not None and len(default) > channel.max_size:
        return [Violation(at, "default", "has more entries than maxSize allows")]
    found: list[Violation] = []
    for index, entry in enumerate(default):
        fault = shape_error(channel.reducer, entry)
        here = f"{at}/{index}"
        found += [Violation(here, "default", fault)] if fault else _check_schema(channel, entry, here)
    key = ENTRY_KEYS.get(channel.reducer)
    if key is not None and not found and len({key(entry) for entry in default}) < len(default):
        found.append(Violation(at, "unique", "has two entries with the same user or messageId"))
    return found


def _check_schema(channel: Channel, value: Any, at: str) -> list[Violation]:
    return [] if channel.schema is None else check_value(channel.schema, value, at)


def check_write(channel: Channel | None, reducer: str, value: Any) -> tuple[str, str] | None:
    """chan-05 (OpenWOP channels-and-reducers): error code and message of a rejected write, or None if it is accepted.

    A channel that the definition does not declare is passed as None.
    """
    fault: str | None = None
    if reducer not in REDUCERS:
        fault = f"This host has no such reducer; use one of: {', '.join(REDUCERS)}."
    elif channel is not None and reducer != channel.reducer:
        fault = f"The channel is declared with the reducer {channel.reducer}; write with the same reducer."
    elif text := shape_error(reducer, value):
        fault = f"The value {text}."
    elif channel is not None and (found := _check_schema(channel, value, "")):
        place = f"The value at '{found[0].pointer}'" if found[0].pointer else "The value"
        fault = f"{place} {found[0].message}."
    return None if fault is None else ("channel_write_invalid", fault)


def has_schema_conflict(channel: Channel, written_version: int, value: Any = msgspec.UNSET) -> bool:
    """chan-06 (OpenWOP channels-and-reducers): whether an old write is incompatible with the channel's current schema.

    A write of an older version is compatible if `compatible_with` lists the version and the value, if given, matches
    the schema. A write of the same or a newer version is always compatible. The caller fails the run with
    `channel_schema_breaking_change`.
    """
    if written_version >= channel.schema_version:
        return False
    if written_version not in channel.compatible_with:
        return True
    return value is not msgspec.UNSET and bool(_check_schema(channel, value, ""))


AccessSide = Literal["readers", "writers"]


def may_write(channel: Channel | None, node_id: str, type_id: str) -> bool:
    """chan-08 (OpenWOP channels-and-reducers): whether a node may write. Every node may write to an undeclared
    channel."""
    entries = None if channel is None else _access_entries(channel, "writers")
    return entries is None or any(_entry_matches(entry, node_id, type_id) for entry in entries)


def _entry_matches(entry: str, node_id: str, type_id: str) -> bool:
    """Whether an entry is `*`, the node's id, or a prefix of its type such as `core.*`. The full name of a type does
    not match."""
    return entry in (node_id, "*") or (entry.endswith(".*") and type_id.startswith(entry[:-1]))


def access_denied_details(channel: Channel, side: AccessSide, node_id: str, type_id: str) -> dict[str, Any]:
    """The details of `channel_access_denied`: the channel, the requesting node, and the entries that are allowed."""
    requested_by = {"nodeId": node_id, "typeId": type_id}
    return {"channel": channel.name, "requestedBy": requested_by, "allowed": list(_access_entries(channel, side) or ())}


def _access_entries(channel: Channel, side: AccessSide) -> tuple[str, ...] | None:
    """The access list of a side, or None if every node is allowed."""
    if isinstance(channel.access, dict):
        return channel.access.get(side)
    return () if channel.access == "private" else None
