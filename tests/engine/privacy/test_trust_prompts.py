"""Trust in templates: what is untrusted in them can be wrapped, value by value."""

from typing import Any

import msgspec
import pytest

from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import EngineHarness, run
from tests.harness.untrusted_content import VARIABLES, mixing_node, port, run_untrusted, untrusted_node
from tests.simulation.trust_workflows import MIXING_TYPES, UNTRUSTED_WORD
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall
from weftwork.protocol.workflow.node_types import NodeDeclaration


def _prompt(call: NodeCall) -> NodeOutcome:
    scope, text = call.scope, call.config["prompt"]
    shown = scope.render(text, {"ports": call.inputs}, wrap=lambda value: f"[{value}]")
    more = scope.render("{{item}} {{ports.x}}", {"ports": {"x": 1}, "item": 2}, wrap=lambda value: f"[{value}]")
    asked = [scope.is_untrusted(each, {"ports": call.inputs}) for each in ("ports.x", "ports.y", "ports", "1 + 1")]
    plain = scope.render(text, {"ports": call.inputs})
    return Completed({"shown": shown, "plain": plain, "asked": asked, "ports": sorted(call.untrusted), "more": more})


PROMPT = InstantNode(
    NodeDeclaration(
        "test.prompt",
        "Renders.",
        config={"type": "object", "properties": {"prompt": {"type": "string"}}},
        templates={"/prompt": ()},
    ),
    _prompt,
)


@pytest.mark.rule("trust-08")
def test_what_is_untrusted_in_a_template_is_wrapped_and_nothing_else() -> None:
    async def scenario(fetches: bool) -> dict[str, Any]:
        text = "Say {{ports.x}} {{ports.y}} {{variables.a}} {{variables.b}} {{nodes.o.outputs.output}} {{1 + 1}}!"
        inputs = {"x": port("variable", "a"), "y": port("variable", "b"), "z": port("connection", "o")}
        first = untrusted_node("o", "a") if fetches else mixing_node("o", sets="a")
        document = workflow(
            [first, node("p", "test.prompt", config={"prompt": text}, inputs=inputs)], [edge("o", "p")], VARIABLES
        )
        bench, key = await run_untrusted(document, bench=EngineHarness(*MIXING_TYPES, PROMPT))
        return msgspec.json.decode((await bench.run_to_end(key))[-1].payload)["outputs"]["p"]

    found = run(lambda: scenario(True))
    out = f'["{UNTRUSTED_WORD}"]'
    assert found["shown"] == f"Say [{out}] [] [{out}] [] [{out}] 2!"
    assert found["plain"] == f"Say {out} [] {out} [] {out} 2!"
    assert found["asked"] == [True, False, True, False]
    assert found["ports"] == ["input", "x", "z"]
    assert found["more"] == "[2] [1]"
    found = run(lambda: scenario(False))
    assert (found["shown"], found["asked"], found["ports"]) == (found["plain"], [False] * 4, [])
    assert found["more"] == "2 1"
