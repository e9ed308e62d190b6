"""Windows on the gate: the schemas that envelopes are held to, and the seams that show what it does with one."""

from collections.abc import Awaitable, Callable

from weftwork.adapters.http.envelope_seam import EnvelopeSeam
from weftwork.adapters.http.message import Request, Response
from weftwork.adapters.http.overlay import Overlay
from weftwork.adapters.http.prompt_wrap import wrap_prompt
from weftwork.adapters.http.reliability_seam import ReliabilitySeam
from weftwork.adapters.http.schema_files import SchemaRoutes
from weftwork.engine.envelope_records import EnvelopeRecords
from weftwork.engine.test_log import TestLog
from weftwork.protocol.envelope.kind import Kinds


class GateWindows:
    """All handlers of wire_v1_envelopes, with the memory that they share."""

    def __init__(self, kinds: Kinds, log: TestLog, records: EnvelopeRecords) -> None:
        self._overlay = Overlay()
        self._seam = EnvelopeSeam(kinds, log, records, self._overlay)
        schemas = SchemaRoutes(kinds)
        self.handlers: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "getSchema": schemas.of_wire,
            "getEnvelopeSchema": schemas.of_kind,
            "acceptEnvelope": self._seam.accept,
            "toggleCapability": self._overlay.toggle,
            "wrapPrompt": wrap_prompt,
            "emitEnvelopeReliability": ReliabilitySeam(log).emit,
        }

    def reset(self, partition: str) -> None:
        """Forget what the seams were told and shown in a partition."""
        self._overlay.reset(partition)
        self._seam.reset(partition)
