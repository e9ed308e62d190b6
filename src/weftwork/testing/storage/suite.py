"""The checks of all modules, which are found and not listed: one that is written is run."""

import inspect
from collections.abc import Iterable
from types import ModuleType
from typing import Any, Final

from weftwork.testing.storage import (
    annotations,
    assets,
    child_messages,
    child_runs,
    definitions,
    event_log_reads,
    event_log_writes,
    idempotency,
    interrupt_queries,
    keys,
    restarts,
    retention,
    run_queries,
)
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


_MODULES: Final = (
    event_log_writes,
    idempotency,
    event_log_reads,
    run_queries,
    interrupt_queries,
    child_runs,
    child_messages,
    retention,
    definitions,
    keys,
    annotations,
    assets,
    restarts,
)
CHECKS: Final[tuple[Check, ...]] = checks_that_take("store", _MODULES)
RESTART_CHECKS: Final[tuple[RestartCheck, ...]] = checks_that_take("make", _MODULES)
