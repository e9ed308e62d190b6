"""The findings of checks, printed one per line or as JSON."""

from collections.abc import Iterable
from typing import Literal

import click
import msgspec

from weftwork.cli.console.table import colour
from weftwork.cli.console.text import say, say_json


class Finding(msgspec.Struct, frozen=True):
    """One line of `weftwork doctor` or `weftwork store check`: the result of a check, and a hint for a problem."""

    status: Literal["ok", "warn", "fail"]
    check: str
    message: str
    hint: str = ""


def print_findings(findings: Iterable[Finding], as_json: bool) -> bool:
    """Print each finding as soon as it is there, or all of them as JSON. Returns whether no check has failed."""
    printed: list[Finding] = []
    for finding in findings:
        printed.append(finding)
        if not as_json:
            hint = f"; {finding.hint}" if finding.hint else ""
            status = click.style(f"{finding.status:<4}", fg=colour(finding.status))
            say(f"{status}  {finding.check:<11}  {finding.message.rstrip('.')}{hint}.")
    is_ok = all(finding.status != "fail" for finding in printed)
    if as_json:
        say_json({"ok": is_ok, "findings": [msgspec.to_builtins(each) for each in printed]})
    return is_ok
