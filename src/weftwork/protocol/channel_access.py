"""Who may read and write a channel. Source: OpenWOP channels-and-reducers."""

from typing import Any, Literal

from weftwork.protocol.channel import Channel

Side = Literal["readers", "writers"]


def may_write(channel: Channel | None, node_id: str, type_id: str) -> bool:
    """chan-08 (OpenWOP channels-and-reducers): whether a node may write; a channel nobody declared is open to all."""
    return _is_allowed(channel, "writers", node_id, type_id)


def denial(channel: Channel, side: Side, node_id: str, type_id: str) -> dict[str, Any]:
    """The details of `channel_access_denied`: which channel, who asked, and who would be let in."""
    requested_by = {"nodeId": node_id, "typeId": type_id}
    return {"channel": channel.name, "requestedBy": requested_by, "allowed": list(_entries(channel, side) or ())}


def _entries(channel: Channel, side: Side) -> tuple[str, ...] | None:
    """The list of a side; None where everybody is let in."""
    if isinstance(channel.access, dict):
        return channel.access.get(side)
    return () if channel.access == "private" else None


def _is_allowed(channel: Channel | None, side: Side, node_id: str, type_id: str) -> bool:
    entries = None if channel is None else _entries(channel, side)
    return entries is None or any(_matches(entry, node_id, type_id) for entry in entries)


def _matches(entry: str, node_id: str, type_id: str) -> bool:
    """A node by its id, or every type below a prefix; a type's whole name without a star names no node."""
    return entry in (node_id, "*") or (entry.endswith(".*") and type_id.startswith(entry[:-1]))
