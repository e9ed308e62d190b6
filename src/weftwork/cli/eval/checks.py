"""Checks: functions of the user that score the outcome of a run.

A check is named MODULE:FUNCTION, and the module is also imported from the current folder. It is called with an
`EvaluatedRun` for each run that completed, one at a time, and returns one of these:

- a bool: true scores 1, false scores 0
- a number
- an object with `score`, a bool or a number, and optionally `note`, a text
"""

import contextlib
import inspect
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import click
import msgspec

from weftwork.adapters.python.declaration.module_loading import ModuleLoadError, explain_error, load_module
from weftwork.cli.client.http_client import Client
from weftwork.cli.console.documents import as_object, as_text
from weftwork.cli.console.text import clean
from weftwork.cli.eval.usage import read_events
from weftwork.protocol.json.values import is_object

EQUAL_OUTPUTS: Final = "equal-outputs"
"""The name of the check without --check: the outputs are equal to those of the recorded run."""
_MAX_NOTE: Final = 500


class EvaluatedRun:
    """The argument of a check: a run that has ended, and the recorded run with which it is compared.

    `snapshot` and `source` are the snapshots of both as the host returns them. In the column of the recorded run they
    are the same.
    """

    def __init__(self, client: Client, variant: str, snapshot: dict[str, Any], source: dict[str, Any]) -> None:
        self._client = client
        self.variant = variant
        """The name of the column, such as local/large; `recorded` for the recorded run."""
        self.snapshot = snapshot
        self.source = source

    @property
    def outputs(self) -> Any:
        """The outputs of the run."""
        return self.snapshot.get("outputs")

    @property
    def source_outputs(self) -> Any:
        """The outputs of the recorded run; None if it did not complete."""
        return self.source.get("outputs")

    @property
    def events(self) -> list[dict[str, Any]]:
        """All events of the run, read from the host at each access."""
        return self._events_of(self.snapshot)

    @property
    def source_events(self) -> list[dict[str, Any]]:
        """All events of the recorded run, read from the host at each access."""
        return self._events_of(self.source)

    def _events_of(self, snapshot: dict[str, Any]) -> list[dict[str, Any]]:
        return [as_object(frame.data) for frame in read_events(self._client, as_text(snapshot.get("runId")))]


class Score(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of a check. A check that failed has no `score`, and an `error` that says why."""

    check: str
    score: float | None
    note: str = ""
    error: str = ""

    @property
    def document(self) -> dict[str, Any]:
        return msgspec.to_builtins(self)


class Check(msgspec.Struct, frozen=True):
    name: str
    function: Callable[[EvaluatedRun], Any]
    module: str = ""

    def score(self, run: EvaluatedRun) -> Score:
        """The score of a run. An exception of the function becomes the `error` of the score."""
        try:
            # What a check prints must not become part of the results on standard output.
            with contextlib.redirect_stdout(sys.stderr):
                result: Any = self.function(run)
        except KeyboardInterrupt:
            raise
        except (Exception, SystemExit) as error:
            return Score(self.name, None, error=clean(explain_error(error, self.module), _MAX_NOTE))
        return parse_score(self.name, result)


def parse_score(name: str, result: Any) -> Score:
    """The score that a check has returned; with an `error` if it is of no known form."""
    note: Any = ""
    value = result
    if is_object(result):
        if unknown := sorted(map(str, result.keys() - {"score", "note"})):
            return Score(name, None, error=f"the check returned the unknown member {clean(unknown[0], 60)}")
        value, note = result.get("score"), result.get("note") or ""
    if not isinstance(note, str):
        return Score(name, None, error="the check returned a note that is not a text")
    if isinstance(value, bool | int | float):
        with contextlib.suppress(OverflowError):
            if math.isfinite(value):
                return Score(name, float(value), clean(note, _MAX_NOTE))
        return Score(name, None, error="the check returned a number that is not finite")
    if inspect.iscoroutine(value):
        value.close()
        return Score(name, None, error="the check is an async function; use a plain function")
    form = type(value).__name__
    return Score(name, None, error=f"the check returned {form}, not a bool, a number or {{score, note}}")


def load_checks(names: Sequence[str]) -> list[Check]:
    """The checks of a command line; without names, the comparison with the recorded outputs. Raises UsageError."""
    if not names:
        return [Check(EQUAL_OUTPUTS, _has_equal_outputs)]
    return [_load_check(name) for name in dict.fromkeys(names)]


def _load_check(name: str) -> Check:
    label = f"--check {clean(name, 100)}"
    module_name, colon, function_name = name.partition(":")
    if not module_name or not colon or not function_name:
        raise click.UsageError(f"{label}: write MODULE:FUNCTION, such as scores:is_correct.")
    try:
        module = load_module(label, module_name)
    except ModuleLoadError as error:
        raise click.UsageError(f"{error}.") from None
    function = getattr(module, function_name, None)
    if not callable(function):
        raise click.UsageError(f"{label}: {clean(module_name, 100)} has no function {clean(function_name, 100)}.")
    return Check(name, function, module_name)


def _has_equal_outputs(run: EvaluatedRun) -> bool:
    return run.source.get("status") == "completed" and bool(run.outputs == run.source_outputs)
