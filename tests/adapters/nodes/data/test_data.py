"""Variables, channels, computed outputs, log lines and artifacts: outputs, and what is done to the run."""

from typing import Any

import pytest

from tests.adapters.nodes.fake_context import FakeScope, node_call, run_node
from weftwork.adapters.nodes.data.run_data import MAX_MESSAGE, MAX_SUMMARY, derive_artifact_id
from weftwork.adapters.nodes.flow.control import duplicate_messages
from weftwork.ports.node_outcome import AppendLog, Completed, EmitArtifact, Failed, SetVariable, WriteChannel
from weftwork.protocol.ids import is_path_id

SOURCES: list[tuple[dict[str, Any], dict[str, Any], Any]] = [
    ({"value": 1}, {"value": 2, "input": 3}, 2),
    ({"value": 1}, {"input": 3}, 1),
    ({}, {"input": 3}, 3),
    ({"value": 1}, {"value": None}, None),
    ({"value": None}, {"input": 3}, None),
]


@pytest.mark.parametrize(("config", "inputs", "value"), SOURCES)
def test_a_variable_is_set_from_the_first_source(config: Any, inputs: Any, value: Any) -> None:
    answer = run_node("core.setVariable", node_call({"name": "v", **config}, inputs))
    assert answer == Completed({"output": value}, (SetVariable("v", value),))


@pytest.mark.rule("node-04")
@pytest.mark.parametrize(("config", "inputs", "value"), SOURCES)
def test_a_channel_is_written_from_the_first_source(config: Any, inputs: Any, value: Any) -> None:
    answer = run_node("core.channelWrite", node_call({"channelName": "c", **config}, inputs))
    assert answer == Completed({"output": value}, (WriteChannel("c", value, "append"),))
    answer = run_node("core.channelWrite", node_call({"channelName": "c", "reducer": "counter", **config}, inputs))
    assert answer == Completed({"output": value}, (WriteChannel("c", value, "counter"),))


@pytest.mark.parametrize(
    ("type_id", "config"),
    [
        ("core.setVariable", {"name": "v"}),
        ("core.channelWrite", {"channelName": "c"}),
        ("core.artifact.emit", {"artifactType": "t"}),
        ("core.wait", {}),
        ("core.filter", {"expression": "e"}),
        ("core.aggregate", {"operation": "count"}),
        ("core.flow.map", {"body": {"typeId": "core.noop"}}),
    ],
)
def test_a_node_without_its_value_fails_for_good(type_id: str, config: Any) -> None:
    answer = run_node(type_id, node_call(config, {"other": 1}))
    assert isinstance(answer, Failed)
    assert (answer.code, answer.retryable) == ("node_input_missing", False)


@pytest.mark.parametrize(
    ("config", "variables", "value"),
    [
        ({}, {"v": 1}, 1),
        ({"default": 2}, {"v": 1}, 1),
        ({"default": 2}, {"v": None}, None),
        ({"default": 2}, {"w": 1}, 2),
        ({"default": None}, {}, None),
    ],
)
def test_a_variable_is_read(config: Any, variables: Any, value: Any) -> None:
    answer = run_node("core.getVariable", node_call({"name": "v", **config}, {}, FakeScope({}, variables)))
    assert answer == Completed({"output": value})


def test_a_variable_without_value_and_default_fails() -> None:
    answer = run_node("core.getVariable", node_call({"name": "v"}))
    assert answer == Failed("variable_not_set", "The variable v has no value.", retryable=False)


def test_a_transform_gives_one_output_or_many() -> None:
    scope = FakeScope({"e": lambda names: names["ports"]["a"] + 1, "f": None})
    assert run_node("core.transform", node_call({"expression": "e"}, {"a": 1}, scope)) == Completed({"output": 2})
    many = node_call({"fields": {"x": "e", "y": "f"}}, {"a": 1}, scope)
    assert run_node("core.transform", many) == Completed({"x": 2, "y": None})


def test_a_template_gives_a_text() -> None:
    scope = FakeScope({"t": lambda names: f"for {names['ports']['a']}"})
    assert run_node("core.template", node_call({"template": "t"}, {"a": 1}, scope)) == Completed({"output": "for 1"})


@pytest.mark.parametrize(
    ("config", "inputs", "outputs", "line"),
    [
        ({"message": "m"}, {}, {}, AppendLog("info", "m")),
        ({"message": "m", "level": "error"}, {"input": None}, {"output": None}, AppendLog("error", "m")),
        ({"message": "m", "fields": {"a": "e"}}, {"input": 1}, {"output": 1}, AppendLog("info", "m", {"a": [7]})),
    ],
)
def test_a_log_line_is_written_and_the_input_handed_on(config: Any, inputs: Any, outputs: Any, line: Any) -> None:
    assert run_node("core.log", node_call(config, inputs, FakeScope({"e": [7]}))) == Completed(outputs, (line,))


