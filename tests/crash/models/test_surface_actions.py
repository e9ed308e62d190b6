"""A pressed button under kills: after a restart it is recorded once, or it can be pressed again."""

import contextlib
import json
from pathlib import Path

import pytest

from tests.crash.client import CONNECTION_ERRORS
from tests.crash.restartable_host import RestartableHost, check_killed_at, stop
from tests.engine.sdk.test_surfaces import ANSWER, FORM
from tests.harness.definitions import node
from tests.live import Answer, Host, until
from tests.live.steering import await_status, flow, payloads
from weftwork.protocol.envelopes.kinds import SURFACE_KIND

pytestmark = pytest.mark.slow

CONFIG = {"userMessage": "Well?", "envelopeType": SURFACE_KIND}
SCRIPT = {"nodes": {"form": [{"content": json.dumps({"type": SURFACE_KIND, "payload": FORM})}]}}


class FormHost(RestartableHost):
    workflows = (flow("asks", [node("form", "core.ai.generateEnvelope", config=CONFIG)]),)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        script = folder / "script.json"
        script.write_text(json.dumps(SCRIPT))
        self.arguments = ("--model-script", script)


def press(host: Host, path: str) -> Answer:
    key = {"Idempotency-Key": "press"}
    return host.call("POST", f"{path}/actions/book", {"values": {"who": "Ada"}}, headers=key)


@pytest.mark.rule("surf-25")
@pytest.mark.parametrize(
    ("point", "is_recorded"), [("append.begin", False), ("append.durable", True), ("answer.durable", True)]
)
def test_an_action_is_recorded_once_or_can_be_sent_again(tmp_path: Path, point: str, is_recorded: bool) -> None:
    with FormHost(tmp_path) as ground:
        host = ground.start()
        run_id = host.create("asks")
        surface_id = await_status(host, run_id, "waiting-input")["interrupt"]["surface"]["envelopeId"]
        path = f"/v1/host/weftwork/runs/{run_id}/surfaces/{surface_id}"
        stop(host)
        host = ground.start(f"{point}:1:kill")
        with contextlib.suppress(*CONNECTION_ERRORS):
            answer = press(host, path)
            raise AssertionError(f"the host was to die: {answer}")
        check_killed_at(host, point)
        host = ground.start()
        shown = until(lambda: host.call("GET", path).document, "the surface")
        assert shown["status"] == ("answered" if is_recorded else "open")
        again = press(host, path)
        assert again.status == 200, again.body
        assert ("openwop-idempotent-replay" in again.headers) == is_recorded
        ended = await_status(host, run_id, "completed")
        assert ended["outputs"]["form"]["answer"] == ANSWER
        assert len(payloads(host, run_id, "interrupt.resolved")) == 1
        stop(host)
