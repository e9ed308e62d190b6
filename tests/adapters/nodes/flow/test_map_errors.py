"""Maps that collect errors, on a real host: node types and child runs, retries, restarts, and what still ends a map."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.harness.definitions import node, variable
from tests.live import Host, start_host, until
from tests.live.sabotage import sabotaged
from tests.live.workflows import chain, write_workflows
from weftwork.protocol.json import schema

BAD = {"code": "acme.bad", "message": "Bad."}
PYTHON = """
import asyncio, os
from weftwork import Context, NodeError, node

@node("acme.item")
async def item(ctx: Context, n: int, wait: bool = False, fail: str = "", text: str = "") -> dict:
    with open("ran.txt", "a") as file:
        file.write(f"{n}\\n")
    if wait and "ACME_WAITS" in os.environ:
        await asyncio.Event().wait()
    if fail == "crash":
        raise RuntimeError("secret of the author")
    if fail:
        raise NodeError("acme.bad", text or "Bad.", retryable=fail == "retryable")
    return {"output": "x" * n if text == "grow" else text or n}
"""
PORTS = ("n", "wait", "fail", "text")
DEFAULTS = {"n": "0", "wait": "false", "fail": "''", "text": "''"}
BODY = {
    "typeId": "acme.item",
    "inputs": {
        port: {"type": "expression", "expression": f"has(item.{port}) ? item.{port} : {DEFAULTS[port]}"}
        for port in PORTS
    },
}
ITEM = {
    port: {"type": "expression", "expression": BODY["inputs"][port]["expression"].replace("item.", "variables.item.")}
    for port in PORTS
}
LIST = {"items": {"type": "variable", "variableName": "items"}}


def mapping(workflow_id: str, body: Any, settings: Any = None, hidden: bool = False, **config: Any) -> dict[str, Any]:
    each = node("map", "core.flow.map", config={"body": body, "onError": "collect", **config}, inputs=LIST)
    each["settings"] = settings or {}
    items = variable("items", "array", sensitive=True) if hidden else variable("items", "array")
    return chain(workflow_id, [each], variables=[items])


CHILD = {"workflowId": "child", "output": "result"}
WORKFLOWS = (
    mapping("types", BODY, concurrency=1),
    mapping("wide", BODY, concurrency=8),
    mapping("retries", BODY, {"maxRetries": 2, "retryDelayMs": 1}, concurrency=2),
    mapping("timed", BODY, {"timeoutMs": 50}),
    mapping("hidden", BODY, hidden=True),
    mapping("plain", BODY, onError="fail"),
    mapping("noop", {"typeId": "core.noop", "config": {}}),
    mapping("children", CHILD, concurrency=3),
    mapping("lost", {"workflowId": "missing"}),
    chain(
        "child",
        [
            node("work", "acme.item", inputs=ITEM),
            node(
                "set",
                "core.setVariable",
                config={"name": "result"},
                inputs={"value": {"type": "connection", "nodeId": "work", "outputKey": "output"}},
            ),
        ],
        variables=[variable("item", "object", required=True), variable("result", "number")],
    ),
)


def serve(folder: Path, **more: Any) -> Any:
    (folder / "acme_items.py").write_text(PYTHON, "utf-8")
    workflows = write_workflows(folder / "workflows", *WORKFLOWS)
    return start_host(folder, "--nodes", "acme_items", "--workflows", workflows, cwd=folder, **more)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("items")


@pytest.fixture(scope="module")
def host(folder: Path) -> Iterator[Host]:
    with serve(folder) as running:
        yield running


def ran(folder: Path) -> list[int]:
    file = folder / "ran.txt"
    return [int(each) for each in file.read_text().split()] if file.exists() else []


def completed(output: Any) -> dict[str, Any]:
    return {"status": "completed", "output": output}


def failed(error: dict[str, Any] = BAD) -> dict[str, Any]:
    return {"status": "failed", "error": error}


def ended(host: Host, workflow_id: str, *items: Any, **options: Any) -> list[dict[str, Any]]:
    events = host.log(host.create(workflow_id, inputs={"items": list(items)}, **options))
    for event in events:
        assert schema.check_payload(event["type"], event["payload"]) == [], event
    return events


def outputs(events: list[dict[str, Any]]) -> dict[str, Any]:
    assert events[-1]["type"] == "run.completed", events[-1]
    return events[-1]["payload"]["outputs"]["map"]


def items_of(events: list[dict[str, Any]]) -> dict[int, Any]:
    """What was recorded of each item, by index."""
    found = [each["payload"] for each in events if each["type"] == "weftwork.map.item"]
    assert len({each["index"] for each in found}) == len(found)
    return {each["index"]: each.get("error", {"output": each.get("output")}) for each in found}


def without_runs(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: each[name] for name in each if name != "childRunId"} for each in results]


MIXED = [{"n": 0}, {"n": 1, "fail": "yes"}, {"n": 2}, {"n": 3, "fail": "yes"}, {"n": 4}]
ENTRIES = [completed(0), failed(), completed(2), failed(), completed(4)]


@pytest.mark.rule("node-16")
@each_case("name", "types", "wide", "children")
def test_every_item_yields_its_result_or_its_error_in_order(host: Host, name: str) -> None:
    found = outputs(ended(host, name, *MIXED))
    assert (found["count"], found["failed"]) == (5, 2)
    assert without_runs(found["results"]) == ENTRIES
    with_run = [index for index, each in enumerate(found["results"]) if "childRunId" in each]
    assert with_run == ([1, 3] if name == "children" else [])
    assert outputs(ended(host, name)) == {"results": [], "count": 0, "failed": 0}
    assert outputs(ended(host, name, {"n": 7}))["failed"] == 0


@pytest.mark.rule("node-16")
def test_a_failed_item_is_recorded_with_its_error(host: Host) -> None:
    events = ended(host, "types", *MIXED)
    assert items_of(events) == {0: {"output": 0}, 1: BAD, 2: {"output": 2}, 3: BAD, 4: {"output": 4}}


@pytest.mark.rule("node-16")
def test_without_the_option_nothing_has_changed(host: Host) -> None:
    events = ended(host, "plain", *MIXED)
    assert events[-1]["payload"]["error"]["code"] == "map_item_failed"
    assert events[-1]["payload"]["error"]["details"] == {"index": 1, "code": "acme.bad"}
    assert outputs(ended(host, "plain", {"n": 5})) == {"results": [5], "count": 1}


@pytest.mark.rule("node-16")
@each_case("fail, attempts", ("retryable", 3), ("yes", 1), ("crash", 3))
def test_only_items_with_a_retryable_failure_run_again(host: Host, folder: Path, fail: str, attempts: int) -> None:
    before = len(ran(folder))
    events = ended(host, "retries", {"n": 0}, {"n": 1, "fail": fail}, {"n": 2}, {"n": 3})
    results = outputs(events)["results"]
    assert [each["status"] for each in results] == ["completed", "failed", "completed", "completed"]
    assert sorted(ran(folder)[before:]) == sorted([0, 2, 3, *[1] * attempts])
    assert len([each for each in events if each["type"] == "node.retried"]) == attempts - 1
    assert "secret of the author" not in str(events)


@pytest.mark.rule("node-16")
@each_case("name", "types", "children")
def test_after_a_crash_no_item_that_ended_runs_again(tmp_path: Path, name: str) -> None:
    items = [*MIXED[:3], {"n": 3, "wait": True, "fail": "yes"}, *MIXED[4:]]
    folder = tmp_path / name
    folder.mkdir()
    with serve(folder, env={"ACME_WAITS": "1"}) as first:
        run_id = first.create(name, inputs={"items": items})
        kind = "weftwork.map.item" if name == "types" else "weftwork.child.ended"

        def seen() -> bool:
            page = first.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence=-1&timeout=1").document
            many = [each for each in page["events"] if each["type"] == kind]
            return len(many) >= (3 if name == "types" else 4) and 3 in ran(folder)

        until(seen, "the items before the one that waits")
        first.kill()
    with serve(folder) as second:
        found = outputs(second.log(run_id))
    assert (without_runs(found["results"]), found["failed"]) == (ENTRIES, 2)
    assert sorted(ran(folder)) == [0, 1, 2, 3, 3, 4]


def forget_failed_items() -> None:
    from weftwork.adapters.nodes.flow import map as map_module

    def forgetting(self: Any, index: int, ended: Any) -> Any:
        self._results[index] = map_module.item_error(ended.code, ended.message)
        return map_module.UNSETTLED

    setattr(map_module.MapItems, "_settle", forgetting)  # noqa: B010 - the guard that is removed


@pytest.mark.rule("node-16")
def test_the_proof_sees_a_failed_item_without_a_record(tmp_path: Path) -> None:
    with serve(tmp_path, program=sabotaged(Path(__file__), "forget_failed_items")) as host:
        events = ended(host, "types", *MIXED)
    assert outputs(events)["results"] == ENTRIES
    assert sorted(items_of(events)) == [0, 2, 4]


@pytest.mark.rule("node-16")
def test_the_end_of_the_map_itself_is_not_collected(tmp_path: Path) -> None:
    with serve(tmp_path, env={"ACME_WAITS": "1"}) as host:
        timed = ended(host, "timed", {"n": 0}, {"n": 1, "wait": True})
        assert timed[-1]["payload"]["error"]["code"] == "node_timeout"
        for number, name in ((2, "types"), (3, "children")):
            # Child runs are started in the order of the items, but a busy host may execute them in any order.
            run_id = host.create(name, inputs={"items": [{"n": 0}, {"n": number, "wait": True}, {"n": 0}]})
            until(lambda number=number: number in ran(tmp_path), "the item that waits")
            assert host.call("POST", f"/v1/runs/{run_id}/cancel", {}).status in (200, 202)
            assert host.log(run_id)[-1]["type"] == "run.cancelled"


@pytest.mark.rule("node-16")
def test_items_whose_child_cannot_be_started_are_entries_too(host: Host) -> None:
    found = outputs(ended(host, "children", {"n": 0}, "no object", {"n": 2}, 5, 6, {"n": 5, "fail": "yes"}, None))
    codes = [each.get("error", {}).get("code") for each in found["results"]]
    invalid = "child_inputs_invalid"
    assert codes == [None, invalid, None, invalid, invalid, "acme.bad", invalid]
    found = outputs(ended(host, "lost", *range(300)))
    assert (found["count"], found["failed"]) == (300, 300)
    assert {each["error"]["code"] for each in found["results"]} == {"unknown_child_workflow"}


@pytest.mark.rule("node-16")
def test_errors_are_bounded_hidden_and_marked_like_outputs(host: Host) -> None:
    long = {"n": 0, "fail": "yes", "text": "x" * 5_000}
    (entry,) = outputs(ended(host, "types", long))["results"]
    assert len(entry["error"]["message"]) == 1_000
    secret = {"n": 0, "fail": "yes", "text": "sesame"}
    assert "sesame" not in str(ended(host, "hidden", secret, {"n": 1, "text": "sesame"}))
    options = {"configurable": {"trustBoundary": "untrusted"}}
    for name in ("types", "children"):
        events = ended(host, name, {"n": 0, "fail": "yes", "text": "evil"}, **options)
        marked = [each for each in events if "evil" in str(each["payload"])]
        assert {each.get("contentTrust") for each in marked} == {"untrusted"}


@pytest.mark.rule("node-16")
def test_results_that_are_too_large_together_end_the_map(host: Host) -> None:
    events = ended(host, "wide", *[{"n": 3 * 2**20, "text": "grow"}] * 6)
    assert len(items_of(events)) == 6
    assert events[-1]["payload"]["error"]["code"] == "node_output_too_large"
