"""The door: how many connections there may be, and what those beyond that number are told."""

from typing import Final, Literal

from weftwork.adapters.http.faults import crowded
from weftwork.adapters.http.refusal import refusal
from weftwork.protocol.wire_v1 import ROUTES

SPARE: Final = 64
"""Connections above the cap that are still read, so that probes find out how the host is."""
OTHER_FILES: Final = 128
"""Files that the host keeps for its store, its socket, its log and connections on their way in or out."""
PUBLIC: Final = frozenset(route.path.encode() for route in ROUTES if route.scope is None and "{" not in route.path)
"""What is answered on them."""

Place = Literal["inside", "spare", "outside", "away"]


class Door:
    """Decides by the number of open connections, the new one included. `turned_away` counts those it refused."""

    __slots__ = ("answer", "cap", "fault", "turned_away")

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.fault = crowded()
        self.answer = refusal(self.fault)
        self.turned_away = 0

    def place(self, count: int) -> Place:
        """Where a new connection stands.

        `outside` is told so and given a moment to read it; `away` is told so and closed at once, so that those
        who are being told cannot become many.
        """
        if count <= self.cap:
            return "inside"
        if count <= self.cap + SPARE:
            return "spare"
        self.turned_away += 1
        return "outside" if count <= self.cap + 2 * SPARE else "away"

    def refuses(self, count: int, target: bytes) -> bool:
        """Whether a request on a spare connection is refused: while it is crowded, all but the public ones are."""
        if count <= self.cap or target.partition(b"?")[0] in PUBLIC:
            return False
        self.turned_away += 1
        return True


def room(wanted: int, files: int | None) -> int:
    """How many of the wanted connections a process with so many files may have; the rest is for everything else."""
    return wanted if files is None else max(1, min(wanted, files - 2 * SPARE - OTHER_FILES))
