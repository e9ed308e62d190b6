"""Untrusted: what is known in a run to have come from outside, or to be made of it. Only few runs have one."""

import msgspec

from weftwork.protocol.channel_state import Stamp
from weftwork.protocol.view import GIVEN, View


class Untrusted(msgspec.Struct):
    """Values, not names: of a variable, the writes that were so. Nodes know it of themselves."""

    variables: dict[str, set[Stamp]] = {}
    """By name, the stamps of such writes."""
    answers: set[str] = set()
    """Keys of questions that were answered so."""
    inputs: frozenset[str] = frozenset()

    def is_variable(self, view: View, name: str) -> bool:
        """Whether the value that counts in a view is one of these."""
        stamps = self.variables.get(name)
        entry = view.get(name) if stamps else None
        return entry is not None and stamps is not None and entry[0] in stamps

    def is_final(self, stamps: dict[str, Stamp], name: str) -> bool:
        """The same of the value that the run has in the end."""
        return stamps.get(name, GIVEN) in self.variables.get(name, ())
