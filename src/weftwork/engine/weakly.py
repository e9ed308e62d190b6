"""A way to report to a live run that does not hold on to it."""

from collections.abc import Callable
from weakref import WeakMethod

from weftwork.engine.inputs import Input


def weakly(send: Callable[[Input], None]) -> Callable[[Input], None]:
    """This method of an object that may be gone: an ended run goes as soon as nobody else holds it."""
    method = WeakMethod(send)

    def report(given: Input) -> None:
        found = method()
        if found is not None:
            found(given)

    return report
