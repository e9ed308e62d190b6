"""The self-test of expressions: what a host does that would compute other values."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from weftwork.app import Host
from weftwork.cli.doctor.machine_checks import check_expressions
from weftwork.cli.serve.startup import run_host
from weftwork.protocol.errors import HostFault
from weftwork.protocol.expressions import cel, expression
from weftwork.protocol.expressions.expression import check_evaluator
from weftwork.settings import Settings


class _Doubled:
    """An outcome as a package would give it that adds wrongly."""

    def __init__(self, outcome: Any) -> None:
        self.type = outcome.type
        self.value = lambda: outcome.value()
        self.plain_value = lambda: outcome.plain_value() * 2


def break_evaluator(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = cel.evaluate_program

    def evaluate(program: Any, data: dict[str, Any]) -> tuple[Any, str | None]:
        outcome, said = honest(program, data)
        return (outcome, said) if outcome is None else (_Doubled(outcome), said)

    monkeypatch.setattr(cel, "evaluate_program", evaluate)


def test_the_installed_package_passes() -> None:
    assert check_evaluator() is None
    assert check_expressions().state == "ok"


@pytest.mark.parametrize("number", range(len(expression.CASES)))
def test_every_case_can_fail(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    source, expected = expression.CASES[number]
    other = float(expected) if isinstance(expected, int) else [expected]
    monkeypatch.setattr(expression, "CASES", ((source, other),))
    assert check_evaluator() == f"`{source}` gives {expected!r} instead of {other!r}"


def test_a_package_that_raises_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise OSError("undefined symbol")

    monkeypatch.setattr(cel, "evaluate_program", refuse)
    assert "undefined symbol" in (check_evaluator() or "")


async def test_a_host_does_not_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_evaluator(monkeypatch)
    with pytest.raises(HostFault, match="gives 84 instead of 42"):
        await Host(Settings(data=str(tmp_path / "data"))).open()
    assert not (tmp_path / "data").exists()
    assert check_expressions().state == "fail"


async def test_serve_says_what_is_installed_and_what_is_tested(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    break_evaluator(monkeypatch)
    assert await run_host(Settings(store="memory", port=0)) == 1
    said = capsys.readouterr().err
    assert "`inputs.price * 2.0 + 1.0` gives 84 instead of 42" in said
    assert f"Installed is cel-expr-python {version('cel-expr-python')}, tested is cel-expr-python" in said
