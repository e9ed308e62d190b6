"""Clients that write down what they ask and what they are told, and know a dead host from a slow one."""

import contextlib
import http.client
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.live import Answer, Host, until
from tests.live.host import KEY
from weftwork.adapters.admin.client import send_request


@dataclass
class TrackedCreate:
    """One wish for one run, however often it was sent. Its tag is its own, so its runs can be counted."""

    tag: str
    body: dict[str, Any]
    key: str | None
    run_id: str | None = None
    answer: bytes | None = None
    new_run_ids: list[str] = field(default_factory=list)
    """Runs that were answered as new: no more than one, whoever sends it how often."""

    @property
    def workflow(self) -> str:
        return self.body["workflowId"]


@dataclass
class TrackedCancel:
    """One wish that a run end. `answer` is None while nobody was told how it went."""

    run_id: str
    key: str | None
    answer: bytes | None = None
    status: str | None = None


@dataclass
class TrackedDelete:
    """One wish that an ended run be gone. `done` once somebody was told so."""

    run_id: str
    key: str | None
    done: bool = False


@dataclass
class TrackedSteer:
    """One pause, resume or answer, with a tag of its own. `taken` is None while nobody was told how it went."""

    run_id: str
    tag: str
    was_accepted: bool | None = None


@dataclass
class ClientHistory:
    """What must be there, what may be there, and what was seen. Clients in several threads may write to it."""

    creates: dict[str, TrackedCreate] = field(default_factory=dict)
    cancels: list[TrackedCancel] = field(default_factory=list)
    deletes: list[TrackedDelete] = field(default_factory=list)
    steers: list[TrackedSteer] = field(default_factory=list)
    streams: list[tuple[str, bytes]] = field(default_factory=list)
    """Run id, and the body of a stream from its beginning as far as it came."""
    pages: list[tuple[str, list[dict[str, Any]]]] = field(default_factory=list)
    """Run id, and events that were read from its beginning."""
    keys: list[str] = field(default_factory=list)

    def acknowledged(self) -> dict[str, TrackedCreate]:
        """Run id -> wish, for those that were answered and that nobody wanted to be deleted."""
        doomed = {wish.run_id for wish in self.deletes}
        wishes = self.creates.values()
        return {wish.run_id: wish for wish in wishes if wish.run_id is not None and wish.run_id not in doomed}


CONNECTION_ERRORS = (OSError, http.client.HTTPException)


class HostGone(Exception):
    """The host has died or is about to; what was asked last may have happened or not."""


def stream(host: Host, run_id: str, last: str = "") -> tuple[int, bytes, bool]:
    """Status, body as far as it came, and whether its end was announced. Status 0 is no answer at all."""
    lines = [f"GET /v1/runs/{run_id}/events?streamMode=debug HTTP/1.1", "Host: x", f"Authorization: Bearer {KEY}"]
    lines += ["Connection: close"] + ([f"Last-Event-ID: {last}"] if last else [])
    received = bytearray()
    with contextlib.suppress(OSError), host.connect() as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        while not received.endswith(b"\r\n0\r\n\r\n") and (data := connection.recv(1 << 20)):
            received += data
    head, _, raw = bytes(received).partition(b"\r\n\r\n")
    return int(head.split()[1]) if head else 0, *_dechunk(raw)


def _dechunk(raw: bytes) -> tuple[bytes, bool]:
    """Like the one for small bodies, in one pass."""
    parts: list[bytes] = []
    at = 0
    while (line_end := raw.find(b"\r\n", at)) >= 0:
        length = int(raw[at:line_end], 16)
        if length == 0:
            return b"".join(parts), True
        parts.append(raw[line_end + 2 : line_end + 2 + length])
        at = line_end + length + 4
    return b"".join(parts), False


