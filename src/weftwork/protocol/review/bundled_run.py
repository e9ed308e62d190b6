"""The `run` member of a debug bundle: a snapshot within a limit, masked part by part.

Theory of operation. Each member of the snapshot is masked and measured, and the largest members are omitted until the
run is within the limit. A member whose encoding is within the limit is one part. A larger member is omitted, unless
masking makes it small enough, which happens when most of it is media. It is therefore split into parts, and left as
soon as its masked parts exceed the limit. The caller decides when and where each part is masked, so that a run with
many megabytes never holds the event loop.

Members that say together that an object is media stay in one part. Sources: OpenWOP debug-bundle, readings (Debug
bundle).
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from weftwork.protocol.json.pieces import Placeholder, Spliced
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.review.bundle_masks import mask_document
from weftwork.protocol.review.bundle_media import MEDIA_MEMBERS, AssetLink

MAX_RUN_BYTES: Final = 2_000_000
"""Bytes of the `run` member. Its largest members are omitted until it is within the limit."""
BATCH_BYTES: Final = 65_536
"""Small members of a split object or array are masked together in parts of about this size."""
SPLIT_DEPTH: Final = 4
"""How deep a member is split; what is below is one part."""

BUNDLE_STATUS: Final[dict[str, str]] = {
    "paused": "running",
    "cancelling": "running",
    "waiting-input": "waiting-clarification",
    "waiting-external": "waiting-clarification",
}
"""bundle-03 (readings, Debug bundle): replacements for statuses that the bundle schema does not have."""

_REQUIRED_MEMBERS: Final[frozenset[str]] = frozenset({"runId", "workflowId", "status", "hostStatus", "definition"})
_encode = msgspec.json.encode


def bundle_run(snapshot: dict[str, Any]) -> dict[str, Any]:
    """bundle-03 (OpenWOP debug-bundle): the snapshot with a `status` that the bundle schema allows, the host's status
    in `hostStatus`, and the time of completion in `endedAt`."""
    status: str = snapshot["status"]
    ended_at = snapshot.get("completedAt")
    members = {"status": BUNDLE_STATUS.get(status, status), "hostStatus": status, "endedAt": ended_at}
    return {**snapshot, **members, "error": snapshot.get("error")}


class RunPart(msgspec.Struct, frozen=True):
    """A part of the run. `document` is encoded JSON without masks."""

    document: bytes
    is_literal: bool = False
    """The document is punctuation, which is written as it is."""
    is_inner: bool = False
    """Only the members or items of the document are written, without its brackets."""


class BundledRun:
    """bundle-02, bundle-04 (OpenWOP debug-bundle): a run within `max_bytes`. Pass each part of `parts()` to `add`
    before the next one is taken; then take `document()`."""

    def __init__(self, snapshot: dict[str, Any], max_bytes: int = MAX_RUN_BYTES) -> None:
        self._run = bundle_run(snapshot)
        self._max_bytes = max_bytes
        self._written: list[bytes] = []
        self._written_bytes = 0
        self._members: dict[str, bytes] = {}
        self._sizes: dict[str, int] = {}

    def parts(self) -> Iterator[RunPart]:
        """The parts that must be masked. A member is left when it is known to exceed the limit."""
        for name, value in self._run.items():
            self._written, self._written_bytes = [], 0
            encoded, is_left = _as_encoded(value), False
            for part in _parts(encoded, self._max_bytes, SPLIT_DEPTH):
                is_left = self._written_bytes > self._max_bytes
                if is_left:
                    break
                yield part
            # The members that were left sort by the size that they have without masks.
            self._sizes[name] = _size(encoded) if is_left else self._written_bytes
            is_needed = self._written_bytes <= self._max_bytes or name in _REQUIRED_MEMBERS
            self._members[name] = b"".join(self._written) if is_needed else b""
        self._written, self._run = [], {}

    def add(self, part: RunPart, link: AssetLink | None) -> None:
        """Mask a part and write it."""
        document = part.document if part.is_literal else mask_document(part.document, link)
        if part.is_inner:
            document = document[1:-1]
        self._written.append(document)
        self._written_bytes += len(document)

    def document(self) -> tuple[bytes, bool]:
        """The encoded run, and whether members were omitted. It lists them in `omitted`, largest first."""
        members, sizes = self._members, self._sizes
        omitted: list[str] = []
        size = sum(sizes[name] + len(name) + 4 for name in members)
        for name in sorted(sizes, key=lambda name: sizes[name], reverse=True):
            if size <= self._max_bytes:
                break
            if name not in _REQUIRED_MEMBERS:
                del members[name]
                size -= sizes[name] + len(name) + 4
                omitted.append(name)
        if omitted:
            members["omitted"] = _encode(omitted)
        return _encode({name: msgspec.Raw(value) for name, value in members.items()}), bool(omitted)


def _parts(value: Any, max_bytes: int, depth: int) -> Iterator[RunPart]:
    """The parts of a value: one if its encoding is within `max_bytes`."""
    if _size(value) <= max_bytes or not depth or (members := _split(value)) is None:
        yield RunPart(_encoded(value))
        return
    yield RunPart(b"{" if is_object(members) else b"[", is_literal=True)
    is_first = True
    for batch in _batches(members, max_bytes):
        if not is_first:
            yield RunPart(b",", is_literal=True)
        is_first = False
        if not isinstance(batch, tuple):
            yield RunPart(_encode(batch), is_inner=True)
            continue
        name, large = batch
        if name is not None:
            yield RunPart(_encode(name))
            yield RunPart(b":", is_literal=True)
        yield from _parts(large, max_bytes, depth - 1)
    yield RunPart(b"}" if is_object(members) else b"]", is_literal=True)


Batch = dict[str, Any] | list[Any] | tuple[str | None, Any]


def _batches(members: dict[str, Any] | list[Any], max_bytes: int) -> Iterator[Batch]:
    """The members of an object or the items of an array, in batches, or with their name if they exceed `max_bytes`."""
    if is_object(members):
        media = {name: each for name, each in members.items() if name in MEDIA_MEMBERS}
        if media:
            yield {name: msgspec.Raw(_encoded(each)) for name, each in media.items()}
        pairs: Iterator[tuple[str | None, Any]] = ((name, members[name]) for name in members if name not in media)
    else:
        pairs = ((None, each) for each in members)
    batch: list[tuple[str | None, Any]] = []
    size = 0
    for name, each in pairs:
        length = _size(each)
        if batch and (length > max_bytes or size + length > BATCH_BYTES):
            yield _joined(batch)
            batch, size = [], 0
        if length > max_bytes:
            yield name, each
        else:
            batch.append((name, msgspec.Raw(_encoded(each))))
            size += length
    if batch:
        yield _joined(batch)


def _joined(batch: list[tuple[str | None, Any]]) -> dict[str, Any] | list[Any]:
    named = {name: each for name, each in batch if name is not None}
    return named or [each for _, each in batch]


def _is_encoded(value: Any) -> bool:
    return isinstance(value, msgspec.Raw | Spliced)


def _as_encoded(value: Any) -> Any:
    """The value, if it or each of its members is encoded already; otherwise its encoding."""
    if _is_encoded(value):
        return value
    members = value.values() if is_object(value) else value if is_array(value) else ()
    if members and all(map(_is_encoded, members)):
        return value
    return msgspec.Raw(_encode(value))


def _split(value: Any) -> dict[str, Any] | list[Any] | None:
    """The members or items of a value, each encoded; None for a text or a number."""
    if not _is_encoded(value):
        return value
    # Not copied, because it may have many megabytes.
    document = memoryview(value if isinstance(value, msgspec.Raw) else _encoded(value))
    kind = _KINDS.get(bytes(document[:1]))
    return None if kind is None else msgspec.json.decode(document, type=kind)


_KINDS: Final[dict[bytes, Any]] = {b"{": dict[str, msgspec.Raw], b"[": list[msgspec.Raw]}


def _size(value: Any) -> int:
    """The length of the encoded value; about that for an object or an array of encoded values."""
    if isinstance(value, msgspec.Raw):
        return len(memoryview(value))
    if isinstance(value, Spliced):
        return sum(len(each) for each in value.parts if not isinstance(each, Placeholder))
    if is_object(value):
        return 1 + sum(len(name) + 4 + _size(each) for name, each in value.items())
    return 1 + sum(1 + _size(each) for each in value)


def _encoded(value: Any) -> bytes:
    """The encoding of a value. The tokens of interrupts are not in a bundle."""
    if isinstance(value, msgspec.Raw):
        return bytes(value)
    if isinstance(value, Spliced):
        return b"".join(each for each in value.parts if not isinstance(each, Placeholder))
    if is_object(value):
        return _encode({name: msgspec.Raw(_encoded(each)) for name, each in value.items()})
    return _encode([msgspec.Raw(_encoded(each)) for each in value])
