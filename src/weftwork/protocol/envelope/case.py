"""A case: one envelope on its way through the gate."""

from typing import Any, Final

from weftwork.protocol.answerer import Trust
from weftwork.protocol.decode import MAX_INTEGER
from weftwork.protocol.envelope.outcome import Outcome
from weftwork.protocol.envelope.redact import redact
from weftwork.protocol.envelope.rules import Known, Rules

MAX_TYPE: Final = 256
MAX_ID: Final = 128
"""Characters that the schema allows, and that are left when a marker has made a name longer."""


class Case:
    """A document, the rules that hold for it, and what the steps have found out about it."""

    __slots__ = (
        "_clean",
        "_known",
        "correlation_id",
        "document",
        "drift",
        "encoded",
        "envelope_id",
        "payload",
        "redactions",
        "repeated",
        "rules",
        "shown",
        "trust",
        "type",
        "version",
        "warnings",
    )

    def __init__(self, document: Any, rules: Rules) -> None:
        self.document = document
        self.rules = rules
        self.encoded = b""
        self.type = self.shown = self.envelope_id = self.correlation_id = ""
        self.payload: Any = None
        self.version = self.redactions = 0
        self.drift = self.repeated = False
        self.trust: Trust = "trusted"
        self.warnings: tuple[str, ...] = ()
        self._clean: bool | None = None
        self._known: Known | bool | None = False

    def read(self, document: dict[str, Any]) -> None:
        """Take what every envelope has, with secrets taken out of all names that may be shown or recorded.

        env-14 (RFC 0021, trust): the envelope's own tag wins over that of the run.
        """
        meta = document["meta"]
        self.type = document["type"]
        self.payload = document["payload"]
        # 1e300 is a whole number too, and one that no strict reader takes.
        self.version = min(int(document.get("schemaVersion", 0)), MAX_INTEGER)
        self.trust = meta.get("contentTrust") or self.rules.trust or "trusted"
        # A kind that is known is a word of its author, whatever a secret happens to be spelled like.
        known = self.rules.kinds.find(self.type) is not None
        self.shown = self.type if known else self._masked(self.type, MAX_TYPE)
        self.envelope_id = self._masked(document["envelopeId"], MAX_ID)
        self.correlation_id = self._masked(document["correlationId"], MAX_ID)

    def redact(self) -> None:
        """Take the secrets out of the payload."""
        secrets = self.rules.secrets
        if secrets is not None and not self.clean:
            self.payload, self.redactions = redact(self.payload, secrets)

    @property
    def clean(self) -> bool:
        """Whether there is surely no secret anywhere in the document."""
        if self._clean is None:
            self._clean = self.rules.secrets is None or self.rules.secrets.unmentioned(self.encoded)
        return self._clean

    @property
    def known(self) -> Known | None:
        """What is recorded under the correlation id."""
        if self._known is False:
            # It may have been recorded before something in it came to be a secret.
            sent = str(self.document["correlationId"])
            self._known = self.rules.known(sent) or self.rules.known(self.correlation_id)
        return self._known if isinstance(self._known, Known) else None

    @property
    def again(self) -> Outcome | None:
        """What was recorded of this envelope before."""
        known = self.known
        return known.outcome if known is not None and known.type in (self.type, self.shown) else None

    @property
    def identity(self) -> tuple[str, str, str, int]:
        """Kind, id, correlation id and version, as they may be recorded."""
        return self.shown, self.envelope_id, self.correlation_id, self.version

    def _masked(self, text: str, longest: int) -> str:
        if self.rules.secrets is None or self.clean:
            return text
        return self.rules.secrets.mask(text)[:longest]
