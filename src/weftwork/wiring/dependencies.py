"""Checks, before the host starts, the package that evaluates expressions: it is not at 1.0, and a new version could
compute other values for recorded runs."""

from importlib import metadata
from typing import Final

from weftwork.protocol.errors import HostFault
from weftwork.protocol.expressions.expression import check_evaluator

_EVALUATOR: Final = "cel-expr-python"


def require_evaluator() -> None:
    """Raises HostFault if the installed evaluator computes wrong values, because a host must not record them."""
    problem = check_evaluator()
    if problem is None:
        return
    required = [text for text in metadata.requires("weftwork") or () if text.startswith(_EVALUATOR)]
    try:
        installed = metadata.version(_EVALUATOR)
    except metadata.PackageNotFoundError:
        installed = "(nothing)"
    raise HostFault(
        f"the expression evaluator computes wrong values: {problem}. Installed is {_EVALUATOR} {installed}; install "
        f"the tested version with: pip install '{', '.join(required)}'"
    )
