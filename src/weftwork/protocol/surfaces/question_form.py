"""The surface that is the form of a question, as a renderer gets it: checked again, with what keeps it from working.

What is shown as disabled is refused as well, because the page and the posted form use this one reading.
"""

from typing import Any

import msgspec

from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.events import TRUSTED, UNTRUSTED, Trust
from weftwork.protocol.surfaces.actions import BoundSurface
from weftwork.protocol.surfaces.stored import check_stored
from weftwork.protocol.surfaces.surface import Button


class QuestionSurface(msgspec.Struct, frozen=True):
    """The surface of an open interrupt."""

    bound: BoundSurface | None
    """None if the stored surface is not valid: it is not rendered, and the host asks with its own form."""
    is_partial: bool = False
    """Whether more of the surface is still to come. Its buttons do not work until it is complete."""

    @property
    def is_untrusted(self) -> bool:
        return self.bound is not None and self.bound.is_untrusted

    @property
    def trust(self) -> Trust:
        """The trust of an answer that its buttons send: what a person chose from untrusted content is untrusted."""
        return UNTRUSTED if self.is_untrusted else TRUSTED

    @property
    def dead_reason(self) -> str | None:
        """surf-66 (RFC 0102, partial surfaces and trust): why none of the buttons works; None if one may work."""
        if self.bound is None or self.is_partial:
            return "This form is not complete yet, so its buttons do not work."
        if (reason := self.bound.blocked_reason) is not None:
            return reason
        if all(self.bound.inert_reason(each) for each in self.bound.surface.buttons):
            return "This form has no button that answers this question."
        return None

    def button_reason(self, button: Button) -> str | None:
        """Why this button does not work; None if it does."""
        return self.dead_reason or (self.bound.inert_reason(button) if self.bound is not None else None)


def question_surface(question: dict[str, Any]) -> QuestionSurface | None:
    """surf-65 (RFC 0102): the surface of a question, in the form that inspectInterruptByToken returns; None if the
    question has none. Never raises for JSON."""
    stored = question.get("surface")
    if not is_object(stored):
        return None
    surface = check_stored(stored.get("payload")).surface
    kind, data = question.get("kind"), question.get("data")
    if surface is None or not isinstance(kind, str) or not is_object(data):
        return QuestionSurface(None)
    # Content whose trust is not known counts as untrusted.
    is_untrusted = stored.get("contentTrust", UNTRUSTED) == UNTRUSTED
    return QuestionSurface(BoundSurface(surface, kind, data, is_untrusted), _is_partial(stored))


def _is_partial(stored: dict[str, Any]) -> bool:
    """Both forms of the member are read: a boolean, and an object with `isPartial`."""
    partial = stored.get("partial")
    return bool(partial.get("isPartial", True)) if is_object(partial) else bool(partial)
