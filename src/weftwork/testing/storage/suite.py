"""The checks of all modules, which are found and not listed: one that is written is run."""

import inspect
import pkgutil
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from weftwork.testing.storage.harness import Check, RestartCheck


def checks_that_take(parameter: str, modules: Iterable[ModuleType]) -> tuple[Any, ...]:
    """The public async functions that the modules define with this parameter and no other, in their order."""
    return tuple(
        found
        for module in modules
        for name, found in vars(module).items()
        if inspect.iscoroutinefunction(found)
        and found.__module__ == module.__name__
        and not name.startswith("_")
        and [*inspect.signature(found).parameters] == [parameter]
    )


_MODULES: Final = [
    import_module(f"weftwork.testing.storage.{found.name}")
    for found in pkgutil.iter_modules([str(Path(__file__).parent)])
    if found.name not in ("harness", "samples", "suite")
]
CHECKS: Final[tuple[Check, ...]] = checks_that_take("store", _MODULES)
RESTART_CHECKS: Final[tuple[RestartCheck, ...]] = checks_that_take("make", _MODULES)
