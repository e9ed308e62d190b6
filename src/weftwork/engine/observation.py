"""The facade of the seams that look at runs from outside: events, spans and bundles, of runs and of the test log."""

from typing import Any, Final

import msgspec

from weftwork.engine.bundle import Bundles
from weftwork.engine.principal import Principal
from weftwork.engine.runtime import Runtime
from weftwork.engine.service import Service
from weftwork.engine.test_log import EventQuery, TestLog, document_of
from weftwork.ports.eventlog import EventLog
from weftwork.protocol.bundle import bare_bundle
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.timestamp import iso

EVENTS_READ: Final = 10_000
"""Of one run that are looked at for one answer."""
PAGE: Final = 256
PAGE_BYTES: Final = 262_144
EXPORT_BYTES: Final = 1_000_000


class Observation:
    """An id that nothing is known of is no error here, and shows nothing."""

    def __init__(self, runtime: Runtime, service: Service, bundles: Bundles, log: TestLog) -> None:
        self._log: EventLog = runtime.log
        self._clock = runtime.clock
        self._service = service
        self._bundles = bundles
        self._test_log = log

    async def events(self, principal: Principal, run_id: str, query: EventQuery) -> list[dict[str, Any]]:
        """What a run has recorded, and behind it what was projected for its id."""
        found: list[dict[str, Any]] = []
        last = -1
        while last + 1 < EVENTS_READ:
            page = await self._log.read(principal.run(run_id), last, PAGE, PAGE_BYTES)
            if not page:
                break
            found += [document_of(event) for event in page if query.takes(event)]
            last = page[-1].sequence
        return found + self._test_log.events(principal.partition, run_id, query)

    async def spans(self, principal: Principal, run_id: str | None) -> list[dict[str, Any]]:
        """Those of a run and of what was projected for its id; without an id, all that was projected."""
        found = await self._service.run_spans(principal, run_id) if run_id is not None else []
        return [*found, *self._test_log.spans(principal.partition, run_id)]

    async def export(self, principal: Principal, run_id: str) -> dict[str, Any]:
        """The bundle of a run, or of what was projected for its id."""
        try:
            pieces = await self._bundles.begin(principal, run_id, cap=EXPORT_BYTES)
        except ClientFault as fault:
            if fault.code != "not_found":
                raise
            events = self._test_log.events(principal.partition, run_id)
            spans = self._test_log.spans(principal.partition, run_id)
            link = self._bundles.link(principal.partition, run_id)
            return bare_bundle(run_id, events, spans, self._bundles.version, iso(self._clock.now()), link)
        parts: list[bytes] = []
        while (piece := await pieces.next()) is not None:
            parts.append(piece)
        return msgspec.json.decode(b"".join(parts))
