"""Interrupts for callers: list and answer them, and create links with which a person without a key can answer.

A link carries a signed token with an expiry. `InterruptLinks` creates and verifies the tokens; nothing else uses the
signer for interrupts.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import partial
from typing import Any, Final

import msgspec

from weftwork.engine.api.idempotency import IdempotencyClaim, idempotent
from weftwork.engine.api.keyring import Principal, require_run, require_scope
from weftwork.engine.api.run_control import ControlOutcome, apply_control
from weftwork.engine.decide.inputs import AnswerReceived
from weftwork.engine.host.executor import Executor
from weftwork.engine.runtime import Runtime
from weftwork.engine.signer import Signer
from weftwork.ports.clock import Clock
from weftwork.ports.fault_points import fault_point
from weftwork.ports.ids import Ids
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.run_queries import InterruptQuery
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.json import schema
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.people import interrupt_tokens
from weftwork.protocol.people.approvals import AUTH_REQUIRED, Answerer
from weftwork.protocol.people.interrupt_tokens import Intent, InterruptToken
from weftwork.protocol.privacy.credential_redaction import mask_credentials_in_text
from weftwork.protocol.run.events import TRUSTED, Trust
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.imports import refuse_change
from weftwork.protocol.run.interrupts import answer_refusal
from weftwork.protocol.run.projection import StoredRun
from weftwork.protocol.scopes import DELEGATE, OVERRIDE, RESPOND
from weftwork.protocol.timestamps import iso, parse_iso

DAY_MS: Final = 86_400_000
_INSPECT_MEMBERS: Final = tuple(
    "kind key data resumeSchema contentTrust surface timeoutMs requestedAt dueAt votes".split()
)

Row = dict[str, Any]
"""The state row of an interrupt, decoded."""


class InterruptLinks(msgspec.Struct, eq=False):
    """Creates and verifies links. `public_url` is the setting of that name without a trailing slash, or empty."""

    _signer: Signer
    _clock: Clock
    _ids: Ids
    _prefix: str
    public_url: str = ""
    _link_days: int = 7

    def path(self, text: str) -> str:
        return self._prefix + text

    def url(self, text: str) -> str:
        """The absolute URL of a token if `public_url` is set, else its path."""
        return self.public_url + self.path(text)

    def for_reader(self, reader: Principal, run_id: str, row: dict[str, Any], intent: Intent) -> str:
        """tok-03 (readings, Interrupt tokens): the token that is returned with an open interrupt."""
        return self._sign(reader, run_id, row, intent, None, interrupt_tokens.READ_TOKEN_MS)[0]

    def for_person(
        self,
        creator: Principal,
        run_id: str,
        row: dict[str, Any],
        intent: Intent,
        person: str | None,
        seconds: int | None,
    ) -> tuple[str, InterruptToken]:
        """tok-03 (readings, Interrupt tokens): a token that is valid until the deadline of the interrupt, or for
        `interrupt_link_days` if it has none. `seconds` can only shorten that."""
        due = _due(row)
        longest = self._link_days * DAY_MS if due is None else max(0, due - self._clock.now())
        lifetime_ms = longest if seconds is None else min(longest, seconds * 1000)
        return self._sign(creator, run_id, row, intent, person, lifetime_ms)

    def open_token(self, text: str) -> InterruptToken:
        """tok-04: the content of a valid token. Raises ClientFault.

        Checks the form, the signature and the expiry, in this order, so nothing is looked up for a forged token.
        """
        decoded = interrupt_tokens.decode_token(text)
        if decoded is None:
            raise interrupt_tokens.unknown_token_fault()
        token, payload, signature = decoded
        if not self._signer.verify(interrupt_tokens.PURPOSE, token.kid, payload, signature):
            raise interrupt_tokens.unknown_token_fault()
        if token.is_expired(self._clock.now()):
            raise interrupt_tokens.expired_token_fault()
        return token

    def _sign(
        self,
        creator: Principal,
        run_id: str,
        row: dict[str, Any],
        intent: Intent,
        person: str | None,
        lifetime_ms: int,
    ) -> tuple[str, InterruptToken]:
        token = InterruptToken(
            kid=self._signer.kid,
            tenant=creator.partition,
            run_id=run_id,
            interrupt_id=row["interruptId"],
            intent=intent,
            expires_at=interrupt_tokens.token_expiry(self._clock.now(), lifetime_ms, _due(row)),
            jti=self._ids.event_ids(1)[0],
            person=person,
            key_names=_attributed_names(creator, intent, person),
        )
        payload = interrupt_tokens.signed_bytes(token)
        return interrupt_tokens.encode_token(payload, self._signer.sign(interrupt_tokens.PURPOSE, payload)), token


def _due(row: dict[str, Any]) -> int | None:
    text = row.get("dueAt")
    return parse_iso(text) if text is not None else None


class Interrupts(msgspec.Struct, eq=False):
    """Interrupts for callers. Raises ClientFault, StoreUnavailable or HostFault."""

    _runtime: Runtime
    _executor: Executor
    _links: InterruptLinks

    async def list_of_run(self, principal: Principal, run_id: str, closed: bool = False) -> dict[str, Any]:
        """The open interrupts of a run, or with `closed` all of them, in the order of their requests."""
        stored = require_run(await self._executor.read_run(principal.run(run_id)))
        rows = [row for row in interrupt_rows(stored) if closed or row["status"] == "open"]
        workflow_id = stored.header.workflow_id
        return {"interrupts": [self._document(principal, run_id, workflow_id, row) for row in rows]}

    async def list_open(self, principal: Principal, query: InterruptQuery) -> dict[str, Any]:
        """A page of the tenant's open interrupts, oldest first."""
        page = await self._runtime.queries.list_interrupts(principal.partition, query)
        documents = [
            self._document(principal, each.run_id, each.workflow_id, msgspec.json.decode(each.row))
            for each in page.interrupts
        ]
        document: dict[str, Any] = {"interrupts": documents}
        if page.more and page.last is not None:
            document["nextCursor"] = encode_cursor(page.last)
        return document

    def with_tokens(self, principal: Principal, snapshot: dict[str, Any]) -> dict[str, Any]:
        """tok-05: adds tokens and callback URLs to the open interrupts of a snapshot, in place."""
        for row in (*snapshot.get("interrupts", ()), snapshot.get("interrupt")):
            if row is not None and "interruptToken" not in row:
                row |= _callback_members(self._mint_token(principal, snapshot["runId"], row))
        return snapshot

    def token_members(self, principal: Principal, run_id: str, row: Row) -> bytes:
        """tok-05: the members that `with_tokens` adds, encoded, for the Placeholder of an open interrupt."""
        members = msgspec.json.encode(_callback_members(self._mint_token(principal, run_id, row)))
        return b",%b" % members[1:-1]

    async def resolve(
        self,
        principal: Principal,
        run_id: str,
        node_id: str,
        document: Any,
        key: str | None = None,
        interrupt_id: str | None = None,
    ) -> ControlOutcome:
        """int-06: answer an interrupt. Exactly one answer is accepted, and it is durable on return."""
        # With the principal, because votes of two principals are different requests even if key and body are equal.
        place = "\0".join((principal.key_id, run_id, node_id, interrupt_id or ""))
        by = self.answerer(principal)
        answer = partial(self.answer, principal.run(run_id), node_id, interrupt_id or "", document, by)
        operation = f"resolveInterrupt/{place}"
        return await idempotent(self._runtime, principal, operation, key, document, ControlOutcome, answer)

    def answerer(self, principal: Principal) -> Answerer:
        """The holder of a key as the sender of an answer."""
        return Answerer(
            principal.key_id,
            frozenset({principal.label} - {""}),
            may_delegate=DELEGATE in principal.scopes,
            may_override=OVERRIDE in principal.scopes,
            partition=principal.partition,
        )

    async def resolve_approval(
        self, principal: Principal, run_id: str, node_id: str, document: Any, key: str | None = None
    ) -> ControlOutcome:
        """`resolve` for the older route, whose body may be the answer itself."""
        if not (is_object(document) and "resumeValue" in document):
            if schema.check("resolve-approval", document):
                raise invalid('Send a decision such as {"action": "accept"}, as the body or as resumeValue.', "")
            document = {"resumeValue": document}
        return await self.resolve(principal, run_id, node_id, document, key)

    async def link(self, principal: Principal, run_id: str, node_id: str, document: Any) -> dict[str, Any]:
        """Create a link to the open interrupt of a node, for a person."""
        schema.require("interrupt-link-request", document)
        intent: Intent = document.get("intent", "resolve")
        person: str | None = document.get("for")
        if person is not None and not interrupt_tokens.is_person_name(person):
            raise invalid("`for` must be a name without control characters.", "/for")
        if person is not None and person not in (principal.key_id, principal.label):
            require_scope(principal, DELEGATE)
        stored = require_run(await self._executor.read_run(principal.run(run_id)))
        refuse_change(stored.header)
        rows = [row for row in interrupt_rows(stored) if row["nodeId"] == node_id]
        row = next((row for row in rows if row["status"] == "open"), None)
        if row is None:
            raise answer_refusal(final_status(rows), stored.projection.status)
        if intent == "resolve" and _needs_key(row):
            message = "This approval accepts answers with an API key only. Create a link with intent inspect instead."
            raise ClientFault("forbidden", message)
        if intent == "resolve":
            _check_approver(row, person)
        text, token = self._links.for_person(principal, run_id, row, intent, person, document.get("expiresInSeconds"))
        response: dict[str, Any] = {
            "runId": run_id,
            "nodeId": node_id,
            "interruptId": row["interruptId"],
            "intent": intent,
        }
        response |= {"token": text, "path": self._links.path(text), "expiresAt": iso(token.expires_at)}
        if self._links.public_url:
            response["url"] = self._links.url(text)
        return response

    def check_token(self, text: str, intent: Intent) -> InterruptToken:
        """tok-04: the content of a token that is valid, has not expired and allows the intent. Raises ClientFault."""
        token = self._links.open_token(text)
        if intent == "resolve" and token.intent != "resolve":
            raise ClientFault("forbidden", "This link shows the interrupt and cannot answer it.")
        return token

    async def inspect(self, text: str, intent: Intent = "inspect") -> dict[str, Any]:
        """tok-04: the open interrupt of a token. Raises ClientFault if the token does not allow the intent, or if the
        interrupt is closed."""
        return self.question(*await self.open_by_token(text, intent))

    async def open_by_token(self, text: str, intent: Intent) -> tuple[InterruptToken, StoredRun, Row]:
        """tok-04: `read_by_token` for an interrupt that is open. Raises ClientFault if it is not."""
        self.check_token(text, intent)
        token, stored, row = await self.read_by_token(text)
        if row["status"] != "open":
            raise answer_refusal(row["status"], stored.projection.status)
        return token, stored, row

    async def read_by_token(self, text: str) -> tuple[InterruptToken, StoredRun, Row]:
        """tok-04: the interrupt of a valid token, open or not, and its run. Raises ClientFault."""
        token = self.check_token(text, "inspect")
        stored = await self._executor.read_run(RunKey(token.tenant, token.run_id))
        rows = [row for row in interrupt_rows(stored) if row["interruptId"] == token.interrupt_id] if stored else []
        if stored is None or not rows:
            raise interrupt_tokens.unknown_token_fault()
        return token, stored, rows[0]

    def question(self, token: InterruptToken, stored: StoredRun, row: Row) -> dict[str, Any]:
        """The document of an open interrupt for the bearer of a link."""
        names = {token.voter, mask_credentials_in_text(token.voter), *token.names}
        voted = next((vote["action"] for vote in row.get("votes", ()) if vote["voter"] in names), None)
        return {
            **{name: row[name] for name in _INSPECT_MEMBERS if name in row},
            **({"for": token.person} if token.person is not None else {}),
            **({"voted": voted} if voted is not None else {}),
            "workflowId": stored.header.workflow_id,
            "runId": token.run_id,
            "nodeId": token.node_id,
            "interruptId": token.interrupt_id,
            "intent": token.intent,
            "expiresAt": iso(token.expires_at),
        }

    async def resolve_by_token(
        self, text: str, document: Any, key: str | None = None, trust: Trust = TRUSTED
    ) -> ControlOutcome:
        """tok-04, int-06: like `resolve`, for the bearer of a link. The token is checked before the body. `trust` is
        that of the content from which the bearer chose."""
        token, bearer, by = self.open_link(text)
        by = msgspec.structs.replace(by, trust=trust)
        operation = f"resolveInterruptByToken/{token.run_id}/{token.jti}"
        answer = partial(self.answer, bearer.run(token.run_id), token.node_id, token.interrupt_id, document, by)
        try:
            return await idempotent(self._runtime, bearer, operation, key, document, ControlOutcome, answer)
        except ClientFault as fault:
            raise interrupt_tokens.as_token_fault(fault) from None

    def open_link(self, text: str) -> tuple[InterruptToken, Principal, Answerer]:
        """tok-04: a link that may answer, its bearer, and the bearer as the sender of an answer. Raises ClientFault."""
        token = self.check_token(text, "resolve")
        bearer = _bearer(token)
        # appr-03: one link has one vote, even if its answers give several names.
        names = frozenset(token.names)
        return token, bearer, Answerer(bearer.key_id, names, token.voter, has_key=False, partition=bearer.partition)

    async def answer(
        self, run: RunKey, node_id: str, interrupt_id: str, document: Any, by: Answerer, claim: IdempotencyClaim
    ) -> ControlOutcome | SlotTaken:
        """Answer an interrupt of a node: the one with that id, or the open one if the id is empty."""

        def refuse_late(stored: StoredRun) -> str:
            refuse_change(stored.header)
            rows = [row for row in interrupt_rows(stored) if row["nodeId"] == node_id]
            asked = [row for row in rows if interrupt_id in ("", row["interruptId"])]
            raise answer_refusal(final_status(asked), stored.projection.status)

        schema.require("resolve-interrupt", document)
        received = AnswerReceived(node_id, document["resumeValue"], by, claim.now, interrupt_id)
        outcome = ControlOutcome(run.run_id, "", claim.now, node_id)
        outcome_or_taken = await apply_control(self._executor, run, claim, received, outcome, refuse_late)
        fault_point("answer.durable")
        return outcome_or_taken

    def _document(self, principal: Principal, run_id: str, workflow_id: str, row: Row) -> Row:
        document = {**row, "runId": run_id, "workflowId": workflow_id, "createdAt": row["requestedAt"]}
        if row["status"] != "open":
            return document
        minted = self._mint_token(principal, run_id, row)
        return {**document, "token": minted[0], **_callback_members(minted)}

    def _mint_token(self, principal: Principal, run_id: str, row: Row) -> tuple[str, str, Intent]:
        """tok-05 (readings, Interrupt tokens): a token with no more rights than the key of the reader has."""
        intent: Intent = "resolve" if RESPOND in principal.scopes and not _needs_key(row) else "inspect"
        text = self._links.for_reader(principal, run_id, row, intent)
        return text, self._links.url(text), intent


