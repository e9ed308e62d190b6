"""A run without an engine: the built-in nodes, the fold and the decisions, moved by hand in any order."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from tests.harness.definitions import header_of
from tests.simulation.random_workflows import FLAKY, INPUTS
from weftwork.adapters.nodes.builtin import BUILTIN_TYPES
from weftwork.engine.decide.decision import RunBounds
from weftwork.engine.decide.inputs import AnswerReceived, Input, NodeFailed, RetryDue, Step
from weftwork.engine.decide.transitions import decide
from weftwork.engine.nodes.node_call import input_of_outcome, make_call
from weftwork.ports.node_outcome import StepFailed, raised_failure
from weftwork.ports.nodes import InstantNode
from weftwork.protocol.expressions.budget import WorkBudget
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.fold.fold import apply
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.fold.variable_views import VariableView
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import encode_canonical
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.events import Fact
from weftwork.protocol.run.header import RunHeader
from weftwork.protocol.workflow.plan import Plan
from weftwork.testing.deterministic import SequentialIds

NODE_FUNCTIONS = {
    each.declaration.type_id: each.run for each in (*BUILTIN_TYPES, FLAKY) if isinstance(each, InstantNode)
}
MAX_STEPS = 5_000
Chooser = Callable[[list[str]], str]


class _Runtime:
    ids = SequentialIds()
    types = frozenset(each.declaration.type_id for each in BUILTIN_TYPES)

    @staticmethod
    def make_evaluator(header: RunHeader) -> WorkBudget:
        return WorkBudget(header.expression_limits)


def outcome(state: RunState, node_id: str) -> Input:
    """What becomes of a running node, from the state alone."""
    runtime: Any = _Runtime
    call = make_call(runtime, state, node_id)
    if isinstance(call, NodeFailed):
        return call
    type_id = state.plan.nodes[node_id].node.declaration.type_id
    if type_id == "test.flaky":
        failures = state.nodes[node_id].failures
        call = msgspec.structs.replace(call, inputs={**call.inputs, "failures": failures})
    try:
        found = NODE_FUNCTIONS[type_id](call)
    except (StepFailed, ExpressionFault) as error:
        found = raised_failure(error)
    return input_of_outcome(runtime, state, call, found)


def answer_to(node_id: str) -> Any:
    return len(node_id)


class FoldedRun:
    """One run. `choose` says what happens next; `early` of a node whether it looks at the run as soon as it starts."""

    def __init__(self, plan: Plan, parallel: int = 64, inputs: dict[str, Any] | None = None) -> None:
        self.plan = plan
        self.state = RunState(plan, header_of(plan), INPUTS if inputs is None else inputs)
        self.facts: list[Fact] = []
        self._bounds = RunBounds(parallel, 100_000, frozenset())

    def apply(self, given: Input) -> bool:
        """Whether anything follows."""
        decision = decide(self.state, self._bounds, given)
        for draft in decision.events:
            assert schema.check_payload(draft.type, {**draft.payload, **_is_timed(draft.type)}) == [], draft
            fact = Fact(self.state.last_sequence + 1, draft.type, draft.payload, 0, draft.node_id)
            self.facts.append(fact)
            apply(self.state, fact)
        return bool(decision.events)

    def run(self, choose: Chooser, early: Callable[[], bool] = lambda: False) -> "FoldedRun":
        looked: dict[tuple[str, int], Input] = {}
        while not self.state.is_terminal:
            assert len(self.facts) < MAX_STEPS, "the run does not end"
            if self.apply(Step()):
                for node_id, node in self.state.running.items():
                    if (node_id, node.attempt) not in looked and early():
                        looked[node_id, node.attempt] = outcome(self.state, node_id)
                continue
            state = self.state
            open_nodes = sorted({*state.running, *state.retrying, *state.suspended})
            assert open_nodes, f"the run stands still: {[(each.type, each.node_id) for each in self.facts]}"
            node_id = choose(open_nodes)
            if node_id in state.retrying:
                given: Input = RetryDue(node_id, state.retrying[node_id].attempt)
            elif node_id in state.suspended:
                given = AnswerReceived(node_id, answer_to(node_id), Answerer("somebody"), 0)
            else:
                known = looked.pop((node_id, state.running[node_id].attempt), None)
                given = known if known is not None else outcome(state, node_id)
            assert self.apply(given)
        stuck = self.state.stuck_loops or any(each.type == "cap.breached" for each in self.facts)
        assert stuck or all(name in self.state.nodes for name in self.plan.order), "a node was forgotten"
        return self


def _is_timed(kind: str) -> dict[str, Any]:
    return {"writtenAt": "2026-01-01T00:00:00.000Z"} if kind == "channel.written" else {}


def choose_first(nodes: list[str]) -> str:
    return nodes[0]


def choose_last(nodes: list[str]) -> str:
    return nodes[-1]


def choose_randomly(seed: int) -> Chooser:
    dice = random.Random(seed)
    return lambda nodes: dice.choice(nodes)


def as_multiset(value: Any) -> Any:
    """A channel without its order: that is the one thing that may depend on who was faster."""
    return Counter(encode_canonical(each) for each in value) if isinstance(value, list) else value


def final_state(state: RunState) -> dict[str, Any]:
    """Everything about the end of a run that may not depend on the order in which its nodes ended."""
    return {
        "status": state.status,
        "error": state.error,
        "outputs": state.outputs,
        "variables": state.variables,
        "channels": {name: as_multiset(each.value) for name, each in state.channels.items()},
        "rounds": state.loop_rounds,
        "executions": state.executions,
        "nodes": {
            name: (each.status, each.attempt, each.outputs, each.error, each.previous_outputs, _values(each.view))
            for name, each in sorted(state.nodes.items())
        },
    }


def _values(view: VariableView) -> dict[str, Any]:
    return {name: value for name, (_, value) in view.items()}


def event_counts(facts: list[Fact]) -> Counter[bytes]:
    """What happened in a run, whatever its order."""
    return Counter(encode_canonical([each.type, each.node_id, each.payload]) for each in facts)
