"""What a test gives for one run, and the run that follows from it."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from weftwork.adapters.python.declare import NodeFunction
from weftwork.adapters.python.found import NodesUnusable, kinds_beside, nodes_among
from weftwork.adapters.python.kinds import EnvelopeKind
from weftwork.adapters.python.values import NotJson, as_json
from weftwork.protocol.decode import decode
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.limits import Limits
from weftwork.testing.clock import ManualClock
from weftwork.testing.fault import Fault, Faults
from weftwork.testing.life import World
from weftwork.testing.media import Asset, assets_in
from weftwork.testing.model import FakeModel, ModelAnswers
from weftwork.testing.outbound import Answers, FakeOutbound
from weftwork.testing.result import RunResult, run_result
from weftwork.testing.story import Story
from weftwork.testing.turning import TurningLoop
from weftwork.testing.unmet import Refused, Unending

SECONDS: Final = 30.0
"""How long a run may take in real time."""

Document = Mapping[str, Any] | str | Path
Functions = Iterable[Callable[..., Any]]
Fetch = FakeOutbound | Answers
Model = FakeModel | ModelAnswers
Kinds = Iterable[EnvelopeKind]


class Setup(msgspec.Struct, kw_only=True):
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
    seconds: float = SECONDS
    first_attempt: int = 1
    assets: Iterable[Asset] = ()
    """Beside those that stand in the inputs."""

    def run(self) -> tuple[RunResult, list[Fault]]:
        """The result, and the faults that never happened."""
        _check_no_loop()
        clock = self.clock or ManualClock()
        faults = Faults(self.faults)
        outbound = self.fetch if isinstance(self.fetch, FakeOutbound) else FakeOutbound(self.fetch)
        model = self.model if isinstance(self.model, FakeModel) else FakeModel(self.model)
        limits, nodes = self.limits or Limits(), nodes_of(self.nodes)
        kinds = [each.kind for each in (*kinds_beside(nodes), *self.kinds)]
        world = World(nodes, clock, outbound, faults, limits, model, self.first_attempt, kinds)
        request = {"inputs": json_of("inputs", self.inputs), "configurable": json_of("configurable", self.configurable)}
        assets = (*self.assets, *assets_in([self.inputs, self.document]))
        story = Story(world, _read(self.document), request, self.answers or {}, assets)
        loop = TurningLoop(clock, self.seconds, lambda: story.busy)
        try:
            result = _played(loop, story)
        finally:
            loop.finish()
            story.close()
        unexpected = outbound.unexpected or model.unexpected
        if unexpected is not None:
            raise unexpected
        return result, faults.unreached


def _played(loop: TurningLoop, story: Story) -> RunResult:
    try:
        loop.run_until_complete(story.play(loop))
    except Unending as error:
        loop.give_time()
        kinds = [event.type for event in loop.run_until_complete(story.events())]
        raise Unending(f"the run does not end: {error}; its events are {kinds}") from None
    loop.give_time()
    return loop.run_until_complete(run_result(story))


def nodes_of(functions: Functions) -> list[NodeFunction]:
    """The nodes that these functions are. Raises Refused."""
    try:
        return nodes_among(functions)
    except NodesUnusable as error:
        raise Refused(str(error)) from None


def json_of(what: str, value: Any) -> dict[str, Any]:
    """An object as it comes out of a request. Raises Refused for what no request can hold."""
    try:
        return decode(msgspec.json.encode(as_json(value or {})))
    except NotJson as error:
        raise Refused(f"{what} cannot be sent to a host: {error}") from None


def _read(document: Document) -> dict[str, Any]:
    if isinstance(document, Mapping):
        return json_of("the workflow", document)
    try:
        return decode(Path(document).read_bytes())
    except ClientFault as fault:
        raise Refused(f"{document} is no definition: {fault.message}") from None


def _check_no_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("the kit runs an event loop of its own: in an async test, await arun_node or arun_workflow")
