"""`weftwork eval` without a host of our own: variants, fork points, checks, usage, and hosts that are busy or gone."""

import json
import re
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

from tests.cli.foreign_host import HANG_UP, CannedResponse, ForeignHost, ReceivedRequest
from tests.harness.cases import each_case, fails_without
from tests.live.host import TIMEOUT_SECONDS
from weftwork.cli.client.event_stream import EventStream, ReceivedFrame
from weftwork.cli.client.http_client import Client
from weftwork.cli.eval import branches, usage
from weftwork.cli.eval.checks import EvaluatedRun, load_checks, parse_score
from weftwork.cli.eval.estimate import read_prices
from weftwork.cli.eval.results_table import cost_text
from weftwork.cli.eval.sources import ForkPoint, find_fork_point, named_runs
from weftwork.cli.eval.usage import LogPart, ModelUsage, Usage
from weftwork.cli.eval.variants import MAX_TAGS, Variant, parse_variants

RUN = "a" * 26


def event(sequence: int, kind: str, node_id: str = "", **payload: Any) -> dict[str, Any]:
    time = f"2026-01-01T00:00:{sequence:02}.000Z"
    document = {"sequence": sequence, "type": kind, "runId": RUN, "timestamp": time, "payload": payload}
    return {**document, "nodeId": node_id} if node_id else document


def used(sequence: int, node_id: str, **more: Any) -> dict[str, Any]:
    tokens = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
    return event(sequence, "provider.usage", node_id, provider="a", model="m", nodeId=node_id, **tokens, **more)


def frames(*events: dict[str, Any]) -> list[ReceivedFrame]:
    return [ReceivedFrame(each["type"], each, str(each["sequence"])) for each in events]


START = event(0, "run.started", workflowId="w")


A_STARTS, B_STARTS = event(1, "node.started", "a"), event(2, "node.started", "b")
RETRIED = event(2, "node.retried", "a"), event(3, "node.started", "a")


@each_case(
    "events, expected",
    ((START, A_STARTS, event(2, "node.completed", "a")), None),
    ((START, A_STARTS, used(2, "a")), ForkPoint(1, "a")),
    ((START, A_STARTS, B_STARTS, used(3, "b"), used(4, "a")), ForkPoint(2, "b")),
    ((A_STARTS, *RETRIED, used(4, "a")), ForkPoint(3, "a")),
    ((A_STARTS, event(2, "weftwork.model.answered", "a", fault={})), ForkPoint(1, "a")),
    ((A_STARTS, event(2, "weftwork.child.started", "a", childRunId="with")), ForkPoint(1, "a")),
    ((A_STARTS, event(2, "weftwork.child.started", "a", childRunId="without")), None),
    ((used(1, "never-started"),), None),
)
def test_a_branch_begins_at_the_latest_start_of_the_first_node_that_called_a_model(events: Any, expected: Any) -> None:
    assert find_fork_point(frames(*events), lambda child: child == "with") == expected


def test_the_usage_is_that_of_the_events_from_the_fork_point_on() -> None:
    part = LogPart(2)
    for frame in frames(used(1, "a"), event(2, "node.started", "b"), used(3, "b", costEstimateUsd=0.5), used(4, "b")):
        part.add(frame)
    assert part.duration_ms is None
    part.add(frames(event(7, "run.completed"))[0])
    assert part.duration_ms == 5000
    assert part.usage.models == {"a/m": ModelUsage(2, 20, 10, 0, 1, 0.5)}


@fails_without(ModelUsage, "cost_usd", property(lambda self: self.cost))
def test_an_unknown_price_is_not_a_price_of_0() -> None:
    usage = Usage()
    usage.add_event({"provider": "a", "model": "m", "costEstimateUsd": 0})
    assert usage.document["costUsd"] == 0
    usage.add_event({"provider": "a", "model": "free", "inputTokens": 3})
    assert usage.total.cost_usd is None
    assert [each["costUsd"] for each in usage.document["models"]] == [None, 0]
    assert usage.total.total_tokens == 3


@each_case(
    "cost, text",
    (None, "unknown"),
    (0.0, "$0.0000"),
    (12.5, "$12.5000"),
    (0.00123, "$0.0012"),
    (0.00012, "$0.00012"),
    (0.000002, "$0.000002"),
)
def test_costs_are_shown_in_dollars(cost: float | None, text: str) -> None:
    assert cost_text(cost) == text


