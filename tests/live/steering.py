"""Steering the runs of a real host: workflows that ask, and the calls that pause, resume and answer."""

from typing import Any
from urllib.parse import quote

from tests.harness.definitions import node, workflow
from tests.live.host import KEY, Answer, Host, until

QUESTION = {"kind": "custom", "data": {"customKind": "pick", "payload": {"from": [1, 2]}}}


class RemoteHost(Host):
    """A host that was started elsewhere; it can only be called."""

    def __init__(self, port: int) -> None:
        self.port = port


def interrupt_node(node_id: str, **more: Any) -> dict[str, Any]:
    return node(node_id, "core.interrupt", config=QUESTION, **more)


def flow(workflow_id: str, nodes: list[dict[str, Any]], *parts: Any, **more: Any) -> dict[str, Any]:
    """A definition under this id."""
    return workflow(nodes, *parts, id=workflow_id, name=workflow_id, **more)


def register(host: Host, document: dict[str, Any], key: str = KEY) -> str:
    """The id of a workflow that is now there."""
    answer = host.call("POST", "/v1/workflows", document, key=key)
    assert answer.status in (200, 201), answer.body
    return document["id"]


def pause(host: Host, run_id: str, document: Any = None, key: str | None = KEY, **headers: str) -> Answer:
    return host.call("POST", f"/v1/runs/{run_id}:pause", document, key=key, headers=headers)


def resume(host: Host, run_id: str, document: Any = None, key: str | None = KEY, **headers: str) -> Answer:
    return host.call("POST", f"/v1/runs/{run_id}:resume", document, key=key, headers=headers)


def answer_over_http(
    host: Host, run_id: str, node_id: str, value: Any, key: str | None = KEY, **headers: str
) -> Answer:
    path = f"/v1/runs/{run_id}/interrupts/{quote(node_id, safe='')}"
    return host.call("POST", path, {"resumeValue": value}, key=key, headers=headers)


def cancel(host: Host, run_id: str) -> None:
    assert host.call("POST", f"/v1/runs/{run_id}/cancel").status == 200


def await_status(host: Host, run_id: str, status: str) -> dict[str, Any]:
    """The snapshot once the run stands so."""

    def look() -> dict[str, Any] | None:
        shown = host.snapshot(run_id)
        return shown if shown["status"] == status else None

    return until(look, f"the run to be {status}")


def events(host: Host, run_id: str, key: str = KEY) -> list[dict[str, Any]]:
    """All events so far."""
    answer = host.call("GET", f"/v1/runs/{run_id}/events", key=key)
    assert answer.status == 200, answer.body
    return answer.document["events"]


def event_types(host: Host, run_id: str) -> list[str]:
    return [event["type"] for event in events(host, run_id)]


def payloads(host: Host, run_id: str, kind: str) -> list[dict[str, Any]]:
    return [event["payload"] for event in events(host, run_id) if event["type"] == kind]


TOKEN_MEMBERS = ("interruptToken", "callbackUrl", "tokenIntent")


def without_tokens(shown: dict[str, Any]) -> dict[str, Any]:
    """A snapshot, or one interrupt, without what is made anew for every reader."""
    kept = {name: value for name, value in shown.items() if name not in TOKEN_MEMBERS}
    if "interrupts" in kept:
        kept |= {
            "interrupt": without_tokens(kept["interrupt"]),
            "interrupts": [*map(without_tokens, kept["interrupts"])],
        }
    return kept


def error_code(answer: Answer) -> tuple[int, str]:
    """How a request was refused."""
    return answer.status, answer.document["error"]


def assert_replayed(first: Answer, again: Answer) -> None:
    """The second answer is the first one, sent again under the same idempotency key."""
    assert (first.status, first.body) == (again.status, again.body)
    assert "openwop-idempotent-replay" not in first.headers
    assert again.headers["openwop-idempotent-replay"] == "true"
