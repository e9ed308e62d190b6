"""Which question is meant: of any OpenWOP host, by its run and node, as they stand now."""

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
    """An open question."""

    run_id: str
    node_id: str
    workflow_id: str
    interrupt: dict[str, Any]

    @property
    def interrupt_id(self) -> str | None:
        """What makes it this question, and not the next one of the node."""
        found = self.interrupt.get("interruptId")
        return found if isinstance(found, str) and found else None

    @property
    def quoted_name(self) -> str:
        """As the command takes it, to be pasted into a shell."""
        return quote_id(f"{self.run_id}/{self.node_id}")


def find_target(client: Client, name: str) -> AnswerTarget:
    """The question of RUN/NODE, or the only one of RUN. Raises UsageError if that may be several."""
    run_id, slash, node_id = name.partition("/")
    if not run_id or (slash and not node_id):
        raise click.UsageError("name a run, or a run and a node: RUN or RUN/NODE.")
    run = _get_run(client, run_id)
    run_id = str(run.get("runId") or run_id)
    rows = [each for each in open_interrupts(run) if not node_id or each.get("nodeId") == node_id]
    if not rows:
        raise _nothing_to_answer(client, run, run_id, node_id)
    nodes = {str(each.get("nodeId", "")) for each in rows}
    if len(nodes) > 1:
        listed = "".join(f"\n  {quote_id(f'{run_id}/{each}')}" for each in sorted(nodes)[:_MAX_LISTED])
        raise click.UsageError(f"several nodes of {clean(run_id)} ask something; name one:{listed}")
    row = rows[0]
    if "data" not in row or "interruptId" not in row:
        # A brief snapshot: the question with what only the events say of it.
        past = read_history(client, run_id).nodes.get(row["nodeId"])
        more = (past.interrupt if past is not None else None) or {}
        row = {**more, **row} if row.get("key", more.get("key")) == more.get("key") else row
    return AnswerTarget(run_id, nodes.pop(), str(run.get("workflowId") or ""), row)


def _get_run(client: Client, run_id: str) -> dict[str, Any]:
    """The run's snapshot; its id may be the beginning of one, if only one run that waits begins so."""
    try:
        found = client.get(path_for("getRun", runId=run_id))
    except RequestRefused as refused:
        if refused.status != 404 or len(run_id) < MIN_PREFIX:
            raise
        whole = _complete_run_id(client, run_id)
        if whole is None:
            raise
        found = client.get(path_for("getRun", runId=whole))
    if not is_object(found):
        raise click.ClickException("the host's answer is not a run.")
    return found


def _complete_run_id(client: Client, begin: str) -> str | None:
    try:
        named = [str(each.get("runId", "")) for each in list_open_interrupts(client, MAX_SEARCHED)]
    except click.ClickException:
        return None
    return match_prefix(begin, named)


def _nothing_to_answer(client: Client, run: dict[str, Any], run_id: str, node_id: str) -> RequestRefused:
    """As a host refuses an answer that comes too late, so that a script need not tell the two apart."""
    asks = sorted({str(each["nodeId"]) for each in open_interrupts(run)})
    if asks:
        listed = ", ".join(clean(each, 60) for each in asks[:_MAX_LISTED])
        return RequestRefused(404, "interrupt_not_found", f"{clean(node_id, 60)} asks nothing; what asks is {listed}")
    status = clean(run.get("status", "?"), 40)
    # Who asks in place of a run that has started others, as the command takes it.
    top = read_tree(client.try_get(run_tree_path(run_id))) if run.get("childRuns") else None
    if top is not None and (found := find_waiting_runs(top)[:_MAX_LISTED]):
        names = [f"{each.run_id}/{each.detail}" if each.detail else each.run_id for each in found]
        below = ", ".join(map(quote_id, names))
        return RequestRefused(409, "", f"{clean(run_id)} waits for runs below it; what asks is {below}")
    return RequestRefused(409, "", f"{clean(run_id)} waits for no answer; it is {status}")
