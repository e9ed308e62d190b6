"""The form of an open interrupt as a surface: the one that its node sent, or the one that the host derives.

All routes, the page and the terminal read a form and turn an action into an answer here, so they agree about which
buttons work. An answer that is made here still goes through the rules of its interrupt.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.forms.derived_surface import DerivedSurface, Underivable, derive_surface, derived_answer
from weftwork.protocol.forms.plan import APPROVAL_LABELS, plan_for
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.run.events import ENVELOPE_RECORDED, TRUSTED, Event, Trust
from weftwork.protocol.run.interrupts import shown_surface_payload
from weftwork.protocol.surfaces.a2ui import fold_action, to_messages
from weftwork.protocol.surfaces.actions import BoundSurface, resolve_action
from weftwork.protocol.surfaces.limits import check_limits
from weftwork.protocol.surfaces.question_form import question_surface
from weftwork.protocol.surfaces.stored import NOT_RENDERED, check_stored
from weftwork.protocol.surfaces.surface import Surface, Text, parse_surface, surface_payload

_STATUSES: Final = {"open": "open", "resolved": "answered", "cancelled": "cancelled", "closed": "closed"}
"""Status of an interrupt -> status of its surface."""
_SHOWN: Final = "shown"
"""The status of a surface that asks nothing."""
_HELD_BACK: Final = "stored"
"""The status of a surface that the gate only recorded, because this host did not display surfaces then."""

_ANSWER: Final = "/resumeValue"
_DECIDE_HERE: Final = "Decide here with the actions of the approval itself, which no agent wrote."


class SurfaceForm(msgspec.Struct, frozen=True):
    """The form of an open interrupt."""

    surface_id: str
    question: dict[str, Any]
    """The interrupt, as its listing or its link shows it."""
    payload: Any = None
    trust: Trust = TRUSTED
    """The trust of everything that is shown."""
    bound: BoundSurface | None = None
    """The surface that the node sent, if it can be rendered."""
    derived: DerivedSurface | None = None
    diagnostics: tuple[Violation, ...] = ()
    closed_reason: str = ""
    """If set, no button works, and this is the reason for the reader."""

    @property
    def surface(self) -> Surface | None:
        if self.bound is not None:
            return self.bound.surface
        return self.derived.surface if self.derived is not None else None

    @property
    def answer_trust(self) -> Trust:
        """The trust of an answer. What a person chose from untrusted content that a node put into a form is untrusted;
        with the host's own form, the person answers the question itself."""
        return TRUSTED if self.bound is None else self.trust

    @property
    def place(self) -> tuple[str, str]:
        """The node and the interrupt that the buttons answer."""
        return self.question["nodeId"], self.question["interruptId"]

    @property
    def blocked_reason(self) -> str | None:
        """Why none of the buttons works; None if they do."""
        return self.closed_reason or (self.bound.blocked_reason if self.bound is not None else None)

    def answer(self, action_id: str, values: Mapping[str, Any], drop_unknown: bool = False) -> Any:
        """surf-23 (RFC 0102, action confinement): the answer that a button sends. Raises ClientFault.

        Only the surface decides what is sent: the id of a button and the values by field id are all that a caller
        gives. A surface that is not rendered has no action.
        """
        if self.bound is not None:
            value = resolve_action(self.bound, action_id, values, drop_unknown)
        elif self.derived is not None:
            value = derived_answer(self.derived, action_id, values, drop_unknown)
        else:
            listed = [{"pointer": each.pointer, "message": each.message} for each in self.diagnostics]
            text = f"{self.closed_reason or NOT_RENDERED} Answer the interrupt itself instead."
            raise invalid(text, "/surfaceId", violations=listed)
        if self.closed_reason:
            raise ClientFault("forbidden", self.closed_reason)
        return value

    def document(self) -> dict[str, Any]:
        """surf-24: the surface as readers get it."""
        names = {name: self.question[name] for name in ("runId", "nodeId", "interruptId") if name in self.question}
        return {
            **surface_document(self.surface_id, "open", self.trust, self.payload, self.surface, self.diagnostics),
            **names,
            "actions": self._actions(),
            **({"blockedReason": self.blocked_reason} if self.blocked_reason else {}),
        }

    def _actions(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = []
        for button in self.surface.buttons if self.surface is not None else ():
            inert = self.bound.inert_reason(button) if self.bound is not None else None
            reason = self.blocked_reason or inert
            action = {"id": button.id, "label": button.label, "target": button.action.target}
            if reason:
                action["disabledReason"] = reason
            elif self.bound is not None and self.bound.kind == "approval":
                # surf-70: the label is text of the writer of the surface, and may say something else.
                action["effect"] = APPROVAL_LABELS[button.id]
            listed.append(action)
        return listed


def surface_document(
    surface_id: str,
    status: str,
    trust: str,
    payload: Any,
    surface: Surface | None,
    diagnostics: tuple[Violation, ...] = (),
) -> dict[str, Any]:
    """surf-24 (RFC 0102): a surface as readers get it, without actions. `render` is false for one that is not valid on
    this host; its diagnostics say why."""
    document: dict[str, Any] = {
        "surfaceId": surface_id,
        "status": status,
        "contentTrust": trust,
        "payload": payload,
        "actions": [],
        "render": surface is not None,
    }
    if diagnostics:
        document["diagnostics"] = [{"pointer": each.pointer, "message": each.message} for each in diagnostics]
    return document


def closed_document(surface_id: str, interrupt: dict[str, Any] | None, record: Event | None) -> dict[str, Any]:
    """surf-24: a surface that cannot be answered: its interrupt is closed, or it has none.

    `record` is the event that records its envelope; None for a form that the host derived. The log has the question of
    such a form, but it is not asked any more.
    """
    status = _SHOWN if interrupt is None else _STATUSES[interrupt["status"]]
    names = {} if interrupt is None else {name: interrupt[name] for name in ("nodeId", "interruptId")}
    if record is None:
        return {**surface_document(surface_id, status, TRUSTED, None, None), **names}
    recorded = msgspec.json.decode(record.payload)
    payload = shown_surface_payload(recorded.get("payload"))
    checked = check_stored(payload)
    status = status if recorded["status"] == "accepted" else _HELD_BACK
    trust = record.content_trust or TRUSTED
    document = surface_document(surface_id, status, trust, payload, checked.surface, checked.diagnostics)
    return {**document, "nodeId": recorded["nodeId"], **names}


def is_derived(interrupt: dict[str, Any] | None, surface_id: str) -> bool:
    """Whether the id is that of an interrupt, so that it names the form that the host derives."""
    return interrupt is not None and interrupt["interruptId"] == surface_id


def records_surface(event: Event, surface_id: str) -> bool:
    """Whether the event records the envelope of this surface."""
    if event.type != ENVELOPE_RECORDED or surface_id.encode() not in event.payload:
        return False
    recorded = msgspec.json.decode(event.payload)
    return recorded["type"] == SURFACE_KIND and recorded["envelopeId"] == surface_id


def interrupts_of_surface(interrupts: Iterable[dict[str, Any]], surface_id: str) -> list[dict[str, Any]]:
    """The closed interrupts that a surface was the form of."""
    return [each for each in interrupts if surface_id in (each["interruptId"], each.get("surfaceId"))]


def open_form(interrupts: Iterable[dict[str, Any]], surface_id: str, by_link: bool) -> SurfaceForm | None:
    """The form of an open interrupt: by its envelope the one that the node sent, by the interrupt the derived one. A
    link names its interrupt and shows the first of them that can be rendered."""
    for each in interrupts:
        if each["status"] != "open":
            continue
        if surface_id == each["interruptId"]:
            return form_of(each, by_link) if by_link else derived_form(each)
        form = bound_form(each, by_link)
        if form is not None and form.surface_id == surface_id:
            return form
    return None


def fold_a2ui(form: SurfaceForm, action_id: str, action: Any) -> Mapping[str, Any]:
    """surf-27 (A2UI 0.9.1, action): the values of an action that an A2UI client sends. Raises ClientFault.

    The button of the path counts, and the action must name it and this surface. Values without a field are dropped.
    """
    if form.surface is None:
        return {}
    named, values = fold_action(form.surface, action, surface_id=form.surface_id)
    if named != action_id:
        raise invalid("The action names another button than the path.", "/action/context/actionId")
    return values


def a2ui_messages(document: dict[str, Any]) -> list[dict[str, Any]] | None:
    """surf-27 (A2UI 0.9.1): the messages with which an A2UI client shows a surface, from the document for readers.
    Buttons that do not work are disabled. None for a surface that is not rendered."""
    if not document["render"]:
        return None
    surface = parse_surface(document["payload"])
    assert surface is not None, "a surface that is rendered is valid"
    disabled = {each["id"]: each["disabledReason"] for each in document["actions"] if "disabledReason" in each}
    if document["status"] != "open":
        disabled = dict.fromkeys([each.id for each in surface.buttons], "This form can no longer be answered.")
    names = {"surface_id": document["surfaceId"], "content_trust": document["contentTrust"]}
    return to_messages(surface, **names, disabled_actions=disabled)


def at_values(fault: ClientFault, form: SurfaceForm) -> ClientFault:
    """The error of an answer to this form, with its pointer into the values of the action."""
    details = fault.details or {}
    pointer = details.get("pointer")
    if not isinstance(pointer, str) or not pointer.startswith(_ANSWER):
        return fault
    place = pointer.removeprefix(_ANSWER).removeprefix("/answers")
    if form.question["kind"] == "approval":
        place = "/feedback" if place == "/refineFeedback/text" else place
        # The host's own form has one field for the whole of it.
        place = place.removeprefix("/editedArtifactData") if form.bound is not None else place
    return ClientFault(fault.code, fault.message, {**details, "pointer": f"/values{place}"}, status=fault.status)


def form_of(question: dict[str, Any], by_link: bool = False) -> SurfaceForm:
    """The form with which an interrupt is shown: that of its node if it can be rendered, else the derived one.

    surf-05: a link also gets the derived one, with the reason as its first text, in place of a form that must not
    answer an approval: its bearer has no other way to decide.
    """
    form = bound_form(question, by_link)
    if form is None or form.bound is None:
        return derived_form(question, by_link)
    if by_link and form.bound.blocked_reason is not None:
        own = derived_form(question, by_link)
        return form if own.derived is None else _with_text(own, f"{form.bound.blocked_reason} {_DECIDE_HERE}")
    return form


def _with_text(form: SurfaceForm, text: str) -> SurfaceForm:
    """The derived form with a text at its beginning; without it if there is no room for one."""
    assert form.derived is not None, "only a derived form gets a text"
    surface = form.derived.surface
    surface = msgspec.structs.replace(surface, components=(Text(text=text), *surface.components))
    payload = surface_payload(surface)
    if check_limits(payload):
        return form
    derived = msgspec.structs.replace(form.derived, surface=surface)
    return msgspec.structs.replace(form, payload=payload, derived=derived)


def bound_form(question: dict[str, Any], by_link: bool = False) -> SurfaceForm | None:
    """The form that the node of an interrupt sent; None if it sent none."""
    read = question_surface(question)
    if read is None:
        return None
    stored: dict[str, Any] = question["surface"]
    diagnostics = check_stored(stored["payload"]).diagnostics if read.bound is None else ()
    if read.is_partial:
        diagnostics = (Violation("", "partial", "is not complete yet"),)
    return SurfaceForm(
        stored["envelopeId"],
        question,
        stored["payload"],
        stored["contentTrust"],
        None if read.is_partial else read.bound,
        diagnostics=diagnostics,
        closed_reason=plan_for(question).closed_reason if by_link else "",
    )


def derived_form(question: dict[str, Any], by_link: bool = False) -> SurfaceForm:
    """surf-21: the form that the host derives. Its id is that of the interrupt, and its trust that of the question."""
    derived = derive_surface(question)
    trust: Trust = question.get("contentTrust", TRUSTED)
    if isinstance(derived, Underivable):
        return SurfaceForm(question["interruptId"], question, trust=trust, closed_reason=derived.reason)
    # A link cannot do all that a key can.
    reason = derived.plan.closed_reason if by_link else ""
    payload = surface_payload(derived.surface)
    return SurfaceForm(question["interruptId"], question, payload, trust, derived=derived, closed_reason=reason)
