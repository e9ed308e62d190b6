"""The nodes without a host."""

from pathlib import Path

import pytest
from temperature.nodes import convert, judge

from weftwork.testing import run_node, run_workflow

WORKFLOW = Path(__file__).parents[1] / "workflows" / "room.json"


@pytest.mark.parametrize(("degrees", "said"), [(3, "too cold"), (20, "just right"), (31.5, "too warm")])
def test_a_temperature_is_judged(degrees: float, said: str) -> None:
    assert run_node(judge, inputs={"degrees": degrees}).outputs == {"output": said}


def test_an_unknown_scale_is_rejected() -> None:
    result = run_node(convert, inputs={"reading": {"degrees": 3, "scale": "kelvin"}})
    assert result.error is not None
    assert result.error.details == {"pointer": "/inputs/reading/scale"}


def test_a_room_in_fahrenheit() -> None:
    reading = {"degrees": 68, "scale": "fahrenheit"}
    result = run_workflow(WORKFLOW, nodes=[convert, judge], inputs={"reading": reading})
    assert result.outputs == {"judge": {"output": "just right"}}
