"""Collects the checks of all modules automatically, so that no check can be forgotten in a list."""

import inspect
import pkgutil
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from weftwork.testing.storage.concurrent import two_stores
from weftwork.testing.storage.harness import Check, PairCheck, RestartCheck


def checks_that_take(parameter: str, modules: Iterable[ModuleType]) -> tuple[Any, ...]:
    """The public async functions of the modules whose only parameter has this name, in order of definition."""
    return tuple(
        member
        for module in modules
        for name, member in vars(module).items()
        if inspect.iscoroutinefunction(member)
        and member.__module__ == module.__name__
        and not name.startswith("_")
        and [*inspect.signature(member).parameters] == [parameter]
    )


_MODULES: Final = [
    import_module(f"weftwork.testing.storage.{module.name}")
    for module in pkgutil.iter_modules([str(Path(__file__).parent)])
    if module.name not in ("harness", "samples", "suite", "concurrent")
]
CHECKS: Final[tuple[Check, ...]] = checks_that_take("store", _MODULES)
RESTART_CHECKS: Final[tuple[RestartCheck, ...]] = checks_that_take("make", _MODULES)
PAIR_CHECKS: Final[tuple[PairCheck, ...]] = checks_that_take("pair", [two_stores])
