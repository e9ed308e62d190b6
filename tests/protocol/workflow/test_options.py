"""Limits and run options: what holds, what is refused, and what the official client really sends."""

import json
from typing import Any

import pytest
from hypothesis import strategies as st
from openwop_client import CreateRunRequest, RunConfigurable
from openwop_client.client import _to_jsonable

from tests.harness.cases import each_case, fails_without, present
from tests.harness.definitions import for_all
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.ids import Mode
from weftwork.protocol.json import schema
from weftwork.protocol.limits import Limits, execution_limit, time_limit
from weftwork.protocol.workflow import run_options
from weftwork.protocol.workflow.definition import Variable


def refusal(call: Any, *arguments: Any) -> ClientFault:
    with pytest.raises(ClientFault) as caught:
        call(*arguments)
    return caught.value


@pytest.mark.rule("lim-04")
@each_case("host, run, limit", (10, None, 10), (10, 3, 3), (10, 10, 10), (10, 5000, 10))
def test_the_lower_bound_on_executions_holds(host: int, run: int | None, limit: int) -> None:
    configurable = {} if run is None else {"recursionLimit": run}
    assert execution_limit(Limits(max_node_executions=host), configurable) == limit


@pytest.mark.rule("lim-05")
@for_all(100, st.integers(0, 5), st.integers(0, 5), st.integers(0, 5) | st.none())
def test_the_least_time_limit_holds_and_zero_is_none(host: int, definition: int, run: int | None) -> None:
    configurable = {} if run is None else {"runTimeoutMs": run}
    given_ones = [value for value in (host, definition, run) if value]
    found = time_limit(Limits(max_run_duration_ms=host), definition, configurable)
    assert found == (min(given_ones) if given_ones else None)


@pytest.mark.rule("lim-06")
@each_case("name", "runTimeoutMs", "maxLoopIterations")
@each_case("value", 0, -1, 1.5, 1.0, "1", True, None, [])
def test_a_reserved_option_out_of_range_is_refused(name: str, value: Any) -> None:
    fault = refusal(run_options.check_options, {name: value}, {})
    assert (fault.code, fault.details) == ("validation_error", {"pointer": f"/configurable/{name}"})


