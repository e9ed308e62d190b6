"""`weftwork eval` against a host with two scripted models, over real sockets."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.foreign_host import run_on
from tests.harness.definitions import node
from tests.live import KEY, Host, start_host, until
from tests.live.host import TIMEOUT_SECONDS, command, environment
from tests.live.workflows import chain, write_workflows
from weftwork.protocol.json import schema

SETTINGS = """
[providers.plain]
type = "scripted"
script = "{folder}/plain.toml"
[[providers.plain.models]]
name = "small"
price = {{ input = 1.0, output = 2.0 }}

[providers.other]
type = "scripted"
script = "{folder}/other.toml"
"""
SCRIPTS = {
    "plain": '[nodes]\nsay = [{content = "yes", inputTokens = 1000, outputTokens = 500}]\n'
    'ask = ["yes"]\nfails = ["fine"]\nslow = ["quick"]\n',
    "other": '[nodes]\nsay = [{content = "no", inputTokens = 40, outputTokens = 2}]\nask = ["no"]\n'
    'fails = [{fault = {code = "provider_error", retryable = false}}]\n'
    'slow = [{chunks = ["1","2","3","4","5","6","7","8","9","10","11","12"], delayMsPerToken = 5000}]\n',
}
FIRST = node("first", "core.transform", config={"expression": "1 + 1"})


def model(node_id: str, **more: Any) -> dict[str, Any]:
    return node(node_id, "core.ai.callPrompt", config={"prompt": "Well?", "promptId": "well"}, **more)


QUESTION = node(
    "question",
    "core.interrupt",
    config={"kind": "clarification", "data": {"questions": [{"id": "q", "question": "Q?"}]}},
)
SETTING = {"retries": 0}
WORKFLOWS = (
    chain("talk", [FIRST, model("say")], settings=SETTING),
    chain("fails", [FIRST, model("fails")], settings=SETTING),
    chain("slow", [FIRST, model("slow")], settings=SETTING),
    chain("mute", [FIRST]),
    chain(
        "maybe",
        [model("ask"), QUESTION],
        settings=SETTING,
    ),
    chain(
        "asking-parent",
        [node("sub", "core.subWorkflow", config={"workflowId": "maybe"})],
        settings=SETTING,
    ),
    chain(
        "parent",
        [FIRST, node("sub", "core.subWorkflow", config={"workflowId": "talk"})],
        settings=SETTING,
    ),
)
CHECKS = """
import weftwork

def is_yes(run):
    print("a line that must not reach standard output")
    return {"score": "yes" in str(run.outputs), "note": run.variant}

def count(run):
    return len(run.events) - len(run.source_events)

def breaks(run):
    raise ValueError("no such answer")
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("eval")
    for name, script in SCRIPTS.items():
        (folder / f"{name}.toml").write_text(script, "utf-8")
    (folder / "weftwork.toml").write_text(SETTINGS.format(folder=folder), "utf-8")
    flows = write_workflows(folder / "flows", *WORKFLOWS)
    with start_host(folder, "--config", folder / "weftwork.toml", "--workflows", flows, store="memory") as running:
        yield running


@pytest.fixture
def checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "eval_checks.py").write_text(CHECKS, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)


def recorded(host: Host, workflow_id: str, **members: Any) -> str:
    run_id = host.create(workflow_id, **members)
    host.log(run_id)
    return run_id


def evaluated(host: Host, *args: str, code: int = 0) -> dict[str, Any]:
    """The document of the results."""
    document = json.loads(run_on(host, "eval", "--json", *args, code=code).stdout)
    assert schema.check("eval-results", document) == []
    return document


def outcomes(document: dict[str, Any], at: int = 0) -> dict[str, dict[str, Any]]:
    return {each["variant"]: each for each in document["runs"][at]["outcomes"]}


@pytest.mark.usefixtures("checks")
def test_two_models_are_compared_with_the_recorded_run(host: Host, tmp_path: Path) -> None:
    run_id = recorded(host, "talk", tags=["kept", "eval:before"])
    document = evaluated(
        host,
        *(run_id, "--model", "plain/small", "--model", "other/big", "--check", "eval_checks:is_yes"),
        *("--check", "eval_checks:count", "--name", "two", "--out", str(tmp_path / "out.json")),
    )
    assert json.loads((tmp_path / "out.json").read_text("utf-8")) == document
    assert document["isComplete"]
    assert [each["name"] for each in document["variants"]] == ["recorded", "plain/small", "other/big"]
    found = outcomes(document)
    assert {name: each["scores"][0] for name, each in found.items()} == {
        "recorded": {"check": "eval_checks:is_yes", "score": 1.0, "note": "recorded"},
        "plain/small": {"check": "eval_checks:is_yes", "score": 1.0, "note": "plain/small"},
        "other/big": {"check": "eval_checks:is_yes", "score": 0.0, "note": "other/big"},
    }
    # The log of a branch has one event more than its source.
    assert [each["scores"][1]["score"] for each in found.values()] == [0.0, 1.0, 1.0]
    usage = {name: each["usage"] for name, each in found.items()}
    assert {name: (each["totalTokens"], each["costUsd"]) for name, each in usage.items()} == {
        "recorded": (1500, 0.002),
        "plain/small": (1500, 0.002),
        "other/big": (42, None),
    }
    assert document["runs"][0]["nodeId"] == "say"
    assert document["totals"][1]["usage"]["costUsd"] == 0.002
    for name in ("plain/small", "other/big"):
        fork = host.snapshot(found[name]["runId"])
        assert fork["tags"] == ["kept", "eval:two"]
        assert fork["outputs"] == found[name]["outputs"]
        prefix = host.log(fork["runId"])[: document["runs"][0]["fromSeq"]]
        assert prefix[-1]["type"] == "node.completed"
        assert prefix == [{**each, "runId": fork["runId"]} for each in host.log(run_id)[: len(prefix)]]


