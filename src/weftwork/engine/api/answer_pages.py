"""The page behind a link: the question with the names of its author, and how it ended.

Everything is read with the token of the link, and nothing else is needed to answer.
"""

from typing import Any

import msgspec

from weftwork.engine.api.interrupts import Interrupts
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.ports.clock import Clock
from weftwork.protocol.errors import HostFault
from weftwork.protocol.people.answer_pages import InterruptOutcome, PageContext, node_name, read_outcome, workflow_name
from weftwork.protocol.people.interrupt_tokens import Intent, InterruptToken
from weftwork.protocol.privacy.credential_redaction import mask_credentials_in_text
from weftwork.protocol.run.projection import StoredRun


class AnswerPages(msgspec.Struct, eq=False):
    """Reads what the pages show. Raises ClientFault, StoreUnavailable or HostFault."""

    _interrupts: Interrupts
    _catalog: WorkflowCatalog
    _clock: Clock

    async def question(self, text: str, intent: Intent = "inspect") -> tuple[dict[str, Any], PageContext]:
        """The open interrupt of a link, as inspectInterruptByToken returns it, and what the page shows with it."""
        token, stored, row = await self._interrupts.open_by_token(text, intent)
        return self._interrupts.question(token, stored, row), await self._context(token, stored)

    async def outcome(self, text: str) -> InterruptOutcome:
        """How the interrupt of a link stands, for the receipt and for later visits."""
        token, stored, row = await self._interrupts.read_by_token(text)
        person = set[str]() if token.person is None else {token.person, mask_credentials_in_text(token.person)}
        names, keys = frozenset({token.principal, *person}), frozenset(token.key_names)
        keys |= {mask_credentials_in_text(each) for each in keys}
        context = await self._context(token, stored)
        return read_outcome(row, stored.projection.status, names, token.person, context, keys)

    async def _context(self, token: InterruptToken, stored: StoredRun) -> PageContext:
        header, now = stored.header, self._clock.now()
        try:
            plan = await self._catalog.pinned_plan(header.workflow_id, header.definition)
        except HostFault:
            # This host can no longer run the workflow. The question can still be read.
            return PageContext(header.workflow_id, token.node_id, now)
        document = plan.workflow.document
        return PageContext(workflow_name(document, header.workflow_id), node_name(document, token.node_id), now)