@pytest.mark.rule("lim-06")
@each_case(
    "name, good, bad",
    ("escalationThreshold", [0, 1, 0.5], [-0.1, 1.1, True, "0.5", None, []]),
    ("reasoningVerbosity", ["summary", "full", "off"], ["loud", "", None, 1, ["full"]]),
)
def test_what_agents_are_asked_for_is_one_of_what_they_know(name: str, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        run_options.check_options({name: value}, {})
    for value in bad:
        fault = refusal(run_options.check_options, {name: value}, {})
        assert (fault.code, fault.details) == ("validation_error", {"pointer": f"/configurable/{name}"})


@pytest.mark.rule("lim-06")
@each_case(
    "metadata, fits",
    ({}, True),
    ({"a": {"b": {"c": {"d": 1}}}}, True),
    ({"a": {"b": {"c": {"d": {}}}}}, False),
    ({"a": [[[1]]]}, True),
    ({"a": [[[[]]]]}, False),
    ({"a": "x" * (8192 - 8)}, True),
    ({"a": "x" * (8192 - 7)}, False),
    ({"a": "ä" * 4093}, False),
)
def test_metadata_is_small_and_shallow(metadata: dict[str, Any], fits: bool) -> None:
    if fits:
        run_options.check_options({"runTimeoutMs": 1, "maxLoopIterations": 1, "other": None}, metadata)
    else:
        assert refusal(run_options.check_options, {}, metadata).details == {"pointer": "/metadata"}


def declared(name: str, kind: str, required: bool = False, has_default: bool = False) -> Variable:
    return Variable(name, kind, required, False, has_default, None)


@pytest.mark.rule("data-04")
@each_case(
    "variable, inputs, pointer",
    (declared("a/b", "string"), {}, None),
    (declared("a", "string", required=True, has_default=True), {}, None),
    (declared("a/b", "string", required=True), {}, "/inputs/a~1b"),
    (declared("a", "string"), {"a": "x", "other": 1}, None),
    (declared("a", "string"), {"a": 1}, "/inputs/a"),
    (declared("a", "string"), {"a": None}, "/inputs/a"),
    (declared("a", "number"), {"a": 1}, None),
    (declared("a", "number"), {"a": 1.5}, None),
    (declared("a", "number"), {"a": True}, "/inputs/a"),
    (declared("a", "boolean"), {"a": 0}, "/inputs/a"),
    (declared("a", "boolean"), {"a": False}, None),
    (declared("a", "array"), {"a": {}}, "/inputs/a"),
    (declared("a", "object"), {"a": {}}, None),
)
def test_declared_inputs_have_their_type(variable: Variable, inputs: dict[str, Any], pointer: str | None) -> None:
    if pointer is None:
        run_options.check_inputs((variable,), inputs)
    else:
        assert refusal(run_options.check_inputs, (variable,), inputs).details == {"pointer": pointer}


@pytest.mark.rule("opt-01")
@pytest.mark.parametrize(
    ("mode", "offered", "code"),
    [
        ("live", (), "mock_provider_forbidden"),
        ("live", ("error",), "mock_provider_forbidden"),
        ("test", (), "unsupported_mock_provider"),
        ("test", ("usage-only",), "unsupported_mock_provider"),
        ("test", ("error",), None),
    ],
)
def test_a_mock_provider_needs_a_test_key_and_an_offer(
    monkeypatch: pytest.MonkeyPatch, mode: Mode, offered: tuple[str, ...], code: str | None
) -> None:
    monkeypatch.setattr(run_options, "MOCK_PROVIDERS", offered)
    run_options.check_mock_provider({}, mode)
    wanted = {"mockProvider": {"id": "error"}}
    if code is None:
        run_options.check_mock_provider(wanted, mode)
    else:
        fault = refusal(run_options.check_mock_provider, wanted, mode)
        assert fault.code == code
        assert present(fault.details)["supportedProviders"] == list(offered)


def sent_by_client(configurable: RunConfigurable | dict[str, Any]) -> Any:
    return json.loads(json.dumps(_to_jsonable(CreateRunRequest("sample", configurable=configurable))))


@pytest.mark.rule("opt-02")
def test_what_the_official_client_sends_is_read_as_it_was_meant_and_the_rest_is_left_alone() -> None:
    sent = sent_by_client(RunConfigurable(recursionLimit=3, extras={"acme.x": 1, "model": "from-extras"}))
    assert sent["configurable"]["temperature"] is None, "the client sends nulls no more: the reading can go"
    assert schema.check("create-run", sent)
    read = run_options.normalise_options(sent)
    assert read["configurable"] == {"recursionLimit": 3, "acme.x": 1, "model": "from-extras"}
    assert schema.check("create-run", read) == []
    run_options.check_options(read["configurable"], {})
    free = {"recursionLimit": 3, "acme.x": None, "nested": {"extras": {"a": None}}, "extras": [1]}
    assert run_options.normalise_options(sent_by_client(free))["configurable"] == free
    for document in ([], "x", None, {}, {"configurable": None}, {"configurable": [None]}):
        assert run_options.normalise_options(document) == document


@for_all(
    100,
    st.dictionaries(st.sampled_from([*sorted(run_options.RESERVED_OPTIONS), "x", "extras"]), st.none() | st.integers()),
)
def test_reading_options_twice_changes_nothing_more(configurable: dict[str, Any]) -> None:
    document = {"workflowId": "w", "configurable": configurable}
    before = json.dumps(document)
    once = run_options.normalise_options(document)
    assert run_options.normalise_options(once) == once
    assert json.dumps(document) == before


@pytest.mark.rule("opt-03")
@each_case(
    "url, fits",
    *(
        [(None, True), ("https://example.org/hook?x=1", True), ("HTTP://[::1]:8080", True), ("http://a/#b", True)]
        + [("https://h/" + "x" * 2038, True), ("https://h/" + "x" * 2039, False)]
        + [(url, False) for url in ("", "/path", "ftp://a", "https://", "https:///x", "https://u@h/", "http://a b/")]
        + [("javascript:alert(1)", False), ("https://a/\n", False), (" https://a", False)]
    ),
)
def test_a_callback_is_a_web_address(url: str | None, fits: bool) -> None:
    if fits:
        run_options.check_callback_url(url)
    else:
        assert refusal(run_options.check_callback_url, url).details == {"pointer": "/callbackUrl"}


TUNABLE = {
    "type": "object",
    "properties": {"recursionLimit": {"type": "integer", "minimum": 1}, "acme.x": {"items": {"type": "string"}}},
    "additionalProperties": False,
}


@pytest.mark.rule("opt-04")
@fails_without(run_options, "check_value", lambda *_: [])
@each_case(
    "configurable, pointers",
    ({}, []),
    ({"recursionLimit": 3, "acme.x": ["a"]}, []),
    ({"recursionLimit": "many"}, ["/configurable/recursionLimit"]),
    ({"acme.x": ["a", 1]}, ["/configurable/acme.x/1"]),
    ({"recursionLimit": 0, "a/b": 1}, ["/configurable/a~1b", "/configurable/recursionLimit"]),
    ({f"k{i:02}": 1 for i in range(30)}, [f"/configurable/k{i:02}" for i in range(20)]),
)
def test_what_is_configured_fits_the_schema_of_the_definition(
    configurable: dict[str, Any], pointers: list[str]
) -> None:
    run_options.check_configurable(None, configurable)
    run_options.check_configurable({}, configurable)
    if not pointers:
        run_options.check_configurable(TUNABLE, configurable)
        return
    fault = refusal(run_options.check_configurable, TUNABLE, configurable)
    assert fault.code == "validation_error"
    assert fault.details is not None
    assert fault.details["pointer"] == pointers[0]
    assert [each["pointer"] for each in fault.details["violations"]] == pointers
    assert "many" not in repr(fault.details) + fault.message


@pytest.mark.rule("opt-04")
def test_what_the_official_client_adds_does_not_count_against_the_schema() -> None:
    sent = sent_by_client(RunConfigurable(recursionLimit=3, extras={"acme.x": ["a"]}))
    assert refusal(run_options.check_configurable, TUNABLE, sent["configurable"]).code == "validation_error"
    run_options.check_configurable(TUNABLE, run_options.normalise_options(sent)["configurable"])


@pytest.mark.rule("data-04")
def test_an_input_with_the_name_of_a_channel_or_a_misspelt_one_is_named() -> None:
    run_options.check_inputs((), {"a": 1}, {"c"})
    with pytest.raises(ClientFault) as caught:
        run_options.check_inputs((), {"a": 1, "c": 2}, {"c"})
    assert (caught.value.details or {})["pointer"] == "/inputs/c"
    variable = declared("greeting", "string", required=True)
    fault = refusal(run_options.check_inputs, (variable,), {"other": 1, "greting": "Hi"})
    assert fault.details == {"pointer": "/inputs/greting"}
    assert fault.message == "The workflow has no such input; did you mean greeting?"
    fault = refusal(run_options.check_inputs, (variable,), {"other": 1})
    assert (fault.details, fault.message) == ({"pointer": "/inputs/greeting"}, "A required input is missing.")
