"""The guard of replays: a replay calls nothing outside of the run.

The default is to deny. Every place of the engine from which a node reaches the outside calls `deny_in_replay` first:
claims of effects, calls of models, starts of child runs, requests to other hosts, and calls of nodes with effects. What
has a record never gets there, because the record is used instead.
"""

from typing import Final

from weftwork.engine.runtime import Runtime
from weftwork.ports.node_outcome import Failed, StepFailed
from weftwork.protocol.run.header import RunHeader

REPLAY_SOURCE_MISSING: Final = Failed(
    "replay_source_missing",
    "A replay repeats only what its source has recorded, and there is no record of what the node needs here.",
    retryable=False,
)


def deny_in_replay(runtime: Runtime, header: RunHeader) -> None:
    """replay-05 (OpenWOP replay): in a replay, nothing outside of the run happens without a record. Raises StepFailed
    in a replay."""
    if header.fork is not None and header.is_replay:
        raise denied(runtime)


def denied(runtime: Runtime) -> StepFailed:
    """The failure of a node that needs something without a record."""
    if runtime.replay is not None:
        runtime.replay.on_denied()
    return StepFailed(REPLAY_SOURCE_MISSING)
