"""The debug bundle: one run with its events and spans as one document that can be passed on. Pure, written in pieces.

Theory of operation. The document is written in the order in which its parts are known: the fixed members, the run, the
events, and then what was counted on the way. An event is added if the whole document, ended right after it, would still
fit; so the document never exceeds its limit, and nothing that was written has to be taken back.

What the log hides stays hidden, because the log is what is read. What looks like a credential is masked on top of that.

Bytes make a bundle unreadable and may be what nobody wanted to pass on. Media in an event become the URL that the host
would have given them, which opens as long as the run exists; any other run of base64 is cut down to its beginning. The
encoded documents are scanned for media and credentials first, because most contain neither.

Sources: OpenWOP debug-bundle, RFC 0055 C (bundles list media by URL), readings (Debug bundle).
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from weftwork.protocol.json.values import is_object, map_texts
from weftwork.protocol.media.asset_references import rewrite_around_tokens
from weftwork.protocol.media.inline_media import decode_base64, elide_base64
from weftwork.protocol.media.media_types import SNIFF_BYTES, resolve_media_type, sniff_media_type
from weftwork.protocol.review.credential_patterns import mask_credentials, mask_credentials_in_text, may_hold_credential
from weftwork.protocol.review.spans import SPAN_EVENT_TYPES, RunSpans, span_fact, token_count
from weftwork.protocol.run.events import ENVELOPE_RECORDED, Event
from weftwork.protocol.run.projection import StoredRun
from weftwork.protocol.timestamps import iso

AssetLink = Callable[[bytes, str, str], str]
"""The URL of an asset by the digest of its bytes, its media type and its name."""

BUNDLE_VERSION: Final = "1.0"
MAX_BYTES: Final = 8_000_000
"""Of the body of an answer."""
MAX_RUN_BYTES: Final = 2_000_000
"""What the run itself may take; its largest members are left out until it fits."""
MAX_SPANS: Final = 1000
EVENTS_TRUNCATED: Final = "events_truncated_to_size_cap"
RUN_TRUNCATED: Final = "run_truncated_to_size_cap"
DEBUG_BUNDLE_CAPABILITY: Final[dict[str, Any]] = {"supported": True}

BUNDLE_STATUS: Final[dict[str, str]] = {
    "paused": "running",
    "cancelling": "running",
    "waiting-input": "waiting-clarification",
    "waiting-external": "waiting-clarification",
}
"""bundle-03 (readings, Debug bundle): the statuses that bundles have no word for; all others are said as they are."""

MAX_BASE64_RUN: Final = 1024
"""Characters of base64 that may stand in a bundle."""
MIN_BASE64_LINE: Final = 40
"""A line of base64 that is broken into lines is at least so long."""

_USAGE: Final = "provider.usage"
_REQUIRED_MEMBERS: Final[frozenset[str]] = frozenset({"runId", "workflowId", "status", "hostStatus"})

_FAMILY: Final = "media."
_MEMBER: Final = b'"base64"'
_BASE64_MAP: Final = bytes(
    65 if chr(each).isascii() and (chr(each).isalnum() or chr(each) in "+/_-") else 32 for each in range(256)
)
_BASE64_RUN: Final = b"A" * MIN_BASE64_LINE
_WORD: Final = "[A-Za-z0-9+/_-]"
_LINES: Final = re.compile(rf"(?<!{_WORD}){_WORD}{{{MIN_BASE64_LINE},}}(?:\r?\n{_WORD}{{{MIN_BASE64_LINE},}})+")
_HEX: Final = re.compile(r"[0-9a-f\s]+")


def host_identity(version: str) -> dict[str, str]:
    """Which product wrote the bundle; nothing of the machine it runs on."""
    return {"name": "weftwork", "version": version, "vendor": "weftwork"}


def bundle_run(snapshot: dict[str, Any]) -> dict[str, Any]:
    """bundle-03 (OpenWOP debug-bundle): the snapshot with a status out of the bundle's list, the host's own beside it,
    and its end under the name that bundles give it."""
    status: str = snapshot["status"]
    ended = snapshot.get("completedAt")
    members = {"status": BUNDLE_STATUS.get(status, status), "hostStatus": status, "endedAt": ended}
    return {**snapshot, **members, "error": snapshot.get("error")}


class DebugBundle:
    """bundle-01 (OpenWOP debug-bundle): a run as it stood when it was read, with its log up to then.

    Write `head`, then `write_events` for the pages of the log until `is_full` or the end, then `tail()`.
    `last_sequence` is the last event of the run as it was read.
    """

    def __init__(
        self,
        run: StoredRun,
        snapshot: dict[str, Any],
        version: str,
        now: int,
        most_events: int | None = None,
        cap: int = MAX_BYTES,
        link: AssetLink | None = None,
    ) -> None:
        self.last_sequence = run.projection.last_sequence
        self._max_events = self.last_sequence + 1 if most_events is None else min(most_events, self.last_sequence + 1)
        self._cap = cap
        self._link = link
        self._nodes = sum(row.kind == "node" for row in run.rows)
        self._spans = RunSpans(run.header, MAX_SPANS)
        self._encoded_spans = {
            self._spans.spans[0]["spanId"]: _mask_document(msgspec.json.encode(self._spans.spans[0]))
        }
        self._spans_size = sum(map(len, self._encoded_spans.values()))
        self._tokens: tuple[int, int] | None = None
        self._event_count = 0
        self._truncated_reason: str | None = None
        shown, left_out = _fit_run(bundle_run(snapshot), min(MAX_RUN_BYTES, cap // 4))
        if left_out:
            self._truncated_reason = RUN_TRUNCATED
        head = {"bundleVersion": BUNDLE_VERSION, "generatedAt": iso(now), "host": host_identity(version)}
        # bundle-02: whatever the log hides is masked, and so is what looks like a credential.
        head |= {"redactionApplied": True, "redactionMode": "mask", "run": msgspec.Raw(shown)}
        self.head = msgspec.json.encode(head)[:-1] + b',"events":['
        self._size = len(self.head)

    @property
    def is_full(self) -> bool:
        return self._truncated_reason == EVENTS_TRUNCATED or self._event_count > self.last_sequence

    def write_events(self, events: list[Event]) -> bytes:
        """The next events of the log, as far as they fit."""
        documents = [event.document for event in events]
        # Asked of all of them at once: mostly none holds anything.
        media = any(len(each) > MAX_BASE64_RUN for each in documents)
        if media or _MEMBER in (together := b"".join(documents)) or may_hold_credential(together):
            documents = [_mask_document(document, self._link, event=True) for document in documents]
        taken: list[bytes] = []
        for event, document in zip(events, documents, strict=True):
            if event.sequence > self.last_sequence or not self._add(event, document):
                break
            taken.append(document)
        before = b"," if self._event_count > len(taken) and taken else b""
        return before + b",".join(taken)

    def _add(self, event: Event, document: bytes) -> bool:
        """bundle-04 (OpenWOP debug-bundle): an event fits, or the bundle ends before it and says so."""
        if self._event_count >= self._max_events:
            self._truncated_reason = EVENTS_TRUNCATED
            return False
        before = self._tokens, self._spans_size
        changed = self._project(event) if event.type in SPAN_EVENT_TYPES else None
        size = self._size + len(document) + (1 if self._event_count else 0)
        self._event_count += 1
        cut = self._truncated_reason if event.sequence == self.last_sequence else EVENTS_TRUNCATED
        if size + self._spans_size + max(len(self._encoded_spans) - 1, 0) + len(self._footer(cut)) > self._cap:
            self._event_count -= 1
            self._tokens, self._spans_size = before
            if changed is not None:
                self._restore_span(*changed)
            self._truncated_reason = EVENTS_TRUNCATED
            return False
        self._size = size
        return True

    def tail(self) -> bytes:
        """Everything behind the events. Call it when the bundle is full, or the log is at its end."""
        return (
            b'],"spans":['
            + b",".join(self._encoded_spans.values())
            + self._footer(self._truncated_reason)[len(b'],"spans":[') :]
        )

    def _project(self, event: Event) -> tuple[str, bytes | None] | None:
        """Keep the span that the event adds or changes, and say which one, and what it was."""
        fact = span_fact(event)
        if event.type == _USAGE:
            given, made = self._tokens or (0, 0)
            used = [token_count(fact.payload.get(member)) for member in ("inputTokens", "outputTokens")]
            self._tokens = given + used[0], made + used[1]
        span = self._spans.add(fact)
        if span is None:
            return None
        name: str = span["spanId"]
        old, new = self._encoded_spans.get(name), _mask_document(msgspec.json.encode(span))
        self._encoded_spans[name] = new
        self._spans_size += len(new) - len(old or b"")
        return name, old

    def _restore_span(self, name: str, old: bytes | None) -> None:
        if old is None:
            del self._encoded_spans[name]
        else:
            self._encoded_spans[name] = old

    def _footer(self, cut: str | None) -> bytes:
        """The end of a bundle without spans."""
        cost = None
        if self._tokens is not None:
            cost = {"tokens": {"input": self._tokens[0], "output": self._tokens[1]}}
        metrics = {"openwopCost": cost, "nodeCount": self._nodes, "eventCount": self._event_count}
        end: dict[str, Any] = {"metrics": metrics, "truncated": cut is not None}
        if cut is not None:
            end["truncatedReason"] = cut
        if self._spans.is_truncated:
            end["spansTruncated"] = True
        return b'],"spans":[],' + msgspec.json.encode(end)[1:]


def unattached_bundle(
    run_id: str, events: list[Any], spans: list[dict[str, Any]], version: str, now: str, link: AssetLink | None = None
) -> dict[str, Any]:
    """A bundle of events that belong to no run of the host."""
    return {
        "bundleVersion": BUNDLE_VERSION,
        "generatedAt": now,
        "host": host_identity(version),
        "redactionApplied": True,
        "redactionMode": "mask",
        "run": {"runId": run_id, "workflowId": "none", "status": "pending"},
        "events": [_mask_value(reference_media(event, link)) for event in events],
        "spans": [_mask_value(span) for span in spans],
        "metrics": {"openwopCost": None, "nodeCount": 0, "eventCount": len(events)},
        "truncated": False,
    }


def _fit_run(run: dict[str, Any], most: int) -> tuple[bytes, list[str]]:
    """The run within so many bytes, and the members that are left out for that, the largest first."""
    members = {name: _mask_document(msgspec.json.encode(value)) for name, value in run.items()}
    left_out: list[str] = []
    size = sum(len(value) + len(name) + 4 for name, value in members.items())
    for name in sorted(members, key=lambda name: len(members[name]), reverse=True):
        if size <= most:
            break
        if name not in _REQUIRED_MEMBERS:
            size -= len(members.pop(name)) + len(name) + 4
            left_out.append(name)
    if left_out:
        members["omitted"] = msgspec.json.encode(left_out)
    return msgspec.json.encode({name: msgspec.Raw(value) for name, value in members.items()}), left_out


def _mask_document(document: bytes, link: AssetLink | None = None, event: bool = False) -> bytes:
    """Encoded JSON as it may be in a bundle."""
    if may_hold_base64(document):
        value = msgspec.json.decode(document)
        return msgspec.json.encode(_mask_value(reference_media(value, link) if event else value))
    if may_hold_credential(document):
        return msgspec.json.encode(mask_credentials(msgspec.json.decode(document)))
    return document


def _mask_value(value: Any) -> Any:
    """bundle-02, bundle-08: the value without what looks like a credential, and without bytes as text."""
    # Masked first: what is cut in the middle does not look like a credential any more.
    return map_texts(value, lambda text: elide_long_base64(mask_credentials_in_text(text)))


def may_hold_base64(document: bytes) -> bool:
    """Whether media or a long run of base64 could be in an encoded document; False is certain."""
    return _MEMBER in document or (len(document) > MAX_BASE64_RUN and _BASE64_RUN in document.translate(_BASE64_MAP))


def reference_media(event: Any, link: AssetLink | None) -> Any:
    """bundle-08 (RFC 0055 C): an event of media with a URL instead of their bytes; others as they are. Without `link`
    nothing is said but that they were left out."""
    kind, payload = (event.get("type"), event.get("payload")) if is_object(event) else (None, None)
    if not is_object(payload):
        return event
    if isinstance(kind, str) and kind.startswith(_FAMILY):
        return {**event, "payload": _payload_with_url(payload, link)}
    if kind == ENVELOPE_RECORDED and str(payload.get("type")).startswith(_FAMILY) and is_object(payload.get("payload")):
        return {**event, "payload": {**payload, "payload": _payload_with_url(payload["payload"], link)}}
    return event


def elide_long_base64(text: str) -> str:
    """bundle-08: a text in which no run of base64 is longer than it may be, in one line or in many."""
    return text if len(text) <= MAX_BASE64_RUN else rewrite_around_tokens(text, _elide_runs)


def _elide_runs(text: str) -> str:
    return elide_base64(_LINES.sub(_elide_lines, text) if "\n" in text else text, MAX_BASE64_RUN)


def _elide_lines(found: re.Match[str]) -> str:
    # Digests below each other are no media.
    text = found[0]
    if len(text) <= MAX_BASE64_RUN or _HEX.fullmatch(text):
        return text
    return elide_base64(re.sub(r"\s+", "", text), MAX_BASE64_RUN)


def _payload_with_url(payload: dict[str, Any], link: AssetLink | None) -> dict[str, Any]:
    if "base64" not in payload:
        return payload
    kept = {name: value for name, value in payload.items() if name != "base64"}
    if isinstance(kept.get("url"), str):
        return kept
    text = payload["base64"]
    data = decode_base64(text) if isinstance(text, str) else None
    if link is None or data is None:
        return {**kept, "elided": "The bytes are not in the bundle."}
    declared, name = (kept.get(each) if isinstance(kept.get(each), str) else "" for each in ("mimeType", "name"))
    media_type = resolve_media_type(declared or "", sniff_media_type(data[:SNIFF_BYTES]))
    # In a token a credential could be found by nobody.
    return {"url": link(hashlib.sha256(data).digest(), media_type, mask_credentials_in_text(name or "")), **kept}
