"""examples/missing_facts with a real model that is too small for it: a bad surface is corrected or refused, and a
person never sees one."""

from pathlib import Path
from typing import Any

import pytest

from tests.examples.pages import EXAMPLES
from tests.live import start_host
from tests.local_model.weights import WEIGHTS, has_weights
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.surfaces.stored import check_stored

FOLDER = EXAMPLES / "missing_facts"
ENDS = ("node.suspended", "run.completed", "run.failed")
MAX_POLLS = 1_000
"""A poll returns with the next chunk of an answer, or after 15 seconds."""
REFUSED = {"envelope_invalid", "envelope_truncation_unrecoverable", "cap_breached", "envelope_correlation_conflict"}


def test_a_bad_surface_is_corrected_or_refused(tmp_path: Path) -> None:
    if not has_weights():
        pytest.fail("the weights are missing; run make test, or the command in tests/local_model/weights.py")
    invoice = (FOLDER / "invoice.txt").read_text("utf-8")
    with start_host(tmp_path, "--local-model", WEIGHTS, "--workflows", FOLDER) as host:
        # Few tokens, because the host doubles them each time an answer is cut off.
        run_id = host.create("missing-facts", inputs={"invoice": invoice}, configurable={"maxTokens": 24})
        events: list[dict[str, Any]] = []
        for _ in range(MAX_POLLS):
            last = events[-1]["sequence"] if events else -1
            path = f"/v1/runs/{run_id}/events/poll?lastSequence={last}&timeout=15"
            events += host.call("GET", path).document["events"]
            if events and events[-1]["type"] in ENDS:
                break
        else:
            pytest.fail(f"the run does not end: {events[-1]}")
        log = [(each["type"], each["payload"]) for each in events]
    shown = [payload for kind, payload in log if kind == SURFACE_KIND]
    assert all(check_stored(payload).surface is not None for payload in shown)
    asked = [payload for kind, payload in log if kind == "interrupt.requested"]
    failures = [payload["error"]["code"] for kind, payload in log if kind == "node.failed"]
    corrections = [payload for kind, payload in log if kind == "envelope.retry.attempted"]
    assert shown or corrections, "no answer of the model was judged"
    assert set(failures) <= REFUSED
    if failures:
        assert not asked
