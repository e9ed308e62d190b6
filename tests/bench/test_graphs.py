"""The graphs that are measured have the shapes that the page says, and a map that lost something is seen."""

import os
from typing import Any

import msgspec
import pytest
from bench.costs.graph_cost import check_results
from bench.costs.graphs import ROW, chain, computing, items, layered, looping, mapped, wide
from bench.meter import forget_peak, peak_mib, rss_mib
from bench.plan import FULL, BenchError

from tests.harness.definitions import plan_of
from weftwork.protocol.json.decoder import MAX_DOCUMENT_VALUES
from weftwork.protocol.limits import Limits
from weftwork.protocol.workflow.plan import Plan

MANY = FULL.graph
HELD = 64


def levels(plan: Plan) -> list[int]:
    """How many nodes stand at each distance from the first."""
    level: dict[str, int] = {}
    for node_id in plan.order:
        level[node_id] = max((level[edge.source] + 1 for edge in plan.nodes[node_id].incoming), default=0)
    return [list(level.values()).count(number) for number in range(max(level.values()) + 1)]


def test_a_chain_is_a_chain() -> None:
    assert levels(plan_of(chain("chain", MANY))) == [1] * MANY


def test_a_wide_graph_opens_and_closes() -> None:
    plan = plan_of(wide("wide", MANY))
    assert levels(plan) == [1, MANY - 2, 1]
    assert len(plan.nodes[plan.order[-1]].incoming) == MANY - 2


def test_a_layered_graph_has_full_layers_that_depend_on_each_other() -> None:
    plan = plan_of(layered("layered", MANY))
    assert levels(plan) == [ROW] * (MANY // ROW)
    assert {len(place.incoming) for place in plan.nodes.values()} == {0, 2}


def test_a_computing_chain_reads_by_connection_and_expression_in_every_node_but_the_first() -> None:
    plan = plan_of(computing("computing", MANY))
    assert levels(plan) == [1] * MANY
    for node_id in plan.order[1:]:
        node = plan.nodes[node_id].node
        assert {port.type for port in node.ports.values()} == {"connection", "expression"}
        assert node.config_expressions


def test_a_loop_goes_round_as_often_as_it_is_measured() -> None:
    plan = plan_of(looping("looping", FULL.loop))
    assert [loop.body for loop in plan.loops] == [{"n0", "n1"}]
    assert plan.workflow.max_loopbacks == FULL.loop


def test_the_items_of_the_map_fit_into_one_request() -> None:
    body = msgspec.json.encode({"workflowId": "mapped", "inputs": {"items": items(FULL.items)}})
    assert len(body) <= Limits().max_request_body_bytes
    assert 3 * FULL.items < MAX_DOCUMENT_VALUES
    assert plan_of(mapped("mapped")).sinks == ("n0",)


def results(count: int) -> list[Any]:
    return [{"label": f"item {number}", "next": number + 1} for number in range(count)]


def test_complete_results_in_order_pass() -> None:
    check_results({"count": 4, "results": results(4)}, 4)


@pytest.mark.parametrize(
    "outputs",
    [
        {"count": 4, "results": results(3)},
        {"count": 3, "results": results(4)},
        {"count": 4, "results": results(4)[::-1]},
        {"count": 4, "results": [*results(3), None]},
    ],
)
def test_results_that_are_not_what_they_should_be_are_seen(outputs: dict[str, Any]) -> None:
    with pytest.raises(BenchError, match="other results"):
        check_results(outputs, 4)


def test_the_peak_of_memory_is_kept_until_it_is_forgotten() -> None:
    pid = os.getpid()
    forget_peak(pid)
    before = rss_mib(pid)
    held = b"x" * (HELD * 2**20)
    grown = rss_mib(pid) - before
    del held
    assert peak_mib(pid) - before > HELD * 0.9
    assert grown > HELD * 0.9
    forget_peak(pid)
    assert peak_mib(pid) - before < HELD * 0.9
