"""The debug bundle: one run with its events, spans and annotations as one shareable document. Pure, written in pieces.

Theory of operation. The document is written in the order in which its parts become known: the fixed members, the run,
its annotations, the events, and then the spans and counts collected from the events. An event is added only if the
document would still be within its limit when it ended right after this event. The document therefore never exceeds its
limit, and no written part has to be revised.

The bundle is built from the log, so values that the log hides stay hidden. Text that looks like a credential is masked
in addition.

Inline bytes make a bundle unreadable and may be private, so `bundle_media` replaces media by URLs. The encoded
documents are scanned for media and credentials first, because most contain neither.

Sources: OpenWOP debug-bundle, readings (Debug bundle).
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from weftwork.protocol.privacy.credential_patterns import may_hold_credential
from weftwork.protocol.review.bundle_masks import mask_document, mask_value
from weftwork.protocol.review.bundle_media import AssetLink, StreamedMedia, may_hold_media
from weftwork.protocol.review.bundled_run import MAX_RUN_BYTES, BundledRun
from weftwork.protocol.review.spans import SPAN_EVENT_TYPES, RunSpans, span_fact, token_count
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.model_payloads import OutputChunk
from weftwork.protocol.run.projection import StoredRun
from weftwork.protocol.timestamps import iso

BUNDLE_VERSION: Final = "1.0"
MAX_BYTES: Final = 8_000_000
"""Bytes of a bundle."""
MAX_ANNOTATION_BYTES: Final = 1_000_000
"""Bytes of the `annotations` member. The newest annotations are omitted until it is within the limit."""
MAX_SPANS: Final = 1000
EVENTS_TRUNCATED: Final = "events_truncated_to_size_cap"
RUN_TRUNCATED: Final = "run_truncated_to_size_cap"
DEBUG_BUNDLE_CAPABILITY: Final[dict[str, Any]] = {"supported": True}

_USAGE: Final = "provider.usage"


def host_identity(version: str) -> dict[str, str]:
    """The product that wrote the bundle. Contains nothing about the machine."""
    return {"name": "weftwork", "version": version, "vendor": "weftwork"}


def run_limit(cap: int) -> int:
    """bundle-04: bytes of the `run` member of a bundle with at most `cap` bytes."""
    return min(MAX_RUN_BYTES, cap // 4)


class DebugBundle:
    """bundle-01 (OpenWOP debug-bundle): a run at the time it was read, with its log up to that time.

    Write `head`, then the result of `write_events` for each page of the log until `is_full` or the end of the log, then
    `tail()`. `last_sequence` is the sequence of the last event of the run when it was read. `annotations` are the
    encoded annotations of the run, oldest first; `more_annotations` says that the run has others. `bundled` is the
    run with all its parts, within `run_limit(cap)`.
    """

    def __init__(
        self,
        run: StoredRun,
        bundled: BundledRun,
        version: str,
        now: int,
        most_events: int | None = None,
        cap: int = MAX_BYTES,
        link: AssetLink | None = None,
        annotations: Sequence[bytes] = (),
        more_annotations: bool = False,
    ) -> None:
        self.last_sequence = run.projection.last_sequence
        self._max_events = self.last_sequence + 1 if most_events is None else min(most_events, self.last_sequence + 1)
        self._cap = cap
        self._link = link
        self._streamed = StreamedMedia()
        self._nodes = sum(row.kind == "node" for row in run.rows)
        self._spans = RunSpans(run.header, MAX_SPANS)
        self._encoded_spans = {
            self._spans.spans[0]["spanId"]: mask_document(msgspec.json.encode(self._spans.spans[0]), link)
        }
        self._spans_size = sum(map(len, self._encoded_spans.values()))
        self._tokens: tuple[int, int] | None = None
        self._event_count = 0
        self._truncated_reason: str | None = None
        run_document, is_cut = bundled.document()
        if is_cut:
            self._truncated_reason = RUN_TRUNCATED
        head = {"bundleVersion": BUNDLE_VERSION, "generatedAt": iso(now), "host": host_identity(version)}
        # bundle-02: values that the log hides are masked, and so is text that looks like a credential.
        head |= {"redactionApplied": True, "redactionMode": "mask", "run": msgspec.Raw(run_document)}
        listed, left_out = _fit_annotations(annotations, min(MAX_ANNOTATION_BYTES, cap // 8), link)
        self._annotations_truncated = left_out or more_annotations
        head["annotations"] = msgspec.Raw(listed)
        self.head = msgspec.json.encode(head)[:-1] + b',"events":['
        self._size = len(self.head)

    @property
    def is_full(self) -> bool:
        return self._truncated_reason == EVENTS_TRUNCATED or self._event_count > self.last_sequence

    def write_events(self, events: list[Event]) -> bytes:
        """The next events of the log, up to the first one that exceeds a limit."""
        documents = [event.document for event in events]
        for at, event in enumerate(events):
            if event.type == OutputChunk.event_type:
                documents[at] = self._streamed.elide(documents[at])
        # One scan of all documents together, because most pages contain neither media nor credentials.
        together = b"\n".join(documents)
        if may_hold_media(together) or may_hold_credential(together):
            documents = [mask_document(document, self._link) for document in documents]
        written: list[bytes] = []
        for event, document in zip(events, documents, strict=True):
            if event.sequence > self.last_sequence or not self._add(event, document):
                break
            written.append(document)
        separator = b"," if self._event_count > len(written) and written else b""
        return separator + b",".join(written)

    def _add(self, event: Event, document: bytes) -> bool:
        """bundle-04 (OpenWOP debug-bundle): add an event if it fits. Otherwise mark the bundle as truncated and return
        False."""
        if self._event_count >= self._max_events:
            self._truncated_reason = EVENTS_TRUNCATED
            return False
        before = self._tokens, self._spans_size
        changed = self._project(event) if event.type in SPAN_EVENT_TYPES else None
        size = self._size + len(document) + (1 if self._event_count else 0)
        self._event_count += 1
        # If the bundle ended here, it would be truncated, except at the last event.
        reason = self._truncated_reason if event.sequence == self.last_sequence else EVENTS_TRUNCATED
        if size + self._spans_size + max(len(self._encoded_spans) - 1, 0) + len(self._footer(reason)) > self._cap:
            self._event_count -= 1
            self._tokens, self._spans_size = before
            if changed is not None:
                self._restore_span(*changed)
            self._truncated_reason = EVENTS_TRUNCATED
            return False
        self._size = size
        return True

    def tail(self) -> bytes:
        """The end of the document, behind the events. Call it when the bundle is full or the log has ended."""
        return (
            b'],"spans":['
            + b",".join(self._encoded_spans.values())
            + self._footer(self._truncated_reason)[len(b'],"spans":[') :]
        )

    def _project(self, event: Event) -> tuple[str, bytes | None] | None:
        """Apply an event to the spans. Returns the id of the new or changed span and its previous encoding, so that the
        change can be undone; None if no span changed."""
        fact = span_fact(event)
        if event.type == _USAGE:
            input_tokens, output_tokens = self._tokens or (0, 0)
            used = [token_count(fact.payload.get(member)) for member in ("inputTokens", "outputTokens")]
            self._tokens = input_tokens + used[0], output_tokens + used[1]
        span = self._spans.add(fact)
        if span is None:
            return None
        name: str = span["spanId"]
        old, new = self._encoded_spans.get(name), mask_document(msgspec.json.encode(span), self._link)
        self._encoded_spans[name] = new
        self._spans_size += len(new) - len(old or b"")
        return name, old

    def _restore_span(self, name: str, old: bytes | None) -> None:
        if old is None:
            del self._encoded_spans[name]
        else:
            self._encoded_spans[name] = old

    def _footer(self, truncated_reason: str | None) -> bytes:
        """The end of the document with an empty list of spans."""
        cost = None
        if self._tokens is not None:
            cost = {"tokens": {"input": self._tokens[0], "output": self._tokens[1]}}
        # bundle-09 (readings, Debug bundle): the events of the run, including those that a truncated bundle omits.
        metrics = {"openwopCost": cost, "nodeCount": self._nodes, "eventCount": self.last_sequence + 1}
        end: dict[str, Any] = {"metrics": metrics, "truncated": truncated_reason is not None}
        if truncated_reason is not None:
            end["truncatedReason"] = truncated_reason
        if self._spans.is_truncated:
            end["spansTruncated"] = True
        if self._annotations_truncated:
            end["annotationsTruncated"] = True
        return b'],"spans":[],' + msgspec.json.encode(end)[1:]


def unattached_bundle(
    run_id: str, events: list[Any], spans: list[dict[str, Any]], version: str, now: str, link: AssetLink | None = None
) -> dict[str, Any]:
    """The bundle for events that do not belong to a run of the host."""
    return {
        "bundleVersion": BUNDLE_VERSION,
        "generatedAt": now,
        "host": host_identity(version),
        "redactionApplied": True,
        "redactionMode": "mask",
        "run": {"runId": run_id, "workflowId": "none", "status": "pending"},
        "annotations": [],
        "events": [mask_value(event, link) for event in events],
        "spans": [mask_value(span, link) for span in spans],
        "metrics": {"openwopCost": None, "nodeCount": 0, "eventCount": len(events)},
        "truncated": False,
    }


def _fit_annotations(annotations: Sequence[bytes], max_bytes: int, link: AssetLink | None) -> tuple[bytes, bool]:
    """bundle-10 (readings, Debug bundle): the array of the annotations, masked like the rest of the bundle, and whether
    some of them were left out to keep it within `max_bytes`."""
    listed: list[bytes] = []
    size = 2
    for document in (mask_document(each, link) for each in annotations):
        size += len(document) + 1
        if size > max_bytes:
            return b"[%b]" % b",".join(listed), True
        listed.append(document)
    return b"[%b]" % b",".join(listed), False
