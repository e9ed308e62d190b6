"""Variables that a node reads and writes by its config: known to the checks of a definition."""

from typing import Any

import pytest

from tests.harness.definitions import TYPES, node, plan_of, variable, workflow
from weftwork.protocol.json.pointers import match_pointer_pattern
from weftwork.protocol.workflow import node_config, taint
from weftwork.protocol.workflow.node_config import variables_read, variables_written
from weftwork.protocol.workflow.validation import parse_workflow

CALL = "core.subWorkflow"


def calling(node_id: str = "call", **config: Any) -> dict[str, Any]:
    return node(node_id, CALL, config={"workflowId": "child", **config})


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("/a", [("/a", {"x/y": [1, 2]})]),
        ("/a/*", [("/a/x~1y", [1, 2])]),
        ("/a/*/*", [("/a/x~1y/0", 1), ("/a/x~1y/1", 2)]),
        ("/*", [("/a", {"x/y": [1, 2]}), ("/b", 3)]),
        ("/b/*", []),
        ("/c", []),
        ("/a/x~1y/0", []),
    ],
)
def test_what_stands_at_a_pattern(pattern: str, found: list[tuple[str, Any]]) -> None:
    assert list(match_pointer_pattern({"a": {"x/y": [1, 2]}, "b": 3}, pattern)) == found


def test_variables_of_mappings_and_of_single_members() -> None:
    nodes = [
        calling(inputMapping={"c": "p", "d": "q"}, outputMapping={"r/s": "c", "t": "c"}),
        node("set", "core.setVariable", config={"name": "x", "value": 1}),
        node("get", "core.getVariable", config={"name": "y"}),
        node("none"),
    ]
    parsed, _ = parse_workflow(workflow(nodes), TYPES)
    assert parsed is not None
    assert [list(variables_read(each)) for each in parsed.nodes] == [["p", "q"], [], ["y"], []]
    assert [list(variables_written(each)) for each in parsed.nodes] == [
        [("/outputMapping/r~1s", "r/s"), ("/outputMapping/t", "t")],
        [("/name", "x")],
        [],
        [],
    ]


@pytest.mark.rule("wf-17")
def test_a_channel_takes_nothing_of_a_child_as_if_it_were_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    document = workflow([calling(outputMapping={"v": "a", "ch": "a"})], channels={"ch": {"reducer": "append"}})

    def check() -> None:
        _, violations = parse_workflow(document, TYPES)
        assert [(each.pointer, each.rule) for each in violations] == [
            ("/nodes/0/config/outputMapping/ch", "reference"),
        ]

    check()
    monkeypatch.setattr(node_config, "variables_written", lambda node: iter(()))
    with pytest.raises(AssertionError):
        check()


@pytest.mark.rule("hide-03")
@pytest.mark.parametrize("sabotage", ["", "variables_read", "variables_written"])
def test_what_comes_back_from_a_child_that_was_given_a_secret_is_hidden(
    sabotage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [
        calling("in", inputMapping={"c": "secret"}, outputMapping={"back": "d"}),
        calling("again", inputMapping={"c": "back"}, outputMapping={"far": "d"}),
        calling("plain", inputMapping={"c": "open"}, outputMapping={"shown": "d"}),
    ]
    document = workflow(nodes, variables=[variable("secret", sensitive=True), variable("open")])
    if sabotage:
        monkeypatch.setattr(taint, sabotage, lambda node: iter(()))
    found = plan_of(document).taint
    right = (found.variables, found.nodes) == ({"secret", "back", "far"}, {"in", "again"})
    assert right == (not sabotage)
