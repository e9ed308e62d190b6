"""What a node does to its run: committed together with its end, or with what it wants of its children."""

from typing import Any, Literal

import msgspec

from weftwork.protocol.batch import Hidden
from weftwork.protocol.child import NOT_NEEDED
from weftwork.protocol.graph import Plan
from weftwork.protocol.run import RunHeader


class SetVariable(msgspec.Struct, frozen=True):
    """A run variable takes a new value."""

    name: str
    value: Any


class WriteChannel(msgspec.Struct, frozen=True):
    """A value goes into a channel; the reducer is the declared one, or `reducer` where the channel is not declared."""

    channel: str
    value: Any
    reducer: str


class AppendLog(msgspec.Struct, frozen=True):
    """A line for those who follow the run."""

    level: Literal["debug", "info", "warn", "error"]
    message: str
    fields: dict[str, Any] = {}


class EmitArtifact(msgspec.Struct, frozen=True):
    """Something made by the run, to be fetched by its id. Ids are unique within a run and derived, never random."""

    artifact_id: str
    artifact_type: str
    data: Any
    summary: str = ""


class EmitEvent(msgspec.Struct, frozen=True):
    """An event of the author's own type, in the vendor branch of the type pattern."""

    type: str
    payload: dict[str, Any]
    causation_id: str | None = None
    event_id: str | None = None
    """From NodeContext.event_id, where another event is to point at this one."""


class NewChild(msgspec.Struct, frozen=True):
    """A child run that can be started; made by NodeContext.child and by nobody else."""

    key: str
    header: RunHeader
    plan: Plan
    inputs: dict[str, Any]
    hidden: tuple[Hidden, ...] = ()
    weight: int = 0
    """About the bytes of its inputs."""

    @property
    def run_id(self) -> str:
        return self.header.run_id

    @property
    def root(self) -> str:
        """The run at the top of its tree."""
        return self.header.parent.root if self.header.parent is not None else self.run_id


class StartChild(msgspec.Struct, frozen=True):
    """A child run comes into being, in one commit with all else that the node does."""

    child: NewChild


class CancelChild(msgspec.Struct, frozen=True):
    """A child of this entry is no longer needed. It is over when its status says so."""

    key: str
    reason: str = NOT_NEEDED


NodeEffect = SetVariable | WriteChannel | AppendLog | EmitArtifact | EmitEvent | StartChild | CancelChild
