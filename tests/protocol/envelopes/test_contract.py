"""The envelope contract of a node, as a definition has it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.definitions import TYPES
from tests.protocol.workflow.bad_definitions import with_changes
from weftwork.protocol.envelopes.gate_rules import MAX_KIND, MAX_KINDS, OPEN_CONTRACT, EnvelopeContract, parse_contract
from weftwork.protocol.envelopes.kinds import UNIVERSAL_KINDS
from weftwork.protocol.workflow import validation as module
from weftwork.protocol.workflow.validation import parse_workflow

AT = "/nodes/0/envelopeContract"
TICKET = "vendor.example.ticket"

READ: list[tuple[dict[str, Any], EnvelopeContract]] = [
    ({}, OPEN_CONTRACT),
    ({"accepts": []}, EnvelopeContract(frozenset())),
    ({"accepts": [TICKET, TICKET, "error"]}, EnvelopeContract(frozenset({TICKET, "error"}))),
    ({"refusalMode": "discard-and-warn"}, EnvelopeContract(None, "discard-and-warn")),
    ({"alwaysAccepted": list(UNIVERSAL_KINDS)}, OPEN_CONTRACT),
    ({"alwaysAccepted": []}, OPEN_CONTRACT),
    ({"artifacts": [TICKET]}, EnvelopeContract(None, artifacts=frozenset({TICKET}))),
    (
        {"accepts": [TICKET], "artifacts": [TICKET]},
        EnvelopeContract(frozenset({TICKET}), artifacts=frozenset({TICKET})),
    ),
    ({"accepts": ["x" * MAX_KIND] * MAX_KINDS}, EnvelopeContract(frozenset({"x" * MAX_KIND}))),
]

REFUSED: list[tuple[Any, str, str]] = [
    ({"accept": [TICKET]}, "/accept", "additionalProperties"),
    ({"accepts": TICKET}, "/accepts", "type"),
    ({"accepts": [""]}, "/accepts/0", "minLength"),
    ({"accepts": ["x" * (MAX_KIND + 1)]}, "/accepts/0", "maxLength"),
    ({"accepts": ["x"] * (MAX_KINDS + 1)}, "/accepts", "maxItems"),
    ({"accepts": [1]}, "/accepts/0", "type"),
    ({"refusalMode": "ignore"}, "/refusalMode", "enum"),
    ({"alwaysAccepted": ["error", TICKET]}, "/alwaysAccepted/1", "enum"),
    ({"artifacts": ["clarification.request"]}, "/artifacts/0", "not"),
    ({"accepts": [TICKET], "artifacts": [TICKET, "vendor.example.bill"]}, "/artifacts/1", "reference"),
]


@pytest.mark.rule("ai-01")
@pytest.mark.parametrize(("document", "contract"), READ)
def test_a_contract_is_read(document: dict[str, Any], contract: EnvelopeContract) -> None:
    assert parse_contract(document, AT) == (contract, [])
    parsed, found = parse_workflow(with_changes({AT: document}), TYPES)
    assert parsed is not None, found
    assert parsed.nodes[0].contract == contract
    assert parsed.nodes[1].contract is OPEN_CONTRACT


@pytest.mark.rule("ai-01")
@pytest.mark.parametrize(("document", "pointer", "rule"), REFUSED)
def test_a_contract_is_refused_at_its_place(document: Any, pointer: str, rule: str) -> None:
    contract, found = parse_contract(document, AT)
    assert contract is OPEN_CONTRACT
    assert [(each.pointer, each.rule) for each in found] == [(AT + pointer, rule)]
    parsed, refused = parse_workflow(with_changes({AT: document}), TYPES)
    assert parsed is None
    assert refused == found


@pytest.mark.rule("ai-01")
def test_a_run_goes_on_with_a_contract_that_was_taken_once() -> None:
    """Members that nobody heeded before must not end a run that has them."""
    parsed, found = parse_workflow(with_changes({AT: {"note": "x"}}), TYPES, pinned=True)
    assert parsed is not None, found
    assert parsed.nodes[0].contract is OPEN_CONTRACT


def test_without_the_check_a_bad_contract_would_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "parse_contract", lambda document, at: (OPEN_CONTRACT, []))
    assert parse_workflow(with_changes({AT: {"accept": []}}), TYPES)[1] == []


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_document_breaks_the_reader(document: Any) -> None:
    contract, found = parse_contract(document, AT)
    assert (contract is OPEN_CONTRACT) or not found
    assert all(each.pointer.startswith(AT) for each in found)
