"""Secrets that models repeat: nothing that a host shows of a run, or writes down about it, has one in it."""

import contextlib
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.harness.definitions import FULL
from tests.live.canaries import (
    PROGRAM,
    WORKFLOW_CHOICES,
    HostOutputs,
    SecretRepeatingModel,
    canary,
    canary_workflows,
    encoded_forms,
)
from tests.live.host import Host, start_host
from tests.live.sabotage import sabotaged
from tests.live.workflows import write_workflows

pytestmark = pytest.mark.slow

RUNS = 10_000 if FULL else 120
MODES = ("debug", "messages", "updates", "values")
SHOWN = {
    *("snapshot", "events", "poll", "bundle", "spans", "test events", "artifact", "inbox", "questions", "question"),
    *("page", "error", "chunks", "messages", *(f"stream {mode}" for mode in MODES)),
}
"""What is looked at. An `error` repeats nothing anyway."""
SABOTAGED = 120
SABOTAGE = Path(__file__).with_name("canary_sabotage.py")


class Watch:
    """Runs one after the other, and where their secrets were seen."""

    def __init__(self, host: Host, surfaces: HostOutputs, seed: int) -> None:
        self._dice = random.Random(seed)
        self._surfaces = surfaces
        self._host = host
        self._secrets: list[str] = []
        self.looked: Counter[str] = Counter()
        self.hits: list[tuple[str, str, str]] = []
        self.ends: Counter[str] = Counter()

    def run(self) -> None:
        """One run from its creation to its end, looked at while it waits and when it is over."""
        dice, name = self._dice, self._dice.choice(WORKFLOW_CHOICES)
        secrets = [canary(dice), canary(dice), canary(dice)]
        self._secrets += secrets
        parrot = SecretRepeatingModel(dice, secrets)
        self._program(f"{name}-first", [{"content": secrets[2]}])
        self._program(name, [parrot.entry() for _ in range(5)])
        inputs = {"pw": {"a": secrets[0], "b": [secrets[1]]}}
        status, body = self._surfaces.call("POST", "/v1/runs", {"workflowId": name, "inputs": inputs})
        assert status == 201, body
        run_id, sequence = json.loads(body)["runId"], -1
        looking = [each for secret in secrets for each in encoded_forms(secret)]
        for _ in range(20):
            found = self._poll(run_id, sequence)
            sequence = found["events"][-1]["sequence"] if found["events"] else sequence
            kinds = [each["type"] for each in found["events"]]
            if found["isComplete"] or "node.suspended" in kinds:
                self._look(run_id, name, looking)
            if found["isComplete"]:
                self.ends[kinds[-1]] += 1
                return
            if "node.suspended" in kinds:
                self._answer(run_id, name, found["events"], secrets)
        raise AssertionError("the run does not end")

    def _poll(self, run_id: str, sequence: int) -> dict[str, Any]:
        return json.loads(
            self._surfaces.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence={sequence}&timeout=5")[1]
        )

    def _program(self, node_id: str, entries: list[Any]) -> None:
        status, body = self._surfaces.call("POST", PROGRAM, {"nodeId": node_id, "program": entries})
        assert status == 200, body

    def _answer(self, run_id: str, name: str, events: list[Any], secrets: list[str]) -> None:
        asked = [each for each in events if each["type"] == "interrupt.requested"][-1]
        answers = {each["id"]: self._dice.choice([*secrets, "no"]) for each in asked["payload"]["data"]["questions"]}
        path = f"/v1/runs/{run_id}/interrupts/{name}"
        status, body = self._surfaces.call("POST", path, {"resumeValue": {"answers": answers}})
        if status != 200:
            assert self._surfaces.call("POST", f"/v1/runs/{run_id}/cancel", {})[0] == 200, body

    def _look(self, run_id: str, name: str, looking: list[bytes]) -> None:
        for surface, body in self._surfaces.of(run_id, name, self._dice.choice(MODES)):
            self.looked[surface] += 1
            for each in looking:
                if each in body:
                    at = body.index(each)
                    self.hits.append((surface, run_id, body[max(0, at - 80) : at + 40].decode(errors="replace")))
                    break

    def look_at_log(self) -> None:
        log = self._host.errors.encode() + self._host.output.encode()
        self.looked["log"] += 1
        self.hits += [
            ("log", "", secret) for secret in self._secrets if any(each in log for each in encoded_forms(secret))
        ]


def watched(folder: Path, runs: int, program: list[str] | None = None) -> Watch:
    """So many runs of one host, with all that was seen."""
    args = ("--test-seams", "--log-level", "debug", "--workflows", write_workflows(folder / "w", *canary_workflows()))
    with start_host(folder, *args, program=program) as host, contextlib.closing(HostOutputs(host)) as surfaces:
        watch = Watch(host, surfaces, 41)
        for _ in range(runs):
            watch.run()
        watch.look_at_log()
    return watch


@pytest.mark.rule("hide-02", "hide-03", "hide-05", "env-11")
def test_no_secret_that_a_model_repeats_is_seen_anywhere(tmp_path: Path) -> None:
    watch = watched(tmp_path, RUNS)
    assert watch.hits == []
    assert watch.looked.keys() >= SHOWN
    assert min(watch.ends[kind] for kind in ("run.completed", "run.failed")) > RUNS / 20, watch.ends


@pytest.mark.parametrize(
    ("sabotage", "seen"),
    [("disable_secret_matching", SHOWN - {"error"} | {"log"}), ("disable_hold_back", {"chunks", "messages"})],
)
def test_on_a_host_that_hides_less_they_are_seen(tmp_path: Path, sabotage: str, seen: set[str]) -> None:
    watch = watched(tmp_path, SABOTAGED, sabotaged(SABOTAGE, sabotage))
    assert {surface for surface, _, _ in watch.hits} >= seen
