"""The difference between two surfaces as a JSON Patch (RFC 6902), for readers that ask for deltas (RFC 0114).

A patch is a transport only: what is recorded is always the whole surface, and a patch is applied here before it is
sent. Its paths start at the payload of the envelope, such as `/surface/components/1/text`.
"""

from typing import Any, Final

import jsonpatch  # pyright: ignore[reportMissingTypeStubs]

from weftwork.protocol.json.canonical import encode_stored

OPERATIONS: Final = frozenset({"add", "remove", "replace", "move", "copy"})
"""The operations of a delta. `test` is not one of them (RFC 0114)."""
_ERRORS: Final = (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException)


def make_patch(base: Any, target: Any) -> list[dict[str, Any]] | None:
    """surf-52 (RFC 0114): the operations that turn one payload into the other; None if a patch is of no use.

    It is of no use if the payloads are equal, if they are of different catalogue versions, or if it would not be
    smaller than the payload.
    """
    if base.get("catalogVersion") != target.get("catalogVersion"):
        return None
    patch: list[dict[str, Any]] = jsonpatch.make_patch(base, target).patch
    if not patch or any(each["op"] not in OPERATIONS for each in patch):
        return None
    whole = encode_stored(target)
    # The encodings are compared because values that differ in JSON, such as 1 and true, can be equal in Python.
    if len(encode_stored(patch)) >= len(whole) or encode_stored(apply_patch(base, patch)) != whole:
        return None
    return patch


def apply_patch(base: Any, patch: list[dict[str, Any]]) -> Any:
    """The payload after these operations; `base` is unchanged. None if the patch does not apply."""
    try:
        return jsonpatch.apply_patch(base, patch)
    except _ERRORS:
        return None