class RecordingClient:
    """Asks one host for things. Raises Gone when there is no answer because there is no host any more."""

    def __init__(self, host: Host, ledger: ClientHistory, name: str) -> None:
        self.host = host
        self.history = ledger
        self.name = name
        self._count = 0
        self.refusals = 0

    def create(self, workflow: str, keyed: bool = False, **inputs: Any) -> str | None:
        """A new run; None when the host could not say whether there is one."""
        return self.send_create(self.plan_create(workflow, keyed, **inputs))

    def plan_create(self, workflow: str, keyed: bool = False, **inputs: Any) -> TrackedCreate:
        """A wish for a new run, written down and not sent."""
        self._count += 1
        tag = f"{self.name}-{self._count}"
        wish = TrackedCreate(
            tag, {"workflowId": workflow, "inputs": inputs, "tags": [tag]}, f"key-{tag}" if keyed else None
        )
        self.history.creates[tag] = wish
        return wish

    def send_create(self, wish: TrackedCreate) -> str | None:
        """Send a wish for a run, for the first time or again."""
        known = wish.answer
        answer = self._call("POST", "/v1/runs", wish.body, _idempotency(wish.key))
        if answer is None:
            return None
        assert answer.status == 201, answer.body
        run_id = answer.document["runId"]
        assert wish.run_id in (None, run_id), f"{wish.tag} was {wish.run_id} and is {run_id} now"
        assert wish.answer in (None, answer.body), f"{wish.tag} is answered in other words"
        if answer.headers.get("openwop-idempotent-replay") != "true":
            wish.new_run_ids.append(run_id)
            assert known is None, f"{wish.tag} was not a replay"
            assert len(wish.new_run_ids) == 1, f"{wish.tag} was new twice"
        wish.run_id, wish.answer = run_id, answer.body
        return run_id

    def cancel(self, run_id: str, keyed: bool = False) -> TrackedCancel:
        wish = TrackedCancel(run_id, f"cancel-{run_id}" if keyed else None)
        self.history.cancels.append(wish)
        self.send_cancel(wish)
        return wish

    def send_cancel(self, wish: TrackedCancel) -> None:
        answer = self._call("POST", f"/v1/runs/{wish.run_id}/cancel", None, _idempotency(wish.key))
        if answer is not None:
            assert answer.status == 200, answer.body
            assert wish.key is None or wish.answer in (None, answer.body), f"{wish.run_id} is answered in other words"
            wish.answer, wish.status = answer.body, answer.document["status"]

    def delete(self, run_id: str, keyed: bool = False) -> None:
        wish = TrackedDelete(run_id, f"delete-{run_id}" if keyed else None)
        self.history.deletes.append(wish)
        self.send_delete(wish)

    def send_delete(self, wish: TrackedDelete) -> None:
        answer = self._call("DELETE", f"/v1/runs/{wish.run_id}", None, _idempotency(wish.key))
        if answer is not None:
            assert (answer.status, answer.body) == (204, b""), answer.body
            wish.done = True

    def steer(self, run_id: str, how: str) -> None:
        """Pause a run at once, resume it, or answer its question, whether it is in a state for that or not."""
        self._count += 1
        wish = TrackedSteer(run_id, f"{self.name}-{self._count}")
        self.history.steers.append(wish)
        bodies = {":pause": {"drainPolicy": "immediate", "reason": wish.tag}, ":resume": {"reason": wish.tag}}
        answer = self._call("POST", f"/v1/runs/{run_id}{how}", bodies.get(how, {"resumeValue": wish.tag}), {})
        if answer is not None:
            assert answer.status in (200, 202, 404, 409, 410), answer.body
            wish.was_accepted = answer.status < 300

    def read(self, run_id: str) -> list[dict[str, Any]]:
        answer = self._call("GET", f"/v1/runs/{run_id}/events", None, {})
        events = answer.document["events"] if answer is not None else []
        self.history.pages.append((run_id, events))
        return events

    def await_child(self, run_id: str) -> None:
        """Return when a run has started another one, or has ended."""
        until(lambda: self._has_child(run_id), f"{run_id} to have a child")

    def _has_child(self, run_id: str) -> bool:
        answer = self._call("GET", f"/v1/runs/{run_id}", None, {})
        return answer is not None and ("childRuns" in answer.document or "completedAt" in answer.document)

    def watch(self, run_id: str) -> bytes:
        """Follow a stream until it ends or breaks; returns the body as far as it came."""
        status, body, ended = stream(self.host, run_id)
        if status == 503:
            self.refusals += 1
            return b""
        self.history.streams.append((run_id, body))
        if not ended:
            self.await_death()
        return body

    def make_key(self) -> str | None:
        """A key of the tenant acme, as `weftwork keys create` makes it; None when nobody can say what became of it."""
        request = {"operation": "keys.create", "arguments": {"tenant": "acme"}}
        try:
            answer = send_request(self.host.data / "admin.sock", request)
        except OSError as error:
            if "admin.answer" not in self.host.errors:
                self.await_death()
                raise HostGone from error
            answer = {"error": "service_unavailable"}
        if answer is None:
            self.await_death()
            raise HostGone
        if "key" not in answer:
            assert answer["error"] == "service_unavailable", answer
            self.refusals += 1
            return None
        self.history.keys.append(answer["key"])
        return answer["key"]

    def await_death(self) -> None:
        """Return when the host has died; it was seen to hang up, and may be slow to end."""
        try:
            self.host.process.wait(120)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the host hung up and lives: {self.host.errors}") from None

    def _call(self, method: str, path: str, document: Any, headers: Mapping[str, str]) -> Answer | None:
        """The answer; None for a 503."""
        try:
            answer = self.host.call(method, path, document, headers=headers)
        except CONNECTION_ERRORS as error:
            self.await_death()
            raise HostGone from error
        if answer.status == 503:
            self.refusals += 1
            assert answer.document["error"] == "service_unavailable", answer.body
            assert answer.headers["retry-after"], answer.headers
            return None
        return answer


def _idempotency(key: str | None) -> dict[str, str]:
    return {"Idempotency-Key": key} if key is not None else {}