def encode_cursor(place: str) -> str:
    """The cursor of a store in a form that is safe in a query string."""
    return urlsafe_b64encode(place.encode()).rstrip(b"=").decode()


def decode_cursor(text: str) -> str:
    """The inverse of `encode_cursor`; the empty string, which is no cursor of any store, for other texts."""
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except ValueError:
        return ""


def _callback_members(minted: tuple[str, str, Intent]) -> dict[str, str]:
    return {"interruptToken": minted[0], "callbackUrl": minted[1], "tokenIntent": minted[2]}


def interrupt_rows(stored: StoredRun) -> list[Row]:
    """All interrupts of a run, in the order of their requests."""
    rows = [msgspec.json.decode(row.value) for row in stored.rows if row.kind == "interrupt"]
    return sorted(rows, key=lambda row: (row["requestedAt"], int(row["interruptId"].rpartition(".")[2])))


def _needs_key(row: Row) -> bool:
    """appr-06 (interrupt-profiles, auth-required): whether an answer needs an API key and not only a link."""
    return row["kind"] == "approval" and row["data"].get("profile") == AUTH_REQUIRED


def _check_approver(row: Row, person: str | None) -> None:
    """appr-03: an approval with a list of approvers gets links for these only, because no other link could answer."""
    approvers: Any = row["data"].get("approversList") if row["kind"] == "approval" else None
    if is_array(approvers) and approvers and person not in approvers:
        text = "This approval has a list of approvers. Name one of them in `for`, or create a link with intent inspect."
        raise invalid(text, "/for", supported=approvers)


def final_status(rows: list[Row]) -> str | None:
    """The status of the newest of these interrupts; only the newest can have been open when the run ended."""
    if not rows:
        return None
    return "cancelled" if any(row["status"] == "cancelled" for row in rows) else rows[-1]["status"]


def _attributed_names(creator: Principal, intent: Intent, person: str | None) -> tuple[str, ...]:
    """appr-03: the names of the key to which answers by a link are attributed, except `person`: its creator, if that
    key may not answer as another person. Otherwise one key could vote several times, by one link for each vote."""
    if intent != "resolve" or DELEGATE in creator.scopes:
        return ()
    label = creator.label if interrupt_tokens.is_person_name(creator.label) else ""
    return tuple(name for name in (creator.key_id, label) if name and name != person)


def _bearer(token: InterruptToken) -> Principal:
    """The principal for the bearer of a link: in the tenant of the key that created it, without scopes."""
    mode, _, tenant = token.tenant.partition(":")
    return Principal.of(token.principal, tenant, "test" if mode == "test" else "live", frozenset())
