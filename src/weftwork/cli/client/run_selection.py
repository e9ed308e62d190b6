"""Selects runs by status, workflow and age, for commands that work on many runs."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from weftwork.cli.client.http_client import Client
from weftwork.cli.client.listing import list_rows
from weftwork.cli.console.documents import as_list, as_object
from weftwork.protocol.wire.v1.paths import method_and_path

TAG_PREFIX: Final = "eval:"
"""The tags of the forks of an evaluation begin with it."""


def select_runs(
    client: Client,
    statuses: Sequence[str],
    workflow: str | None,
    since: int | None,
    limit: int | None = None,
    without_tag: str = "",
) -> tuple[str, ...]:
    """The ids of the newest `limit` runs that match, oldest first, without child runs.

    `since` is the maximum age in milliseconds. Runs with a tag that begins with `without_tag` are left out. Raises
    ClickException if the host does not list runs.
    """
    refusal = f"this host does not list runs: {method_and_path('listRuns')} is optional for OpenWOP hosts."
    query: dict[str, Any] = {"status": list(statuses), "workflowId": workflow}
    after = time.time() * 1000 - since if since is not None else None
    found: list[str] = []
    for run, _ in list_rows(client, "listRuns", "runs", None, refusal, **query):
        row = as_object(run)
        if len(found) == limit or (after is not None and _created_at(row) < after):
            # Runs are listed newest first.
            break
        is_excluded = without_tag and any(str(each).startswith(without_tag) for each in as_list(row.get("tags")))
        if "parentRunId" not in row and not is_excluded:
            found.append(str(row.get("runId")))
    return tuple(reversed(found))


def branched_runs(client: Client, workflow: str | None, since: int | None) -> frozenset[str]:
    """The ids of the runs with a branch that is at most `since` milliseconds old, such as a retry. Those of evaluations
    do not count. Raises ClickException if the host does not list runs."""
    refusal = f"this host does not list runs: {method_and_path('listRuns')} is optional for OpenWOP hosts."
    after = time.time() * 1000 - since if since is not None else None
    found: set[str] = set()
    for run, _ in list_rows(client, "listRuns", "runs", None, refusal, workflowId=workflow):
        row = as_object(run)
        if after is not None and _created_at(row) < after:
            break
        fork = as_object(row.get("forkedFrom"))
        is_excluded = any(str(each).startswith(TAG_PREFIX) for each in as_list(row.get("tags")))
        if fork.get("mode") == "branch" and not is_excluded:
            found.add(str(fork.get("runId")))
    return frozenset(found)


def _created_at(row: dict[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(row.get("createdAt"))).astimezone(UTC).timestamp() * 1000
    except ValueError:
        return 0
