"""Gated node types: found in any document, refused by name."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.definitions import node, workflow
from weftwork.protocol.workflow.registration import GATED_NODE_TYPES, GatedNode, capability_required, find_gated_node

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(sorted(GATED_NODE_TYPES)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["nodes", "typeId", "id", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.rule("wf-09")
@pytest.mark.parametrize("type_id", GATED_NODE_TYPES)
def test_a_gated_type_is_found_unless_the_host_has_it(type_id: str) -> None:
    document = workflow([node("a"), node("b", type_id), node("c", "core.dispatch")])
    assert find_gated_node(document, {"core.noop"}) == GatedNode(1, type_id, "b")
    assert find_gated_node(workflow([node("a"), node("b", type_id)]), {"core.noop", type_id}) is None
    fault = capability_required(GatedNode(1, type_id, "b"), "/definition")
    assert (fault.code, fault.status) == ("capability_required", 422)
    assert fault.details == {
        "pointer": "/definition/nodes/1/typeId",
        "requiredCapability": GATED_NODE_TYPES[type_id],
        "offendingTypeId": type_id,
        "nodeId": "b",
    }


@pytest.mark.rule("wf-09")
@pytest.mark.parametrize("node_id", [None, 7, "x" * 129])
def test_what_is_no_id_is_not_repeated(node_id: Any) -> None:
    found = find_gated_node({"nodes": [{"typeId": "core.dispatch", "id": node_id}]}, ())
    assert found == GatedNode(0, "core.dispatch", None)
    assert "nodeId" not in (capability_required(GatedNode(0, "core.dispatch", None)).details or {})


@given(JSON)
def test_any_document_can_be_looked_through(document: Any) -> None:
    found = find_gated_node(document, ())
    if found is not None:
        assert document["nodes"][found.index]["typeId"] == found.type_id
    assert find_gated_node(document, GATED_NODE_TYPES) is None
