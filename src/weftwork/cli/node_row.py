"""One node of a run, as far as its events tell. Texts are kept as they came."""

from typing import Any, Final

from weftwork.cli.kin import Kin

ACTIVE: Final = ("running", "retrying")


class NodeRow:
    """What is known of one node."""

    def __init__(self, node_id: str) -> None:
        self.node_id = node_id
        self.state = "pending"
        self.type_id = ""
        self.attempt = 1
        self.round = 1
        """How often loops came here, this time included."""
        self.started: float | None = None
        self.ended: float | None = None
        """Both in milliseconds by the clock of the host."""
        self.due: float | None = None
        """When the next attempt begins, by the same clock."""
        self.items = 0
        self.error: dict[str, Any] = {}
        self.asked: dict[str, Any] | None = None
        """The open question, if it waits for an answer: kind, key, data and what else was said of it."""
        self.children: dict[str, Kin] = {}
        """Runs that it started."""
        self.text = ""
        """The end of what a model writes."""

    @property
    def waits_below(self) -> bool:
        """Whether it waits for runs that all wait for somebody."""
        still = [child for child in self.children.values() if not child.is_over]
        return bool(still) and all(child.is_waiting for child in still)
