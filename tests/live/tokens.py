"""Interrupts of a real host: gates, keys that may do this or that, and calls with a token in place of a key."""

from typing import Any

from tests.harness.cases import present
from tests.harness.definitions import node
from tests.live.host import KEY, Answer, Host
from tests.live.steering import flow
from weftwork.adapters.admin.client import send_request
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.wiring.data_folder import ADMIN_SOCKET


def approval_node(node_id: str = "gate", **config: Any) -> dict[str, Any]:
    return node(node_id, "core.approvalGate", config={"title": "May it?", "actions": ["accept", "reject"], **config})


def approval_workflow(workflow_id: str, **config: Any) -> dict[str, Any]:
    return flow(workflow_id, [approval_node(**config)])


def administer(host: Host, operation: str, **arguments: Any) -> dict[str, Any]:
    """What the operator's socket answers."""
    return present(send_request(host.data / ADMIN_SOCKET, {"operation": operation, "arguments": arguments}))


def key_with(host: Host, *scopes: str, tenant: str = "acme", label: str = "") -> str:
    """A new key that has these scopes and no others."""
    made = administer(host, "keys.create", tenant=tenant, scopes=list(scopes), label=label)
    return made["key"]


def key_without(host: Host, *scopes: str) -> str:
    return key_with(host, *(scope for scope in SCOPES if scope not in scopes))


def token_of(host: Host, run_id: str, key: str = KEY) -> str:
    """The token that a read of a waiting run gives."""
    return host.snapshot(run_id, key)["interrupt"]["interruptToken"]


def get_interrupt(host: Host, token: str, method: str = "GET", **headers: str) -> Answer:
    return host.call(method, f"/v1/interrupts/{token}", key=None, headers=headers)


def answer_by_token(host: Host, token: str, value: Any, **headers: str) -> Answer:
    return host.call("POST", f"/v1/interrupts/{token}", {"resumeValue": value}, key=None, headers=headers)


def create_link(host: Host, run_id: str, document: Any = None, key: str | None = KEY, node_id: str = "gate") -> Answer:
    return host.call("POST", f"/v1/host/weftwork/runs/{run_id}/interrupts/{node_id}/links", document, key=key)


def created_link(
    host: Host, run_id: str, document: Any = None, key: str = KEY, node_id: str = "gate"
) -> dict[str, Any]:
    answer = create_link(host, run_id, document, key, node_id)
    assert answer.status == 201, answer.body
    return answer.document


def comparable(answer: Answer) -> tuple[int, dict[str, str], bytes]:
    """All of an answer that two requests can have in common."""
    headers = {name: value for name, value in answer.headers.items() if name not in ("date", "traceparent")}
    return answer.status, headers, answer.body


ACCEPT = {"action": "accept"}
