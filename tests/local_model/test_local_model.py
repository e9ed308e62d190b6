"""Runs that a real model answers, on the server that `weftwork serve --local-model` starts.

The model is small, and a processor with other instructions may round differently: the tests check the shapes of its
answers, and the value of a single sample at temperature 0.
"""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.definitions import node
from tests.live import Host, frames, start_host, until, write_workflows
from tests.live.workflows import chain
from tests.local_model.weights import WEIGHTS, has_weights

CANARY = "zanzibar-4711"
INVOICE = {
    "type": "object",
    "properties": {"vendor": {"type": "string"}, "amount": {"type": "integer", "minimum": 1}},
    "required": ["vendor", "amount"],
    "additionalProperties": False,
}


def prompt(workflow_id: str, text: str, max_tokens: int, **more: Any) -> dict[str, Any]:
    config = {"prompt": text, "temperature": 0, "maxTokens": max_tokens}
    return chain(workflow_id, [node("say", "core.ai.callPrompt", config=config, **more)])


EXTRACT = {
    "prompt": "Extract the vendor and the amount: Acme sent us a bill of 80 euros.",
    "outputSchema": INVOICE,
    "temperature": 0,
    "maxTokens": 100,
}
WORKFLOWS = (
    prompt("greet", "Say hi to Ada.", 24),
    prompt("secret", f"Repeat this word: {CANARY}", 24),
    prompt("story", "Tell a very long story about a lighthouse.", 60),
    prompt("novel", "Write a novel about a lighthouse, as long as possible.", 2_000),
    chain("extract", [node("read", "core.ai.structuredOutput", config=EXTRACT)]),
)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """One host with one model server for all tests of a process."""
    if not has_weights():
        pytest.fail("the weights are missing; run make test, or the command in tests/local_model/weights.py")
    folder = tmp_path_factory.mktemp("local-model")
    flows = write_workflows(folder / "flows", *WORKFLOWS)
    # The instructions about envelopes would be most of what the model has to read.
    environment = {"WEFTWORK_UNIVERSAL_KINDS_IN_PROMPTS": "false"}
    with start_host(folder, "--local-model", WEIGHTS, "--workflows", flows, env=environment) as host:
        yield host


def payloads(log: list[dict[str, Any]], event_type: str) -> list[dict[str, Any]]:
    return [event["payload"] for event in log if event["type"] == event_type]


def outputs(log: list[dict[str, Any]], node_id: str) -> dict[str, Any]:
    assert log[-1]["type"] == "run.completed", json.dumps(log[-2:])
    return log[-1]["payload"]["outputs"][node_id]


def server_log(host: Host) -> str:
    return (host.data / "models" / "server.log").read_text("utf-8")


def server_pids(host: Host) -> list[int]:
    """The processes of the model server, from the log of the host."""
    lines = [json.loads(line) for line in host.errors.splitlines() if "model server ready" in line]
    return [line["pid"] for line in lines]


def read_first_chunk(host: Host, run: str) -> None:
    """Wait until the model has begun to answer."""
    stream = host.stream(run, "?streamMode=debug")
    with stream.connection:
        stream.read_until(lambda body: any(frame.event == "output.chunk" for frame in frames(body)))


def test_a_host_answers_before_its_model_does_and_names_the_model(host: Host) -> None:
    run = host.create("greet")
    assert "local/smollm2" in host.output
    assert str(host.data / "models" / "server.log") in host.output
    assert host.call("GET", "/.well-known/openwop").document["aiProviders"]["supported"] == ["local"]
    assert outputs(host.log(run), "say")["text"]


def test_an_answer_is_streamed_and_its_tokens_are_counted(host: Host) -> None:
    log = host.log(host.create("greet"))
    output = outputs(log, "say")
    chunks = [payload["chunk"] for payload in payloads(log, "output.chunk")]
    assert len(chunks) > 4
    assert "".join(chunks) == output["text"]
    (usage,) = payloads(log, "provider.usage")
    assert usage["provider"] == "local"
    assert usage["inputTokens"] > 10
    assert len(chunks) - 2 <= usage["outputTokens"] <= 24
    assert usage["outputTokens"] == output["usage"]["outputTokens"]


def test_a_schema_is_filled_through_the_gate(host: Host) -> None:
    # Twice, because a prompt that the server had cached would have another answer.
    for log in [host.log(host.create("extract")) for _ in range(2)]:
        output = outputs(log, "read")
        assert output["data"] == {"vendor": "Acme", "amount": 80}
        assert not payloads(log, "envelope.retry.attempted")
        assert not payloads(log, "output.chunk")


def test_an_answer_ends_at_its_token_limit(host: Host) -> None:
    output = outputs(host.log(host.create("story")), "say")
    assert output["finishReason"] == "length"
    assert output["usage"]["outputTokens"] == 60


def test_two_runs_are_answered_at_once(host: Host) -> None:
    runs = [host.create("story") for _ in range(2)]
    logs = [host.log(run) for run in runs]
    spans = [(one_of(log, "output.chunk"), log[-1]["timestamp"]) for log in logs]
    assert max(first for first, _ in spans) < min(last for _, last in spans)
    assert all(outputs(log, "say")["text"] for log in logs)


def one_of(log: list[dict[str, Any]], event_type: str) -> str:
    """The time of the first event of a type."""
    return next(event["timestamp"] for event in log if event["type"] == event_type)


def test_a_cancelled_run_stops_the_model(host: Host) -> None:
    run = host.create("novel")
    read_first_chunk(host, run)
    cancelled = server_log(host).count("cancel task")
    assert host.call("POST", f"/v1/runs/{run}/cancel").status == 200
    assert host.log(run)[-1]["type"] == "run.cancelled"
    until(lambda: server_log(host).count("cancel task") > cancelled, "the model server to stop the answer")


def test_a_killed_model_server_fails_one_node_and_starts_again(host: Host) -> None:
    run = host.create("novel")
    read_first_chunk(host, run)
    killed = server_pids(host)[-1]
    os.kill(killed, signal.SIGKILL)
    log = host.log(run)
    assert log[-1]["type"] == "run.failed"
    assert payloads(log, "node.failed")[0]["error"]["code"] == "provider_unavailable"
    # The server is not there now, so this call has to wait for it.
    assert outputs(host.log(host.create("greet")), "say")["text"]
    assert server_pids(host)[-1] != killed


def test_prompts_are_in_no_log_and_the_memory_has_a_limit(host: Host) -> None:
    host.log(host.create("secret"))
    assert CANARY not in server_log(host)
    pid = server_pids(host)[-1]
    limits = Path(f"/proc/{pid}/limits").read_text()
    bound = next(line.split()[3] for line in limits.splitlines() if line.startswith("Max address space"))
    assert int(bound) == 2 * 2**30 + 2 * WEIGHTS.stat().st_size
