"""Packages before 1.0 that the host trusts with values of runs, checked before it starts."""

from importlib import metadata
from typing import Final

from weftwork.protocol.errors import HostFault
from weftwork.protocol.expressions.expression import check_evaluator

_EVALUATOR: Final = "cel-expr-python"


def require_evaluator() -> None:
    """Return if expressions have the values they should have. Raises HostFault: a host must not record other ones."""
    problem = check_evaluator()
    if problem is None:
        return
    needed = [text for text in metadata.requires("weftwork") or () if text.startswith(_EVALUATOR)]
    try:
        installed = metadata.version(_EVALUATOR)
    except metadata.PackageNotFoundError:
        installed = "(nothing)"
    raise HostFault(
        f"expressions cannot be trusted: {problem}. Installed is {_EVALUATOR} {installed}, tested is "
        f"{', '.join(needed)}; install that, or weftwork again, with pip."
    )
