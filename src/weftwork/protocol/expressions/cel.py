"""The only module that imports the CEL package, which it loads for the first expression. Commands that evaluate no
expressions therefore start without it.

Programs have only the standard library of CEL: no clock, no randomness, no I/O and no callbacks.
"""

from functools import lru_cache
from typing import Any

from weftwork.protocol.expressions.faults import ExpressionFault, compile_fault
from weftwork.protocol.expressions.syntax_tree import as_standalone

CACHED_ENVIRONMENTS = 64


@lru_cache(maxsize=1)
def _package() -> Any:
    from cel_expr_python import cel  # pyright: ignore[reportMissingTypeStubs]

    return cel


@lru_cache(maxsize=CACHED_ENVIRONMENTS)
def _environment(names: tuple[str, ...]) -> Any:
    cel = _package()
    return cel.NewEnv(variables=dict.fromkeys(names, cel.Type.DYN))


def compile_program(source: str, names: tuple[str, ...]) -> tuple[Any, bytes]:
    """A program for `evaluate_program`, and its serialised syntax tree. Raises ExpressionFault."""
    fault: ExpressionFault
    try:
        program = _environment(names).compile(source)
        return program, program.serialize()
    except Exception as error:
        fault = compile_fault(str(error), names)
    raise fault


def load_part(encoded: bytes, names: tuple[str, ...]) -> Any:
    return _environment(names).deserialize(as_standalone(encoded))


def evaluate_program(program: Any, data: dict[str, Any]) -> tuple[Any, str | None]:
    """The outcome of an evaluation, or the package's error text, which may contain values of the run.

    Raises MemoryError if the limit of the process is reached: a program frees its memory only when it ends.
    """
    try:
        outcome = program.eval(data=data)
    except MemoryError:
        raise
    except Exception as error:
        return None, str(error)
    if outcome.type() == _package().Type.ERROR:
        return None, str(outcome.value())
    return outcome, None


def outcome_value(outcome: Any) -> Any:
    """The Python value of an outcome. The items of a list or object are outcomes in turn.

    Version 0.1.3 of the package returns None without taking a reference to it, and Python 3.11 aborts when the
    reference count of None reaches zero. The value of null is therefore never requested.
    """
    return None if outcome.type() == _package().Type.NULL else outcome.value()


def is_map_outcome(outcome: Any) -> bool:
    return outcome.type() == _package().Type.MAP
