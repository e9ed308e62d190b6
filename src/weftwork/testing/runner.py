"""Runs a node or a workflow in a test: on the real engine, without a server and without waiting in real time.

A RunSetup holds the arguments of one run. The runner starts a simulated host with them and returns the result.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

import msgspec

from weftwork.adapters.python.declaration.decorator import NodeFunction
from weftwork.adapters.python.declaration.envelope_kind import EnvelopeKind
from weftwork.adapters.python.declaration.node_discovery import NodeLoadError, envelope_kinds_near, nodes_from_functions
from weftwork.adapters.python.values import NotJson, as_json
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND
from weftwork.testing.deterministic import ManualClock, ManualTimeLoop
from weftwork.testing.errors import Refused, Unending, Unmet, Unreached
from weftwork.testing.fake_model import FakeModel, ModelAnswers
from weftwork.testing.fake_outbound import Answers, FakeOutbound
from weftwork.testing.faults import Crash, Fault, FaultPlan
from weftwork.testing.media import Asset, assets_in
from weftwork.testing.question import find_out
from weftwork.testing.result import NodeResult, RunResult, run_result
from weftwork.testing.simulated_host import Scenario, SimulatedHost

DEFAULT_SECONDS: Final = 30.0
"""Time limit of a run in real seconds."""
MAX_CRASHES: Final = 500
NODE_ID: Final = "node"
"""The id of the node that `run_node` runs."""

P = ParamSpec("P")
T = TypeVar("T")

Document = Mapping[str, Any] | str | Path
Functions = Iterable[Callable[..., Any]]
Fetch = FakeOutbound | Answers
Model = FakeModel | ModelAnswers
Kinds = Iterable[EnvelopeKind]


class RunSetup(msgspec.Struct, kw_only=True):
    """Everything that a run under test depends on."""

    document: Document
    nodes: Functions = ()
    inputs: Mapping[str, Any] | None = None
    configurable: Mapping[str, Any] | None = None
    answers: Mapping[str, Any] | None = None
    clock: ManualClock | None = None
    faults: Iterable[Fault] = ()
    fetch: Fetch | None = None
    model: Model | None = None
    kinds: Kinds = ()
    limits: Limits | None = None
    seconds: float = DEFAULT_SECONDS
    first_attempt: int = 1
    assets: Iterable[Asset] = ()
    """Assets to upload in addition to those in the inputs and the document."""

    def run(self) -> tuple[RunResult, list[Fault]]:
        """Run it. Returns the result and the faults that did not happen."""
        check_no_loop()
        clock = self.clock or ManualClock()
        faults = FaultPlan(self.faults)
        outbound = self.fetch if isinstance(self.fetch, FakeOutbound) else FakeOutbound(self.fetch)
        model = self.model if isinstance(self.model, FakeModel) else FakeModel(self.model)
        limits, nodes = self.limits or Limits(), load_nodes(self.nodes)
        kinds = [each.kind for each in (*envelope_kinds_near(nodes), *self.kinds)]
        host = SimulatedHost(nodes, clock, outbound, faults, limits, model, self.first_attempt, kinds)
        request = {
            "inputs": to_json_object("inputs", self.inputs),
            "configurable": to_json_object("configurable", self.configurable),
        }
        assets = (*self.assets, *assets_in([self.inputs, self.document]))
        scenario = Scenario(host, read_document(self.document), request, self.answers or {}, assets)
        loop = ManualTimeLoop(clock, self.seconds, lambda: scenario.busy)
        try:
            result = _play_scenario(loop, scenario)
        finally:
            loop.shut_down()
            scenario.close()
        unexpected = outbound.unexpected or model.unexpected
        if unexpected is not None:
            raise unexpected
        return result, faults.unreached


def _play_scenario(loop: ManualTimeLoop, scenario: Scenario) -> RunResult:
    try:
        loop.run_until_complete(scenario.play(loop))
    except Unending as error:
        loop.extend_deadline()
        kinds = [event.type for event in loop.run_until_complete(scenario.events())]
        raise Unending(f"the run does not end: {error}; its events are {kinds}") from None
    loop.extend_deadline()
    return loop.run_until_complete(run_result(scenario))


def load_nodes(functions: Functions) -> list[NodeFunction]:
    """The nodes that the functions declare. Raises Refused for a function that is not a valid node."""
    try:
        return nodes_from_functions(functions)
    except NodeLoadError as error:
        raise Refused(str(error)) from None


def to_json_object(what: str, value: Any) -> dict[str, Any]:
    """The value as a host would decode it from a request. Raises Refused for a value that is not JSON."""
    try:
        return decode(msgspec.json.encode(as_json(value or {})))
    except NotJson as error:
        raise Refused(f"{what} cannot be sent to a host: {error}") from None


def read_document(document: Document) -> dict[str, Any]:
    if isinstance(document, Mapping):
        return to_json_object("the workflow", document)
    try:
        return decode(Path(document).read_bytes())
    except ClientFault as fault:
        raise Refused(f"{document} is not a workflow definition: {fault.message}") from None


def check_no_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("the test kit needs its own event loop: in an async test, await arun_node or arun_workflow")


def run_node(
    function: Callable[..., Any],
    *,
    inputs: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    answers: Mapping[str, Any] | None = None,
    clock: ManualClock | None = None,
    attempt: int = 1,
    faults: Iterable[Fault] = (),
    fetch: Fetch | None = None,
    model: Model | None = None,
    kinds: Kinds = (),
    seconds: float = DEFAULT_SECONDS,
) -> NodeResult:
    """Run one decorated function as the only node of a workflow. The id of the node is `node`.

    Inputs, config and outputs are converted and validated as on a host. `attempt` is the number of the attempt, as if
    the earlier ones had failed. The other arguments are those of `run_workflow`.
    """
    (node,) = load_nodes([function])
    ports = to_json_object("inputs", inputs)
    definition = {
        "id": NODE_ID,
        "typeId": node.declaration.type_id,
        "name": NODE_ID,
        "position": {"x": 0, "y": 0},
        "config": to_json_object("config", config),
        "inputs": {name: {"type": "static", "value": value} for name, value in ports.items()},
        "settings": {"maxRetries": attempt - 1, "retryDelayMs": 0},
    }
    empty: dict[str, Any] = {"edges": [], "triggers": [], "variables": [], "metadata": {}, "settings": {}}
    document = {"id": "one-node", "name": "One node", "version": "1", "nodes": [definition], **empty}
    setup = RunSetup(
        document=document,
        nodes=[function],
        answers=answers,
        clock=clock,
        faults=faults,
        fetch=fetch,
        model=model,
        kinds=kinds,
        seconds=seconds,
        first_attempt=attempt,
        assets=assets_in([inputs, config]),
    )
    return _run_checked(setup).nodes[NODE_ID]


def run_workflow(
    document: Document,
    *,
    nodes: Functions = (),
    inputs: Mapping[str, Any] | None = None,
    configurable: Mapping[str, Any] | None = None,
    answers: Mapping[str, Any] | None = None,
    clock: ManualClock | None = None,
    faults: Iterable[Fault] = (),
    fetch: Fetch | None = None,
    model: Model | None = None,
    kinds: Kinds = (),
    limits: Limits | None = None,
    seconds: float = DEFAULT_SECONDS,
) -> RunResult:
    """Run a workflow, given as a definition or as the path of a file.

    `nodes` lists the decorated functions that the workflow uses. An Asset in the inputs is uploaded first. `answers`
    maps the key, name or kind of an interrupt, or its node id, to an answer; a function is called with the Question.
    `model` provides the answers of models. `kinds` adds envelope kinds to those of the protocol and of the modules of
    the nodes. `faults` lists the faults to inject. Delays, retries and timeouts use `clock`, which advances whenever
    nothing else can happen. `seconds` limits the run in real time.

    Raises Refused if a host would refuse the workflow, the inputs or an answer, Unending if the run does not end,
    UnexpectedRequest for a request without an answer, and Unreached for a fault that did not happen.
    """
    return _run_checked(
        RunSetup(
            document=document,
            nodes=nodes,
            inputs=inputs,
            configurable=configurable,
            answers=answers,
            clock=clock,
            faults=faults,
            fetch=fetch,
            model=model,
            kinds=kinds,
            limits=limits,
            seconds=seconds,
        )
    )


def crash_everywhere(
    document: Document,
    *,
    nodes: Functions = (),
    inputs: Mapping[str, Any] | None = None,
    configurable: Mapping[str, Any] | None = None,
    answers: Mapping[str, Any] | None = None,
    fresh: Callable[[], object] | None = None,
    fetch: Callable[[], FakeOutbound] | None = None,
    model: Callable[[], FakeModel] | None = None,
    kinds: Kinds = (),
    limits: Limits | None = None,
    seconds: float = DEFAULT_SECONDS,
) -> Iterator[RunResult]:
    """Run a workflow without faults, and then twice for each of its commits: with a crash before it and after it.

    Each result is yielded before the next run starts, so that the test can check the state of its fakes. `fresh` is
    called before every run; `fetch` and `model` create the fakes of each run. Interrupts about effects of unknown
    outcome are answered by `find_out`, unless `answers` has an entry for them. `faults` of a result shows where it
    crashed.
    """
    node_list, kind_list = [*nodes], [*kinds]
    all_answers = {UNKNOWN_OUTCOME_KIND: find_out, **(answers or {})}

    def once(faults: list[Fault]) -> tuple[RunResult, list[Fault]]:
        if fresh is not None:
            fresh()
        setup = RunSetup(
            document=document,
            nodes=node_list,
            inputs=inputs,
            configurable=configurable,
            answers=all_answers,
            faults=faults,
            fetch=fetch() if fetch is not None else None,
            model=model() if model is not None else None,
            kinds=kind_list,
            limits=limits,
            seconds=seconds,
        )
        return setup.run()

    undisturbed, _ = once([])
    yield undisturbed
    for at in range(1, MAX_CRASHES + 1):
        for written in (False, True):
            result, unreached = once([Crash(at=at, written=written)])
            if not unreached:
                yield result
            elif at > undisturbed.commits:
                return
    raise Unmet(f"the workflow makes more than {MAX_CRASHES} commits; test a smaller workflow")


def _run_checked(setup: RunSetup) -> RunResult:
    result, unreached = setup.run()
    if unreached:
        raise Unreached(f"{unreached[0]} did not happen; the run made {result.commits} commits: {result.kinds}")
    return result


def in_thread(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The function for async tests. It runs in a thread, where the kit can start its own event loop."""

    @wraps(function)
    async def run(*arguments: P.args, **named: P.kwargs) -> T:
        return await asyncio.to_thread(function, *arguments, **named)

    return run


arun_node = in_thread(run_node)
arun_workflow = in_thread(run_workflow)
