"""What is handed in to be registered: its forms, and how a refusal lists what is wrong with it."""

from typing import Any

import pytest

from tests.harness.definitions import TYPES, node, workflow
from weftwork.protocol.json import schema
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.workflow.registration import (
    MAX_LISTED_VIOLATIONS,
    MAX_POINTER_LENGTH,
    MAX_VERSION_LENGTH,
    check_version_length,
    read_test_definition,
    registration_refusal,
)
from weftwork.protocol.workflow.validation import parse_workflow

WHOLE = workflow([node("a")])
SHORT = {"workflowId": "probe", "nodes": [{"nodeId": "n", "typeId": "core.noop", "config": {}}]}


@pytest.mark.rule("wf-10")
def test_a_refusal_lists_every_violation_and_points_at_the_first() -> None:
    found = [Violation("/nodes/0/id", "unique", "two nodes share this id"), Violation("", "required", "x")]
    fault = registration_refusal(found, "/definition")
    assert fault.code == "validation_error"
    assert fault.details == {
        "pointer": "/definition/nodes/0/id",
        "violations": [
            {"pointer": "/definition/nodes/0/id", "keyword": "unique", "message": "two nodes share this id"},
            {"pointer": "/definition", "keyword": "required", "message": "x"},
        ],
    }


@pytest.mark.rule("wf-10")
def test_a_refusal_is_bounded() -> None:
    long = "/metadata/" + "x" * MAX_POINTER_LENGTH
    listed = (registration_refusal([Violation(long, "k", "m")] * (MAX_LISTED_VIOLATIONS + 1)).details or {})[
        "violations"
    ]
    assert len(listed) == MAX_LISTED_VIOLATIONS
    assert {each["pointer"] for each in listed} == {"/metadata"}
    assert (registration_refusal([Violation("/" + "x" * MAX_POINTER_LENGTH, "k", "m")]).details or {})["pointer"] == ""


@pytest.mark.parametrize(("length", "count"), [(1, 0), (MAX_VERSION_LENGTH, 0), (MAX_VERSION_LENGTH + 1, 1)])
def test_a_version_can_be_asked_for_by_its_name(length: int, count: int) -> None:
    assert len(check_version_length("v" * length)) == count


@pytest.mark.rule("wf-12")
def test_the_seam_takes_a_definition_in_two_forms() -> None:
    assert read_test_definition(WHOLE) == (WHOLE, "")
    assert read_test_definition({"definition": WHOLE}) == (WHOLE, "/definition")
    assert read_test_definition({**WHOLE, "definition": {}})[1] == ""


@pytest.mark.rule("wf-12")
def test_the_short_form_becomes_a_definition() -> None:
    made, at = read_test_definition(SHORT)
    parsed, violations = parse_workflow(made, TYPES)
    assert (violations, at) == ([], "")
    assert parsed is not None
    assert (parsed.id, [each.id for each in parsed.nodes]) == ("probe", ["n"])
    assert read_test_definition(SHORT)[0] == made
    other = {**SHORT, "nodes": [{"nodeId": "m", "typeId": "core.noop"}]}
    assert read_test_definition(other)[0]["version"] != made["version"]
    assert read_test_definition({**SHORT, "version": "7", "name": "Mine"})[0] == {
        **made,
        "version": "7",
        "name": "Mine",
    }


@pytest.mark.rule("wf-12")
@pytest.mark.parametrize(
    "body",
    [None, 1, "x", [], {}, {"definition": None}, {"workflowId": "probe"}, {"workflowId": 7, "nodes": [1]}]
    + [{**SHORT, "nodes": nodes} for nodes in (None, {}, [None], [{}], [{"typeId": "core.noop"}])]
    + [{**SHORT, "colour": "red"}],
)
def test_what_is_no_form_is_no_definition(body: Any) -> None:
    made, _ = read_test_definition(body)
    assert schema.check("workflow-definition", made)
