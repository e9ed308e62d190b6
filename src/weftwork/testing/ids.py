"""Ids for tests: the same in every run of a test."""

from itertools import count


class SequentialIds:
    """Implements ports.ids.Ids in shape; nothing here is hard to guess."""

    def __init__(self) -> None:
        self._runs = count(1)
        self._events = count(1)
        self._tokens = count(1)
        self._traces = count(1)
        self._secrets = count(1)

    def run_id(self, now: int) -> str:
        return f"run-{next(self._runs):016}"

    def event_ids(self, count: int) -> list[str]:
        return [f"event-{next(self._events):08}" for _ in range(count)]

    def token(self) -> str:
        return f"token-{next(self._tokens):040}"

    def secret(self, count: int) -> bytes:
        return next(self._secrets).to_bytes(count, "big")

    def trace_id(self) -> str:
        return f"{next(self._traces):032x}"

    def fraction(self) -> float:
        return 1.0
