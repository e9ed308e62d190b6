"""The ports about runs behind one object."""

from typing import Any

from weftwork.ports.storage.store import Store


class RunPorts:
    """Has the methods of all ports about runs, so that one test double can stand in front of all of them."""

    def __init__(self, store: Store) -> None:
        self._ports = store.log, store.queries, store.child_runs, store.records, store.retention

    def __getattr__(self, name: str) -> Any:
        for port in self._ports:
            if hasattr(port, name):
                return getattr(port, name)
        raise AttributeError(name)


class WrappedLog:
    """A log that passes every call on. A subclass does something else in some of them."""

    def __init__(self, log: Any) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)
