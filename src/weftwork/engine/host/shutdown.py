"""Effects in progress while a host closes: those that must not happen twice, and for which it waits."""

import logging
from collections.abc import Iterable

import msgspec

from weftwork.engine.run.live_run import LiveRun

log = logging.getLogger("weftwork.run")


class OpenEffect(msgspec.Struct, frozen=True, rename="camel"):
    """A node with an effect in progress that must not happen twice, and for which a closing host waits."""

    run_id: str
    node_id: str

    @property
    def log_fields(self) -> dict[str, str]:
        return msgspec.to_builtins(self)


class ClosedEffect(msgspec.Struct, frozen=True):
    """An effect after the host has closed. If it is not finished, its outcome is unknown: the next start asks a person
    about it, or repeats it if it is idempotent."""

    effect: OpenEffect
    finished: bool


class AwaitedEffects:
    """The effects that a closing host waits for, until it is reported what became of them."""

    def __init__(self) -> None:
        self._effects: dict[OpenEffect, LiveRun] = {}

    def collect(self, runs: Iterable[LiveRun]) -> tuple[OpenEffect, ...]:
        """The effects of these runs. Logs each of them."""
        self._effects = {
            OpenEffect(live.key.run_id, node_id): live for live in runs for node_id in live.nodes_with_open_effects()
        }
        for effect in self._effects:
            log.warning("shutdown waits for an effect in progress", extra=effect.log_fields)
        return tuple(self._effects)

    def report(self) -> list[ClosedEffect]:
        """Log and return what has become of them, each of them once."""
        closed: list[ClosedEffect] = []
        for effect, live in self._effects.items():
            finished = effect.node_id not in live.nodes_with_open_effects()
            if finished:
                log.info("effect finished during the shutdown", extra=effect.log_fields)
            else:
                log.warning("effect not finished at shutdown: its outcome is unknown", extra=effect.log_fields)
            closed.append(ClosedEffect(effect, finished))
        self._effects = {}
        return closed
