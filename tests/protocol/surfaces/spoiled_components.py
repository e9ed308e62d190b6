"""Lists of components of which some were changed, so that some are no components any more."""

import copy
from typing import Any

from hypothesis import strategies as st

from tests.protocol.envelopes.sample_envelopes import COMPONENTS as SAMPLE


@st.composite
def spoiled_components(draw: st.DrawFn) -> list[dict[str, Any]]:
    # A copy of each: `deepcopy` of the list would keep a sample that occurs twice as one object.
    components = [copy.deepcopy(each) for each in draw(st.lists(st.sampled_from(SAMPLE), max_size=4))]
    for component in components:
        member = draw(st.sampled_from(sorted(component)))
        match draw(st.sampled_from(["keep", "keep", "drop", "number", "fraction", "text", "add"])):
            case "drop":
                del component[member]
            case "number":
                component[member] = 7
            case "fraction":
                # JSON Schema takes 3.0 for an integer.
                component[member] = draw(st.sampled_from([3.0, 3.5]))
            case "text":
                component[member] = "text"
            case "add":
                component["onClick"] = "alert(1)"
            case _:
                pass
    return components
