"""Completes the id of a run from its first characters, for every command that has a RUN argument."""

from collections.abc import Iterable
from typing import Final

import click

from weftwork.cli.client.errors import RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.listing import list_rows
from weftwork.cli.console.documents import as_object
from weftwork.cli.console.text import clean
from weftwork.protocol.wire.v1.paths import path_for

MIN_PREFIX: Final = 4
"""Minimum number of characters of a prefix."""
ID_LENGTH: Final = 26
"""Length of the run ids of a weftwork host. A text of this length is never looked up."""
MAX_SEARCHED: Final = 1000
"""How many runs, newest first, are searched for a prefix."""
_MAX_LISTED: Final = 20


def complete_run_id(client: Client, text: str) -> str:
    """The id of the run that `text` names: the id itself, or the prefix of exactly one of the newest runs.

    Returns the text unchanged if no run matches, so that the host's own refusal is shown. Raises UsageError if several
    runs match. A full id costs no request.
    """
    if not MIN_PREFIX <= len(text) < ID_LENGTH:
        return text
    try:
        client.get(path_for("getRun", runId=text))
        return text
    except RequestRefused as refused:
        if refused.status != 404:
            raise
    try:
        rows = [as_object(run) for run, _ in list_rows(client, "listRuns", "runs", MAX_SEARCHED, "")]
    except click.ClickException:
        # A host need not list runs.
        return text
    return match_prefix(text, (str(run.get("runId", "")) for run in rows)) or text


def match_prefix(prefix: str, run_ids: Iterable[str]) -> str | None:
    """The only id that starts with the prefix, or None. Raises UsageError with the ids if there are several."""
    matches = sorted({each for each in run_ids if each.startswith(prefix)})
    if len(matches) > 1:
        listed = "".join(f"\n  {clean(each)}" for each in matches[:_MAX_LISTED])
        omitted = f"\n  and {len(matches) - _MAX_LISTED} more" if len(matches) > _MAX_LISTED else ""
        raise click.UsageError(
            f"{len(matches)} runs start with {clean(prefix, 60)}; enter more characters:{listed}{omitted}"
        )
    return matches[0] if matches else None