def test_a_table_shows_runs_variants_and_totals(host: Host) -> None:
    run_ids = [recorded(host, "talk"), recorded(host, "talk")]
    done = run_on(host, "eval", *run_ids, "--model", "plain/small", "--model", "other/big")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["run", "recorded", "plain/small", "other/big"]
    assert lines[1].split() == [run_ids[0], "status", "completed", "completed", "completed"]
    assert lines[2].split() == ["score", "1", "1", "0"]
    assert lines[3].split() == ["tokens", "1,500", "1,500", "42"]
    assert lines[4].split() == ["cost", "$0.002", "$0.002", "unknown"]
    assert lines[6].split()[0] == run_ids[1]
    totals = {" ".join(line.split()[:2]): line.split() for line in lines[11:]}
    assert totals["mean score"][2:] == ["1", "1", "0"]
    assert totals["cost $0.004"][1:] == ["$0.004", "$0.004", "unknown"]
    assert "4 of 4:" in done.stderr


def test_the_text_of_a_prompt_is_replaced(host: Host, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("Really?", "utf-8")
    run_id = recorded(host, "talk", configurable={"promptOverrides": {"other": "Stays."}})
    document = evaluated(host, run_id, "--prompt", f"well=@{tmp_path}/text.txt", "--prompt", "well=Sure?")
    texts = [host.snapshot(each["runId"])["configurable"] for each in document["runs"][0]["outcomes"]]
    assert [each["promptOverrides"] for each in texts] == [
        {"other": "Stays."},
        {"other": "Stays.", "well": "Really?"},
        {"other": "Stays.", "well": "Sure?"},
    ]
    assert document["variants"][1]["prompts"] == {"well": "Really?"}


def test_a_model_that_a_run_selects_in_nested_form_is_replaced(host: Host) -> None:
    run_id = recorded(host, "talk", configurable={"ai": {"provider": "plain", "model": "small"}})
    found = outcomes(evaluated(host, run_id, "--model", "other/big"))
    assert [each["usage"]["models"][0]["model"] for each in found.values()] == ["plain/small", "other/big"]


@pytest.mark.usefixtures("checks")
def test_failures_and_exceptions_are_cells_of_the_table(host: Host) -> None:
    run_id = recorded(host, "fails")
    args = (run_id, "--model", "plain/small", "--model", "other/big", "--check", "eval_checks:breaks")
    found = outcomes(evaluated(host, *args, code=1))
    assert "ValueError: no such answer" in found["plain/small"]["scores"][0]["error"]
    assert found["other/big"]["status"] == "failed"
    assert found["other/big"]["error"]["code"] == "provider_error"
    assert found["other/big"]["scores"] == []


def test_a_fork_that_is_refused_does_not_stop_the_others(host: Host) -> None:
    run_id = recorded(host, "talk")
    found = outcomes(evaluated(host, run_id, "--model", "nowhere/big", "--model", "plain/small", code=7))
    assert found["nowhere/big"]["status"] == "refused"
    assert found["nowhere/big"]["error"]["code"] == "validation_error"
    assert found["plain/small"]["status"] == "completed"


def waiting_then_answered(host: Host) -> str:
    """A completed run that has waited for an answer after its model call."""
    run_id = host.create("maybe")
    until(lambda: host.snapshot(run_id)["status"].startswith("waiting"), "the question")
    answer = host.call("POST", f"/v1/runs/{run_id}/interrupts/question", {"resumeValue": {"answers": {"q": "a"}}})
    assert answer.status in (200, 202), answer.body
    host.log(run_id)
    return run_id


def test_a_fork_that_waits_for_a_person_is_left_or_cancelled(host: Host) -> None:
    run_id = waiting_then_answered(host)
    left = outcomes(evaluated(host, run_id, "--model", "other/big", code=4))["other/big"]
    assert left["isWaiting"]
    assert host.snapshot(left["runId"])["status"].startswith("waiting")
    cancelled = outcomes(evaluated(host, run_id, "--model", "other/big", "--cancel-waiting", code=4))["other/big"]
    assert cancelled["isCancelled"]
    until(lambda: host.snapshot(cancelled["runId"])["status"] == "cancelled", "the end of the fork")


def test_a_fork_whose_child_run_waits_for_a_person_is_waiting(host: Host) -> None:
    run_id = host.create("asking-parent")

    def waiting_child() -> str | None:
        rows = host.call("GET", f"/v1/runs?parentRunId={run_id}").document["runs"]
        return rows[0]["runId"] if rows and rows[0]["status"].startswith("waiting") else None

    child = until(waiting_child, "the question of the child")
    path = f"/v1/runs/{child}/interrupts/question"
    assert host.call("POST", path, {"resumeValue": {"answers": {"q": "a"}}}).status in (200, 202)
    host.log(run_id)
    found = outcomes(evaluated(host, run_id, "--model", "other/big", "--timeout", "60", code=4))["other/big"]
    assert found["isWaiting"]
    assert found["usage"]["calls"] == 1


def test_runs_without_a_model_call_and_unknown_runs_are_skipped(host: Host) -> None:
    mute, talk, waiting = recorded(host, "mute"), recorded(host, "talk"), host.create("maybe")
    unknown = "0" * 26
    document = evaluated(host, mute, talk, unknown, waiting, "--model", "plain/small")
    assert document["skipped"] == [
        {"runId": mute, "reason": "it called no model"},
        {"runId": unknown, "reason": "the host has no such run"},
        {"runId": waiting, "reason": "it has not ended"},
    ]
    assert [each["runId"] for each in document["runs"]] == [talk]
    refused = run_on(host, "eval", mute, "--model", "plain/small", code=1)
    assert "it called no model" in refused.stderr
    assert "nothing to evaluate" in refused.stderr


def test_a_model_call_of_a_child_run_is_branched_at_the_node_that_started_the_child(host: Host) -> None:
    run_id = recorded(host, "parent")
    document = evaluated(host, run_id, "--model", "other/big", "--model", "plain/small")
    assert document["runs"][0]["nodeId"] == "sub"
    found = outcomes(document)
    assert [each["usage"]["totalTokens"] for each in found.values()] == [1500, 42, 1500]


def test_runs_are_selected_by_workflow_and_earlier_forks_are_not(host: Host) -> None:
    run_id = recorded(host, "fails")
    args = ("--workflow", "fails", "--since", "1h", "--limit", "1", "--model", "plain/small", "--yes")
    assert [evaluated(host, *args)["runs"][0]["runId"] for _ in range(2)] == [run_id, run_id]
    stopped = run_on(host, "eval", "--workflow", "fails", "--model", "plain/small", code=1)
    assert "Start " in stopped.stderr


def test_forks_can_be_deleted(host: Host) -> None:
    found = outcomes(evaluated(host, recorded(host, "talk"), "--model", "plain/small", "--no-keep"))
    assert host.call("GET", f"/v1/runs/{found['plain/small']['runId']}").status == 404


def test_a_dry_run_starts_nothing_and_estimates_the_cost(host: Host, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(SETTINGS.format(folder=tmp_path), "utf-8")
    run_id = recorded(host, "talk")
    args = (run_id, "--model", "plain/small", "--model", "other/big", "--dry-run")
    before = len(host.pages("/v1/runs?limit=200", "runs"))
    done = run_on(host, "eval", *args, "--config", str(tmp_path / "prices.toml"), "--json")
    assert json.loads(done.stdout)["variants"] == [
        {"variant": "plain/small", "forks": 1, "recordedTokens": 1500, "estimatedCostUsd": 0.002},
        {"variant": "other/big", "forks": 1, "recordedTokens": 1500, "estimatedCostUsd": None},
    ]
    shown = run_on(host, "eval", *args).stdout
    assert "2 forks of 1 run would be started." in shown
    assert "unknown" in shown
    assert len(host.pages("/v1/runs?limit=200", "runs")) == before


def test_a_fork_that_takes_too_long_is_left(host: Host) -> None:
    run_id = recorded(host, "slow")
    document = evaluated(host, run_id, "--model", "other/big", "--timeout", "0.5", code=5)
    slow = outcomes(document)["other/big"]
    assert slow["isTimedOut"]
    assert slow["status"] == "running"
    host.call("POST", f"/v1/runs/{slow['runId']}/cancel")


def test_ctrl_c_leaves_what_is_known(host: Host, tmp_path: Path) -> None:
    talk, slow = recorded(host, "talk"), recorded(host, "slow")
    process = subprocess.Popen(
        command("eval", talk, slow, "--model", "other/big", "--parallel", "2", "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path, {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY}),
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "1 of 2" in line:
            break

    def active() -> bool:
        rows = host.call("GET", "/v1/runs?workflowId=slow&status=running").document["runs"]
        return bool(rows)

    until(active, "the slow fork")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 130, errors
    document = json.loads(output)
    assert schema.check("eval-results", document) == []
    assert not document["isComplete"]
    assert outcomes(document)["other/big"]["status"] == "completed"
    assert outcomes(document, 1)["other/big"]["status"] in ("running", "not-started")
    assert "interrupted" in errors
