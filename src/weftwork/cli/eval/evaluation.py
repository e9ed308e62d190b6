"""Runs an evaluation: reads the sources, starts the branches, scores what has ended, and reports progress.

Checks are called in this thread, one at a time. Ctrl-C, and a host that cannot be reached any more, leave the results
that are known by then.
"""

from collections.abc import Sequence
from queue import Empty
from typing import Final

import click

from weftwork.cli.client.errors import EXIT_REFUSED, HostUnreachable, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.console.text import clean, say
from weftwork.cli.console.units import count_of, format_duration
from weftwork.cli.eval.branches import Branch, BranchRunner, Fault, Note
from weftwork.cli.eval.checks import Check, EvaluatedRun
from weftwork.cli.eval.results import Outcome, Results, branch_outcome, recorded_outcome
from weftwork.cli.eval.sources import Skipped, Source, read_source
from weftwork.cli.follow.follow_run import EXIT_INTERRUPTED, EXIT_TIMEOUT, EXIT_WAITING
from weftwork.protocol.wire.v1.paths import path_for

EXIT_INCOMPLETE: Final = 1
"""A fork did not complete, or a check failed."""
_QUEUE_SECONDS: Final = 0.2
"""How often Ctrl-C is noticed while nothing happens."""


def read_sources(client: Client, run_ids: Sequence[str]) -> tuple[list[Source], list[Skipped]]:
    """The runs that can be branched, and those that cannot, in the order of the ids."""
    sources: list[Source] = []
    skipped: list[Skipped] = []
    for run_id in run_ids:
        found = read_source(client, run_id)
        if isinstance(found, Source):
            sources.append(found)
        else:
            skipped.append(found)
    return sources, skipped


class Evaluation:
    """Fills `results`, one branch for each of its sources and variants."""

    def __init__(self, client: Client, results: Results, checks: Sequence[Check], tag: str) -> None:
        self._client = client
        self._results = results
        self._checks = checks
        self._tag = tag
        self._branches = [Branch(source, variant) for source in results.sources for variant in results.variants]
        self._settled = 0
        self._fault: Exception | None = None
        self._is_interrupted = False

    def run(self, parallel: int, timeout: float | None) -> None:
        """Until each branch has ended, waits or has timed out; or until Ctrl-C or a fault."""
        runner = BranchRunner(self._client, self._branches, self._tag, timeout)
        try:
            for source in self._results.sources:
                self._add(source, recorded_outcome(source))
            runner.start(min(parallel, len(self._branches)))
            while self._settled < len(self._branches) and self._fault is None:
                self._read_change(runner)
        except KeyboardInterrupt:
            self._is_interrupted = True
        finally:
            runner.stop()
        for branch in self._branches:
            if (branch.source.run_id, branch.variant.name) not in self._results.outcomes:
                self._results.add(branch.source, branch_outcome(branch))
        self._results.is_complete = self._settled == len(self._branches)

    def _read_change(self, runner: BranchRunner) -> None:
        try:
            change = runner.changes.get(timeout=_QUEUE_SECONDS)
        except Empty:
            return
        match change:
            case Note(text):
                say(clean(text), err=True)
            case Fault(error):
                self._fault = error
            case Branch():
                self._settle(change)

    def _settle(self, branch: Branch) -> None:
        outcome = branch_outcome(branch)
        self._add(branch.source, outcome, branch)
        self._settled += 1
        took = f", {format_duration(outcome.duration_ms)}" if outcome.duration_ms is not None else ""
        state = "waiting" if outcome.is_waiting else outcome.status
        of_run = f"{clean(branch.source.run_id)} with {clean(outcome.variant, 60)}"
        say(f"{self._settled} of {len(self._branches)}: {of_run}: {clean(state, 60)}{took}", err=True)

    def _add(self, source: Source, outcome: Outcome, branch: Branch | None = None) -> None:
        if outcome.status == "completed":
            snapshot = source.snapshot if branch is None else branch.snapshot
            run = EvaluatedRun(self._client, outcome.variant, snapshot, source.snapshot)
            outcome.scores = [each.score(run) for each in self._checks]
        self._results.add(source, outcome)

    def clean_up(self, cancel_waiting: bool, keep: bool) -> None:
        """Cancel the forks that wait, and delete those that have ended, if asked to. A refusal is reported."""
        for (_, variant), outcome in self._results.outcomes.items():
            if not outcome.run_id or variant == self._results.columns[0]:
                continue
            try:
                if outcome.is_waiting and cancel_waiting:
                    self._client.post(path_for("cancelRun", runId=outcome.run_id))
                    outcome.is_cancelled = True
                elif not keep and outcome.status in ("completed", "failed", "cancelled"):
                    self._client.delete(path_for("deleteRun", runId=outcome.run_id))
            except (RequestRefused, HostUnreachable) as error:
                say(f"{clean(outcome.run_id)}: {error.format_message()}", err=True)

    def finish(self) -> int:
        """The exit code. Reports why the evaluation is incomplete."""
        forks = [each for (_, name), each in self._results.outcomes.items() if name != self._results.columns[0]]
        running = [each for each in forks if each.run_id and each.status == "running"]
        if running:
            ids = " ".join(clean(each.run_id) for each in running)
            of_forks = f"{count_of(len(running), 'fork')} still active on the host"
            say(f"{of_forks}; cancel with `weftwork runs cancel {ids}`.", err=True)
        if self._is_interrupted:
            say("interrupted; the results are incomplete.", err=True)
            return EXIT_INTERRUPTED
        if self._fault is not None:
            if not isinstance(self._fault, click.ClickException):
                raise self._fault
            say(f"{self._fault.format_message()}\nThe results are incomplete.", err=True)
            return self._fault.exit_code
        scores = [score for each in self._results.outcomes.values() for score in each.scores]
        if any(each.status == "refused" for each in forks):
            return EXIT_REFUSED
        if any(each.is_timed_out for each in forks):
            return EXIT_TIMEOUT
        if any(each.status in ("failed", "cancelled") for each in forks) or any(each.error for each in scores):
            return EXIT_INCOMPLETE
        return EXIT_WAITING if any(each.is_waiting for each in forks) else 0
