"""Forms of waiting runs in a host inside this process: how tests read them and press their buttons."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.engine.sdk.model_callers import VALUE, CallerHost, open_callers, sent
from tests.engine.sdk.test_surfaces import FORM, payload
from tests.live.host import Answer
from tests.live.steering import flow, interrupt_node
from tests.live.tokens import approval_workflow
from weftwork.engine.api import interrupts, surfaces
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.json import schema

ACCEPT = {"component": "action.button", "id": "accept", "label": "Yes", "action": {"target": "resume"}}
UNTRUSTED = {"envelopeId": "env-1", "contentTrust": "untrusted", "payload": payload(ACCEPT)}
WHO = {"who": "Ada"}


@pytest.fixture
async def host() -> AsyncIterator[CallerHost]:
    async with open_callers() as opened:
        for document in (flow("plain", [interrupt_node("plain")]), approval_workflow("gate")):
            assert (await opened.inside.call("POST", "/v1/workflows", document)).status == 201
        yield opened


class Form:
    """The form of a waiting run."""

    def __init__(self, host: CallerHost, run_id: str, surface_id: str) -> None:
        self._host = host
        self.run_id = run_id
        self.surface_id = surface_id
        self.path = f"/v1/host/weftwork/runs/{run_id}/surfaces/{surface_id}"

    async def read(self, **more: Any) -> Answer:
        answer = await self._host.inside.call("GET", self.path, **more)
        if answer.status == 200 and answer.headers["content-type"] == "application/json":
            assert schema.check("surface-view", answer.document) == []
        return answer

    async def press(self, action: str, values: Any = None, **more: Any) -> Answer:
        return await self._host.inside.call("POST", f"{self.path}/actions/{action}", {"values": values or {}}, **more)


async def interrupt_of(host: CallerHost, run_id: str) -> dict[str, Any]:
    await host.wait_for_interrupt(run_id)
    listed = await host.inside.call("GET", f"/v1/runs/{run_id}/interrupts")
    (found,) = listed.document["interrupts"]
    return found


async def form_of(host: CallerHost, name: str = "surface", document: Any = FORM) -> Form:
    run_id = await host.start(name, sent(SURFACE_KIND, document), VALUE)
    return Form(host, run_id, (await interrupt_of(host, run_id))["surface"]["envelopeId"])


async def derived_form_of(host: CallerHost, name: str) -> Form:
    created = await host.inside.call("POST", "/v1/runs", {"workflowId": name})
    return Form(host, created.document["runId"], (await interrupt_of(host, created.document["runId"]))["interruptId"])


async def token_of(host: CallerHost, form: Form) -> str:
    return (await interrupt_of(host, form.run_id))["token"]


def by_link(token: str, rest: str) -> str:
    return f"/v1/host/weftwork/interrupts/{token}/{rest}"


def store(monkeypatch: pytest.MonkeyPatch, surface: dict[str, Any]) -> None:
    """Let every open interrupt have this surface, as another host may have stored it."""
    real = interrupts.interrupt_rows

    def stored_rows(stored: Any) -> list[dict[str, Any]]:
        return [{**row, "surface": surface} if row["status"] == "open" else row for row in real(stored)]

    for module in (interrupts, surfaces):
        monkeypatch.setattr(module, "interrupt_rows", stored_rows)
