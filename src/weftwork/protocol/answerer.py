"""Who answers an interrupt, and what they may do there."""

from typing import Literal

import msgspec

Trust = Literal["trusted", "untrusted"]


class Answerer(msgspec.Struct, frozen=True):
    """Somebody with a key, or with a link to one interrupt."""

    principal: str
    """The id of the key, or `link:` and the id of the link."""
    names: frozenset[str] = frozenset()
    """Other names that are surely theirs: the label of the key, the person a link was made for."""
    bound: str | None = None
    """The one person whose link this is: what the answer says about who gives it is not looked at."""
    delegate: bool = False
    """May answer in the name of approvers that a gate names (scope approvals:delegate)."""
    override: bool = False
    """May override a gate (scope approvals:override)."""
    bearer: bool = True
    """Came with a key; a link alone is not enough for some gates."""
    trust: Trust = "trusted"
    """`untrusted` if what is said comes from a model or a tool."""
