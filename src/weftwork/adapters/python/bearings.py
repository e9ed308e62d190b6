"""What the contexts of async and plain functions have in common: all that answers at once."""

import random
from datetime import datetime
from typing import Any

from weftwork.adapters.python.entry import Entry
from weftwork.adapters.python.sayings import NodeLog, event_of


class Bearings:
    """Where a call of a node stands, and what it may say."""

    __slots__ = ("_entry", "attempt", "iteration", "log", "node_id", "run_id")

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self.run_id = entry.call.run_id
        self.node_id = entry.call.node_id
        self.attempt = entry.call.attempt
        self.iteration = entry.call.iteration
        self.log = NodeLog(entry)

    def now(self) -> datetime:
        """The run's clock, in UTC: the same when the node is entered again. It stands still between steps."""
        return self._entry.now()

    @property
    def random(self) -> random.Random:
        """Random numbers that are the same in every attempt of this node. Not for secrets."""
        return self._entry.random

    @property
    def idempotency_key(self) -> str:
        """The identity of the effect: of the step inside one, else of the node. The same in every attempt."""
        return self._entry.key

    def emit(self, event_type: str, payload: dict[str, Any]) -> None:
        """An event of your own type for those who follow the run."""
        self._entry.say(event_of(event_type, payload))