def test_each_model_and_each_prompt_is_a_variant(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("Hi {{name}}", "utf-8")
    file = f"greet=@{tmp_path}/p.txt"
    assert parse_variants(["a/m", "a/m", "b/x/y"], [file, "greet=Hi"], combine=False) == [
        Variant("a/m", "a", "m"),
        Variant("b/x/y", "b", "x/y"),
        Variant(file, prompts={"greet": "Hi {{name}}"}),
        Variant("greet=Hi", prompts={"greet": "Hi"}),
    ]
    assert parse_variants(["a/m"], ["p=1", "p=2"], combine=True) == [
        Variant("a/m p=1", "a", "m", {"p": "1"}),
        Variant("a/m p=2", "a", "m", {"p": "2"}),
    ]


def test_variants_have_distinct_names() -> None:
    texts = [f"p={'x' * 50}{at}" for at in range(2)]
    first, second = parse_variants([], texts, combine=False)
    assert second.name == f"{first.name} #2"


@each_case(
    "models, prompts, combine, message",
    ([], [], False, "at least one"),
    (["a"], [], False, "PROVIDER/MODEL"),
    (["a/"], [], False, "PROVIDER/MODEL"),
    ([], ["text"], False, "ID=TEXT"),
    ([], ["p=@/no/such/file"], False, "cannot be read"),
    (["a/m"], [], True, "--combine needs"),
)
def test_variants_that_are_invalid(models: list[str], prompts: list[str], combine: bool, message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        parse_variants(models, prompts, combine)


def test_the_tags_of_a_branch_stay_within_the_limit() -> None:
    tags = Variant("v", "a", "m").overlay({"tags": [str(at) for at in range(MAX_TAGS)]}, "eval:x")["tags"]
    assert len(tags) == MAX_TAGS
    assert tags[-1] == "eval:x"


@each_case(
    "result, score, note, error",
    (True, 1.0, "", ""),
    (False, 0.0, "", ""),
    (3, 3.0, "", ""),
    (0.25, 0.25, "", ""),
    ({"score": True}, 1.0, "", ""),
    ({"score": 0.5, "note": "half\n"}, 0.5, "half\\u{a}", ""),
    ({"score": 1, "note": None}, 1.0, "", ""),
    ({"score": 1, "notes": ""}, None, "", "unknown member notes"),
    ({"score": 1, "note": 1}, None, "", "not a text"),
    ({"note": "x"}, None, "", "returned NoneType"),
    (None, None, "", "returned NoneType"),
    ("1", None, "", "returned str"),
    (float("nan"), None, "", "not finite"),
    (float("inf"), None, "", "not finite"),
    (10**400, None, "", "not finite"),
)
def test_the_result_of_a_check(result: Any, score: float | None, note: str, error: str) -> None:
    found = parse_score("c", result)
    assert (found.score, found.note) == (score, note)
    assert error in found.error
    assert bool(found.error) is bool(error)


def test_an_async_check_is_an_error() -> None:
    async def check() -> bool:
        return True

    assert "async" in parse_score("c", check()).error


@each_case(
    "name, message",
    ("scores", "write MODULE:FUNCTION"),
    (":f", "write MODULE:FUNCTION"),
    ("no_such_module_of_checks:f", "there is no module"),
    ("json:no_such_function", "has no function"),
    ("json:__doc__", "has no function"),
)
def test_checks_that_cannot_be_loaded(name: str, message: str) -> None:
    with pytest.raises(click.UsageError, match=re.escape(message)):
        load_checks([name])


def test_runs_are_named_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "runs.txt").write_text(f"# two\n{RUN}\n\n{'b' * 26} # again\n{RUN}\n", "utf-8")
    client = Client("http://127.0.0.1:9", None)
    assert named_runs(client, ["c" * 26, f"@{tmp_path}/runs.txt"]) == ["c" * 26, RUN, "b" * 26]


def test_prices_are_unknown_without_a_valid_settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFTWORK_DATA", str(tmp_path))
    assert read_prices(None) == {}
    (tmp_path / "weftwork.toml").write_text("[", "utf-8")
    assert read_prices(None) == {}
    with pytest.raises(click.UsageError):
        read_prices(str(tmp_path / "weftwork.toml"))


LOG = [START, event(1, "node.started", "a"), used(2, "a"), event(3, "node.completed", "a"), event(4, "run.completed")]


def sent(*events: dict[str, Any]) -> bytes:
    return "".join(f"id: {each['sequence']}\nevent: message\ndata: {json.dumps(each)}\n\n" for each in events).encode()


def serve_run(foreign: ForeignHost, run_id: str, **members: Any) -> None:
    snapshot = {"runId": run_id, "workflowId": "w", "status": "completed", "outputs": {"text": "x"}, **members}
    foreign.replies[f"GET /v1/runs/{run_id}"] = CannedResponse(200, snapshot)
    foreign.replies[f"GET /v1/runs/{run_id}/events/poll"] = CannedResponse(200, {"events": LOG, "isComplete": True})
    foreign.replies[f"GET /v1/runs/{run_id}/events"] = CannedResponse(200, stream=lambda send: send(sent(*LOG)))


def serve_forks(foreign: ForeignHost, *refusals: CannedResponse) -> list[ReceivedRequest]:
    """The requests for forks; the first ones are refused."""
    asked: list[ReceivedRequest] = []
    rest = list(refusals)

    def reply(request: ReceivedRequest) -> CannedResponse:
        asked.append(request)
        return rest.pop(0) if rest else CannedResponse(201, {"runId": "f" * 26})

    serve_run(foreign, RUN)
    serve_run(foreign, "f" * 26)
    foreign.replies[f"POST /v1/runs/{RUN}:fork"] = reply
    return asked


BUSY = CannedResponse(429, {"error": "rate_limited", "message": "Too many."}, {"Retry-After": "0"})


def test_each_fork_is_scored_once_however_long_the_checks_take(
    foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    others_settled = threading.Event()
    fork_ids = [letter * 26 for letter in "cde"]
    requested: list[str] = []
    scored: list[str] = []

    def fork(_: ReceivedRequest) -> CannedResponse:
        requested.append(fork_ids[len(requested)])
        if len(requested) == 3:
            # The only thread that creates forks has settled the first two.
            others_settled.set()
        return CannedResponse(201, {"runId": requested[-1]})

    def check(run: EvaluatedRun) -> bool:
        if run.variant == "a/1":
            assert others_settled.wait(TIMEOUT_SECONDS)
        scored.append(run.variant)
        return True

    checks = ModuleType("slow_checks")
    monkeypatch.setattr(checks, "check", check, raising=False)
    monkeypatch.setitem(sys.modules, checks.__name__, checks)
    for run_id in (RUN, *fork_ids):
        serve_run(foreign, run_id)
    foreign.replies[f"POST /v1/runs/{RUN}:fork"] = fork
    models = [each for at in (1, 2, 3) for each in ("--model", f"a/{at}")]
    done = foreign.run_command("eval", RUN, *models, "--check", "slow_checks:check", "--parallel", "1", "--json")
    assert done.exit_code == 0, done.output
    assert scored == ["recorded", "a/1", "a/2", "a/3"]
    document = json.loads(done.stdout)
    assert [each["status"] for each in document["runs"][0]["outcomes"]] == ["completed"] * 4


def serve_late_end(foreign: ForeignHost, *events: dict[str, Any]) -> list[str]:
    """Forks whose stream ends after these events the first time, and whose snapshot shows the end only after that. The
    returned list has a status for each snapshot that is still to be sent before the one of the end."""
    fork = "f" * 26
    serve_forks(foreign)
    early = ["running"]
    logs = [events]
    end = foreign.replies[f"GET /v1/runs/{fork}"]
    assert isinstance(end, CannedResponse)

    def snapshot(_: ReceivedRequest) -> CannedResponse:
        return CannedResponse(200, {"runId": fork, "workflowId": "w", "status": early.pop()}) if early else end

    def stream(_: ReceivedRequest) -> CannedResponse:
        log = logs.pop() if logs else LOG
        return CannedResponse(200, stream=lambda send: send(sent(*log)))

    foreign.replies[f"GET /v1/runs/{fork}"] = snapshot
    foreign.replies[f"GET /v1/runs/{fork}/events"] = stream
    return early


@fails_without([EventStream, "_is_complete", lambda _: True], [branches, "is_terminal_status", lambda _: True])
def test_a_fork_whose_stream_is_cut_off_is_followed_to_its_end(foreign: ForeignHost) -> None:
    serve_late_end(foreign, *LOG[:3])
    outcome = fork_outcome(foreign)
    assert (outcome["status"], outcome["durationMs"], outcome["usage"]["calls"]) == ("completed", 3000, 1)


@fails_without(branches, "is_terminal_status", lambda _: True)
def test_a_fork_has_ended_when_its_snapshot_says_so(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branches, "FOLLOW_DELAY", 0.0)
    early = serve_late_end(foreign, *LOG)
    outcome = fork_outcome(foreign)
    assert early == []
    assert (outcome["status"], outcome["usage"]["calls"]) == ("completed", 1)
    assert outcome["outputs"] == {"text": "x"}


def fork_outcome(foreign: ForeignHost) -> dict[str, Any]:
    done = foreign.run_command("eval", RUN, "--model", "a/m", "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["runs"][0]["outcomes"][1]


@fails_without(branches, "BUSY_STATUSES", ())
def test_a_busy_host_is_asked_again_with_the_same_key(foreign: ForeignHost) -> None:
    # More refusals than a single request repeats by itself.
    asked = serve_forks(foreign, *[BUSY] * 6)
    done = foreign.run_command("eval", RUN, "--model", "a/m", "--json")
    assert done.exit_code == 0, done.output
    assert len(asked) == 7
    assert len({each.headers["idempotency-key"] for each in asked}) == 1
    assert asked[0].body["mode"] == "branch"
    assert asked[0].body["fromSeq"] == 1
    assert asked[0].body["runOptionsOverlay"]["configurable"] == {"ai.provider": "a", "ai.model": "m"}


def test_a_host_that_is_gone_leaves_what_is_known(foreign: ForeignHost) -> None:
    serve_forks(foreign, *[HANG_UP] * 8)
    done = foreign.run_command("eval", RUN, "--model", "a/m", "--json")
    assert done.exit_code == 6, done.output
    document = json.loads(done.stdout)
    assert not document["isComplete"]
    assert [each["status"] for each in document["runs"][0]["outcomes"]] == ["completed", "not-started"]


def test_a_key_that_is_refused_stops_the_evaluation(foreign: ForeignHost) -> None:
    refused = CannedResponse(403, {"error": "forbidden", "message": "No."})
    asked = serve_forks(foreign, *[refused] * 8)
    done = foreign.run_command("eval", RUN, "--model", "a/m", "--model", "a/n", "--parallel", "1")
    assert done.exit_code == 7
    assert len(asked) == 1


def test_a_host_without_forks_is_named_as_such(foreign: ForeignHost) -> None:
    serve_forks(foreign)
    del foreign.replies[f"POST /v1/runs/{RUN}:fork"]
    done = foreign.run_command("eval", RUN, "--model", "a/m")
    assert done.exit_code == 1
    assert "does not support forks" in done.stderr


def test_an_error_that_nothing_foresees_ends_the_command(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError

    serve_forks(foreign)
    monkeypatch.setattr(branches, "request_fork", fail)
    with pytest.raises(AssertionError) as caught:
        foreign.run_command("eval", RUN, "--model", "a/m")
    assert isinstance(caught.value.args[0], ZeroDivisionError) or "ZeroDivisionError" in str(caught.value)


def test_the_child_runs_of_a_child_run_are_counted_once(foreign: ForeignHost) -> None:
    def log(run_id: str, *events: dict[str, Any]) -> None:
        page = {"events": list(events), "isComplete": True}
        foreign.replies[f"GET /v1/runs/{run_id}/events/poll"] = CannedResponse(200, page)

    log("one", used(1, "a"), event(2, "weftwork.child.started", "b", childRunId="two"))
    log("two", used(1, "a"), event(2, "weftwork.child.started", "b", childRunId="one"))
    assert usage.usage_of_children(Client(foreign.url, None), ["one"]).total.calls == 2


@each_case(
    "args, message",
    (("--model", "a/m"), "name the runs"),
    ((RUN, "--workflow", "w", "--model", "a/m"), "name the runs"),
    ((RUN, "--since", "1d", "--model", "a/m"), "--since and --limit need"),
    ((RUN, "--model", "a/m", "--name", "a b"), "letters, digits"),
    ((RUN, "--model", "a/m", "--out", "/no/such/folder/x.json"), "cannot be written"),
    ((RUN, "--model", "a/m", "--timeout", "inf"), "not a number of seconds"),
)
def test_command_lines_that_are_invalid(args: tuple[str, ...], message: str) -> None:
    done = ForeignHost().run_command("eval", *args, key=None)
    assert done.exit_code == 2, done.output
    assert message in " ".join(done.output.split())
