"""What the runs below a run ask, which only their own snapshots say."""

from typing import Final

from weftwork.cli.answer_target import open_questions
from weftwork.cli.client import Client, segment
from weftwork.cli.kin import Kin, askers
from weftwork.protocol.json_value import is_object

ASKERS: Final = 5
"""Runs below of which it is told what they ask."""
PROMPT: Final = 3.0
"""Seconds for each."""


def ask_askers(client: Client, top: Kin, most: int = ASKERS) -> list[Kin]:
    """The runs that ask something, in the order of the tree; the first ones with what they ask, if the host tells."""
    found = askers(top)
    for run in found[:most]:
        snapshot = client.peek(f"/v1/runs/{segment(run.run_id)}", PROMPT)
        rows = open_questions(snapshot) if is_object(snapshot) else []
        run.asked = next((row for row in rows if row["nodeId"] == run.at), rows[0] if rows else None)
        if run.asked is not None:
            run.at = run.asked["nodeId"]
    return found
