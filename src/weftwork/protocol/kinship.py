"""What is told of runs that start runs: who started a run, and what a tree of runs looks like. Pure documents."""

from typing import Any, Final

from weftwork.protocol.projection import Stored, summary
from weftwork.protocol.run import RunHeader

MAX_TREE: Final = 1_000
"""The most runs of a tree that are told at once."""
TREE: Final = 200
"""How many, if nobody says."""


def host_id(public_url: str) -> str:
    """The name of this host for others. Discovery (crossHostCausation.hostId) and every ancestry say the same one."""
    return public_url or "weftwork"


def ancestry(header: RunHeader, host: str) -> dict[str, Any]:
    """kin-09 (RFC 0040 C): the run that started this one, and how, or null. Both are on this host."""
    parent = header.parent
    above = None if parent is None else {"runId": parent.run_id, "hostId": host, "cause": parent.cause}
    return {"runId": header.run_id, "hostId": host, "parent": above}


def tree_row(run: Stored, depth: int) -> dict[str, Any]:
    """kin-12: a run as it stands in a tree; absent fields are left out, never null."""
    document = summary(run)
    del document["tags"]
    return {**document, "depth": depth}
