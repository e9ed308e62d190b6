"""Finds the open interrupt that `weftwork answer RUN[/NODE]` means, on any OpenWOP host."""

from typing import Any, Final

import click
import msgspec

from weftwork.cli.client.errors import RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.listing import list_open_interrupts, open_interrupts
from weftwork.cli.client.run_ids import MAX_SEARCHED, MIN_PREFIX, match_prefix
from weftwork.cli.client.run_tree import find_waiting_runs, read_tree, run_tree_path
from weftwork.cli.console.text import clean
from weftwork.cli.follow.run_watch import read_history
from weftwork.cli.render.interrupt_text import quote_id
from weftwork.protocol.json.values import is_object
from weftwork.protocol.wire.v1.paths import path_for

_MAX_LISTED: Final = 20


class AnswerTarget(msgspec.Struct, frozen=True):
    """An open interrupt."""

    run_id: str
    node_id: str
    workflow_id: str
    interrupt: dict[str, Any]

    @property
    def interrupt_id(self) -> str | None:
        """Distinguishes the interrupt from later ones of the same node; None if the host sends no id."""
        interrupt_id = self.interrupt.get("interruptId")
        return interrupt_id if isinstance(interrupt_id, str) and interrupt_id else None

    @property
    def quoted_name(self) -> str:
        """RUN/NODE, quoted for a shell."""
        return quote_id(f"{self.run_id}/{self.node_id}")


def find_target(client: Client, name: str) -> AnswerTarget:
    """The open interrupt of RUN/NODE, or the only open one of RUN.

    Raises UsageError if several nodes have one, RequestRefused if none has.
    """
    run_id, slash, node_id = name.partition("/")
    if not run_id or (slash and not node_id):
        raise click.UsageError("expected a run id, or a run id and a node id: RUN or RUN/NODE.")
    run = _get_run(client, run_id)
    run_id = str(run.get("runId") or run_id)
    rows = [each for each in open_interrupts(run) if not node_id or each.get("nodeId") == node_id]
    if not rows:
        raise _nothing_to_answer(client, run, run_id, node_id)
    nodes = {str(each.get("nodeId", "")) for each in rows}
    if len(nodes) > 1:
        listed = "".join(f"\n  {quote_id(f'{run_id}/{each}')}" for each in sorted(nodes)[:_MAX_LISTED])
        raise click.UsageError(f"several nodes of run {clean(run_id)} have an open interrupt; choose one:{listed}")
    row = rows[0]
    if "data" not in row or "interruptId" not in row:
        # The snapshot of this host is brief: the run's events have the other members of the interrupt.
        node = read_history(client, run_id).nodes.get(row["nodeId"])
        recorded = (node.interrupt if node is not None else None) or {}
        row = {**recorded, **row} if row.get("key", recorded.get("key")) == recorded.get("key") else row
    return AnswerTarget(run_id, nodes.pop(), str(run.get("workflowId") or ""), row)


def _get_run(client: Client, run_id: str) -> dict[str, Any]:
    """The run's snapshot. `run_id` may be a prefix that matches exactly one run with an open interrupt."""
    try:
        run = client.get(path_for("getRun", runId=run_id))
    except RequestRefused as refused:
        if refused.status != 404 or len(run_id) < MIN_PREFIX:
            raise
        full_id = _complete_run_id(client, run_id)
        if full_id is None:
            raise
        run = client.get(path_for("getRun", runId=full_id))
    if not is_object(run):
        raise click.ClickException(f"{client.url} sent a response that is not a run; check --url.")
    return run


def _complete_run_id(client: Client, prefix: str) -> str | None:
    try:
        run_ids = [str(each.get("runId", "")) for each in list_open_interrupts(client, MAX_SEARCHED)]
    except click.ClickException:
        return None
    return match_prefix(prefix, run_ids)


def _nothing_to_answer(client: Client, run: dict[str, Any], run_id: str, node_id: str) -> RequestRefused:
    """The error for a run without a matching open interrupt. It has the exit code of a host's refusal, so that a
    script need not distinguish the two."""
    open_nodes = sorted({str(each["nodeId"]) for each in open_interrupts(run)})
    if open_nodes:
        listed = ", ".join(clean(each, 60) for each in open_nodes[:_MAX_LISTED])
        return RequestRefused(
            404,
            "interrupt_not_found",
            f"node {clean(node_id, 60)} has no open interrupt; nodes of this run that have one: {listed}",
        )
    status = clean(run.get("status", "?"), 40)
    # A run that waits for its child runs: list the open interrupts of those.
    tree = read_tree(client.try_get(run_tree_path(run_id))) if run.get("childRuns") else None
    if tree is not None and (waiting := find_waiting_runs(tree)[:_MAX_LISTED]):
        names = [f"{each.run_id}/{each.detail}" if each.detail else each.run_id for each in waiting]
        targets = ", ".join(map(quote_id, names))
        return RequestRefused(
            409, "", f"run {clean(run_id)} waits for its child runs; answer their open interrupts instead: {targets}"
        )
    return RequestRefused(409, "", f"run {clean(run_id)} has no open interrupt; its status is {status}")
