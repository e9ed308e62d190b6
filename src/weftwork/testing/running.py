"""Run a node or a workflow in a test, on the real engine, without a host and without waiting."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from weftwork.protocol.effect import UNKNOWN
from weftwork.protocol.limits import Limits
from weftwork.testing.clock import ManualClock
from weftwork.testing.fault import Crash, Fault
from weftwork.testing.media import assets_in
from weftwork.testing.model import FakeModel
from weftwork.testing.outbound import FakeOutbound
from weftwork.testing.question import find_out
from weftwork.testing.result import NodeResult, RunResult
from weftwork.testing.setup import SECONDS, Document, Fetch, Functions, Kinds, Model, Setup, json_of, nodes_of
from weftwork.testing.unmet import Unmet, Unreached

P = ParamSpec("P")
T = TypeVar("T")

MOST_CRASHES: Final = 500
NODE: Final = "node"
"""The id of the node that `run_node` runs."""


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
    seconds: float = SECONDS,
) -> NodeResult:
    """Run one decorated function as the only node of a workflow. Its id is `node`.

    What it is called with and what it gives is converted and checked as a host does. `attempt` is the number of the
    attempt, as after failures before it. The rest is as for `run_workflow`.
    """
    (node,) = nodes_of([function])
    ports = json_of("inputs", inputs)
    only = {
        "id": NODE,
        "typeId": node.declaration.type_id,
        "name": NODE,
        "position": {"x": 0, "y": 0},
        "config": json_of("config", config),
        "inputs": {name: {"type": "static", "value": value} for name, value in ports.items()},
        "settings": {"maxRetries": attempt - 1, "retryDelayMs": 0},
    }
    empty: dict[str, Any] = {"edges": [], "triggers": [], "variables": [], "metadata": {}, "settings": {}}
    document = {"id": "one-node", "name": "One node", "version": "1", "nodes": [only], **empty}
    setup = Setup(document=document, nodes=[function], answers=answers, clock=clock, faults=faults, fetch=fetch)
    setup.seconds, setup.first_attempt, setup.model, setup.kinds = seconds, attempt, model, kinds
    setup.assets = assets_in([inputs, config])
    return _met(setup).nodes[NODE]


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
    seconds: float = SECONDS,
) -> RunResult:
    """Run a whole workflow: a definition, or the path of a file that holds one.

    `nodes` are the decorated functions that it uses. An Asset in the inputs is uploaded first. `answers` are found by
    the key, name or kind of a question, or by its node; a function is called with the Question. `model` answers for
    models, and `kinds` are envelope kinds that the host knows beside those of the protocol and of the modules of the
    nodes. `faults` are what goes wrong; one that never happens raises Unreached. Delays, retries and time limits pass
    on the clock, which is moved whenever nothing else can happen. Raises Refused, Unending or UnexpectedRequest; no
    run takes longer than `seconds`.
    """
    return _met(
        Setup(
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
    seconds: float = SECONDS,
) -> Iterator[RunResult]:
    """Run a workflow as it is, and then once for each of its commits with a crash before it and one after it.

    Each result comes when it is there, so that the test can look at its own world; `fresh` is called before every
    run, `fetch` makes its way out and `model` its model. Questions about effects of unknown outcome are answered by
    what really happened, unless `answers` has something for them. The faults of a result say where it crashed.
    """
    listed, known = [*nodes], [*kinds]
    replies = {UNKNOWN: find_out, **(answers or {})}

    def once(faults: list[Fault]) -> tuple[RunResult, list[Fault]]:
        if fresh is not None:
            fresh()
        setup = Setup(document=document, nodes=listed, inputs=inputs, configurable=configurable, answers=replies)
        setup.faults, setup.limits, setup.seconds = faults, limits, seconds
        setup.fetch = fetch() if fetch is not None else None
        setup.model, setup.kinds = model() if model is not None else None, known
        return setup.run()

    whole, _ = once([])
    yield whole
    for at in range(1, MOST_CRASHES + 1):
        for written in (False, True):
            result, unreached = once([Crash(at=at, written=written)])
            if not unreached:
                yield result
            elif at > whole.commits:
                return
    raise Unmet(f"the workflow makes more than {MOST_CRASHES} commits; try parts of it")


def _met(setup: Setup) -> RunResult:
    result, unreached = setup.run()
    if unreached:
        raise Unreached(f"{unreached[0]} never happened; the run made {result.commits} commits: {result.kinds}")
    return result


def _beside(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The same for async tests: it runs in a thread, with an event loop of its own."""

    @wraps(function)
    async def run(*arguments: P.args, **named: P.kwargs) -> T:
        return await asyncio.to_thread(function, *arguments, **named)

    return run


arun_node = _beside(run_node)
arun_workflow = _beside(run_workflow)
