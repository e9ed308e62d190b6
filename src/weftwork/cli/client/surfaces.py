"""The form that an agent wrote for an interrupt, as the host gives it, and the request that presses one of its buttons.

The host decides which buttons work. Its response is checked here again, because any host may be at the URL: a form that
this version does not know in full is not shown, since a form without one of its parts asks another question.
"""

from typing import Any, Final

import msgspec

from weftwork.cli.client.errors import NOT_OFFERED, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.console.documents import as_object, as_text, objects
from weftwork.protocol.forms.plan import APPROVAL_LABELS
from weftwork.protocol.surfaces.surface import Button, Surface, parse_surface
from weftwork.protocol.wire.v1.paths import path_for

TRUSTED: Final = "trusted"
_MAX_DIAGNOSTICS: Final = 10


class AgentForm(msgspec.Struct, frozen=True):
    """A form of an agent and the interrupt that it answers. All texts may be unprintable."""

    surface_id: str
    run_id: str
    node_id: str
    workflow_id: str
    surface: Surface | None
    """None if the form is stored but must not be rendered."""
    is_untrusted: bool
    """Whether content from outside the workflow went into the form. A host that does not say so is not believed."""
    disabled: dict[str, str] = {}
    """Button id -> why the button does not work. A button that the host does not list does not work either."""
    blocked_reason: str = ""
    """Why no button works; empty if they do."""
    diagnostics: tuple[str, ...] = ()
    """What is wrong with a form that is not rendered."""
    document: dict[str, Any] = {}
    """The response of the host."""
    kind: str = ""
    """The kind of the interrupt."""

    @property
    def title(self) -> str:
        title = self.surface.title if self.surface is not None else None
        return title if isinstance(title, str) else ""

    def effect(self, button: Button) -> str:
        """surf-70 (host): what a button of an approval does, in words that no agent wrote. Empty at other interrupts,
        where only the label says it."""
        return APPROVAL_LABELS.get(button.id, button.id) if self.kind == "approval" else ""

    @property
    def buttons(self) -> tuple[Button, ...]:
        return self.surface.buttons if self.surface is not None else ()

    @property
    def working_buttons(self) -> list[Button]:
        return [] if self.blocked_reason else [each for each in self.buttons if each.id not in self.disabled]


def read_form(
    client: Client, run_id: str, node_id: str, workflow_id: str, interrupt: dict[str, Any]
) -> AgentForm | None:
    """The form of an open interrupt; None if no agent wrote one, or if the host has no route for forms."""
    surface_id = surface_id_of(interrupt)
    if not surface_id:
        return None
    try:
        view = client.get(path_for("getSurface", runId=run_id, surfaceId=surface_id))
    except RequestRefused as refused:
        if refused.status in NOT_OFFERED:
            return None
        raise
    form = _form(surface_id, run_id, node_id, workflow_id, as_object(view))
    return msgspec.structs.replace(form, kind=as_text(interrupt.get("kind")))


def surface_id_of(interrupt: dict[str, Any]) -> str:
    """The id of the form that an agent wrote for the interrupt; empty if no agent wrote one."""
    return as_text(as_object(interrupt.get("surface")).get("envelopeId"))


def title_and_trust(interrupt: dict[str, Any]) -> tuple[str, bool] | None:
    """The title of the interrupt's form, which may be empty or unprintable, and whether the form is trusted. None if no
    agent wrote a form."""
    if not surface_id_of(interrupt):
        return None
    member = as_object(interrupt.get("surface"))
    surface = as_object(as_object(member.get("payload")).get("surface"))
    return as_text(surface.get("title")), member.get("contentTrust") == TRUSTED


def press_button(client: Client, form: AgentForm, button_id: str, values: dict[str, Any], key: str) -> Any:
    """Press a button of the form with these values by field id. `key` makes the request repeatable."""
    path = path_for("actOnSurface", runId=form.run_id, surfaceId=form.surface_id, actionId=button_id)
    return client.post(path, {"values": values}, idempotency_key=key)


def _form(surface_id: str, run_id: str, node_id: str, workflow_id: str, view: dict[str, Any]) -> AgentForm:
    problems = [
        ": ".join(each for each in (as_text(row.get("pointer")), as_text(row.get("message"))) if each)
        for row in objects(view.get("diagnostics"))
    ]
    surface = parse_surface(view.get("payload")) if view.get("render") is not False else None
    if view.get("partial") is True:
        surface, problems = None, ["The form is not complete yet."]
    elif surface is None and not problems:
        problems = ["It has parts that this version of weftwork does not know."]
    listed = {as_text(row.get("id")): as_text(row.get("disabledReason")) for row in objects(view.get("actions"))}
    buttons = surface.buttons if surface is not None else ()
    reasons = {each.id: listed.get(each.id, "The host does not offer this button.") for each in buttons}
    return AgentForm(
        surface_id,
        run_id,
        node_id,
        workflow_id,
        surface,
        view.get("contentTrust") != TRUSTED,
        {name: reason for name, reason in reasons.items() if reason},
        as_text(view.get("blockedReason")),
        tuple(problems[:_MAX_DIAGNOSTICS]),
        view,
    )