@pytest.mark.parametrize("letter", ["x", "é", "語", "😀"])
def test_a_long_message_is_cut_between_letters(letter: str) -> None:
    scope = FakeScope({"m": letter * 9_000, "f": letter * 9_000})
    answer = run_node("core.log", node_call({"message": "m", "fields": {"f": "f"}}, {}, scope))
    assert isinstance(answer, Completed)
    (line,) = answer.effects
    assert isinstance(line, AppendLog)
    assert MAX_MESSAGE - 4 < len(line.message.encode()) <= MAX_MESSAGE
    assert line.message.endswith(f"{letter}...")
    assert line.fields == {"f": f"(left out: {len(letter.encode()) * 9_000 + 2} bytes)"}


def test_a_message_that_just_fits_is_left_alone() -> None:
    answer = run_node("core.log", node_call({"message": "m"}, {}, FakeScope({"m": "x" * MAX_MESSAGE})))
    assert answer == Completed({}, (AppendLog("info", "x" * MAX_MESSAGE),))


@pytest.mark.parametrize("type_id", ["core.artifact.emit", "conformance.artifact.emit"])
@pytest.mark.parametrize(
    ("config", "inputs", "data"),
    [
        ({"data": 1}, {"data": 2, "input": 3}, 2),
        ({"data": 1}, {"input": 3}, 1),
        ({}, {"input": 3}, 3),
        ({"data": None}, {}, None),
    ],
)
def test_an_artifact_is_made_from_the_first_source(type_id: str, config: Any, inputs: Any, data: Any) -> None:
    answer = run_node(type_id, node_call({"artifactType": "t", **config}, inputs, node_id="report"))
    outputs = {"artifactId": "report", "artifactType": "t", "output": data}
    assert answer == Completed(outputs, (EmitArtifact("report", "t", data),))


def test_an_artifact_may_have_an_id_and_a_summary() -> None:
    config = {"artifactType": "t", "artifactId": "mine", "data": 1, "summary": "s"}
    answer = run_node("core.artifact.emit", node_call(config, {}, FakeScope({"s": "x" * 2_000}), iteration=3))
    assert isinstance(answer, Completed)
    assert answer.effects == (EmitArtifact("mine-3", "t", 1, "x" * (MAX_SUMMARY - 3) + "..."),)


BASES = [
    "a",
    "a-1",
    "a-0",
    "a-1-0",
    "a-b",
    "a/b",
    "a b",
    "",
    "..",
    "é",
    "x" * 128,
    "x" * 127,
    "x" * 126,
    "x" * 125,
    "a-01",
    "-1",
]


def test_no_two_artifacts_get_the_same_id() -> None:
    made = [derive_artifact_id(base, iteration) for base in BASES for iteration in range(12)]
    assert len(made) == len(set(made))
    assert all(is_path_id(each) for each in made)
    assert [derive_artifact_id("a", round_) for round_ in range(3)] == ["a", "a-1", "a-2"]
    assert derive_artifact_id("a-1", 0) == "a-1-0"


def test_plain_numbering_would_repeat_an_id() -> None:
    """What the numbering of numbered ids is for."""
    assert len({f"{base}-{i}" if i else base for base in BASES for i in range(12)}) < len(BASES) * 12


def test_a_message_is_written_twice_on_purpose() -> None:
    writes = duplicate_messages()
    assert [write.value["messageId"] for write in writes] == ["msg-1", "msg-2", "msg-2"]
    assert {(write.channel, write.reducer) for write in writes} == {("messages", "message")}
    assert writes[1] == writes[2]
    assert all(write.value.keys() == {"messageId", "role", "content", "timestamp"} for write in writes)
    assert duplicate_messages() == writes


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ({"input": "ab"}, {"input": "AB", "output": "AB"}),
        ({"text": "ß", "input": 1}, {"text": "SS", "output": "SS"}),
        ({"b": "y", "a": "x"}, {"a": "X", "b": "Y", "output": "X"}),
        ({"n": 1}, {"output": ""}),
        ({}, {"output": ""}),
    ],
)
def test_texts_come_back_in_capitals(inputs: Any, outputs: Any) -> None:
    assert run_node("local.sample.demo.uppercase", node_call({}, inputs)) == Completed(outputs)
