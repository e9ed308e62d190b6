"""Fork requests: which forks are legal, and the header of the new run.

A replay has no options of its own, because it reaches what was recorded. A branch merges options over those of its
source.

Source: OpenWOP replay (fork).
"""

from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.fold.data_flow import given_untrusted
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json import schema
from weftwork.protocol.json.pointers import escape_token
from weftwork.protocol.privacy.trust import TRUST_OPTION, is_untrusted_boundary
from weftwork.protocol.review.spans import trace_of
from weftwork.protocol.run.batch import ReplayableOutcome
from weftwork.protocol.run.events import UNTRUSTED
from weftwork.protocol.run.header import Fork, ForkMode, RunHeader
from weftwork.protocol.spelling import did_you_mean
from weftwork.protocol.workflow.run_options import RESERVED_OPTIONS, normalise_options

OVERLAY_MEMBERS: Final = ("inputs", "configurable", "tags", "metadata")
"""fork-03: the options that a branch may change."""


HOST_OPTIONS: Final = RESERVED_OPTIONS | {TRUST_OPTION, "ai", "ai.provider", "ai.model", "mockProvider"}
"""Members of `configurable` with a meaning that the host defines."""


class ForkRequest(msgspec.Struct, frozen=True):
    mode: ForkMode
    from_seq: int
    overlay: dict[str, Any] = {}

    @property
    def is_replay(self) -> bool:
        return self.mode == "replay"

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs that replace those of the source."""
        return self.overlay.get("inputs", {})

    @property
    def changes_approved(self) -> bool:
        """fork-10: whether the overlay replaces what an approval may be about: inputs, or options of the author, which
        expressions read. Options that the host defines, such as the model, are not."""
        return bool(self.inputs) or any(name not in HOST_OPTIONS for name in self.overlay.get("configurable", {}))


def parse_fork(document: Any) -> ForkRequest:
    """fork-02 (OpenWOP replay): the request, or a 400. A replay begins at 0 by default and takes no options; a branch
    must say where it begins."""
    schema.require("fork-run", document)
    mode: ForkMode = document["mode"]
    overlay: dict[str, Any] = normalise_options(document.get("runOptionsOverlay", {}))
    if mode == "replay" and overlay:
        message = "A replay reaches what was recorded and takes no options. Leave them out, or use the mode branch."
        raise invalid(message, "/runOptionsOverlay")
    if mode == "branch" and "fromSeq" not in document:
        message = "A branch needs fromSeq, the sequence of the first event that it does not share with the source."
        raise invalid(message, "/fromSeq")
    for name in overlay:
        if name not in OVERLAY_MEMBERS:
            hint = did_you_mean(name, OVERLAY_MEMBERS) or f"; use {', '.join(OVERLAY_MEMBERS)}."
            raise invalid(f"A branch cannot change this option{hint}", "/runOptionsOverlay")
    return ForkRequest(mode, document.get("fromSeq", 0), overlay)


class ForkOutcome(ReplayableOutcome, frozen=True):
    """A fork that was created, and its status at that time."""

    run_id: str
    source_run_id: str
    from_seq: int
    mode: ForkMode
    status: str


class RetryRequest(msgspec.Struct, frozen=True):
    from_node: str | None = None
    repeats_effects: bool = False
    allows_concurrent: bool = False
    """retry-04: whether another retry of the run may be unfinished."""
    overlay: dict[str, Any] = {}

    def branch_from(self, from_seq: int) -> ForkRequest:
        """The branch that is the retry."""
        return parse_fork({"mode": "branch", "fromSeq": from_seq, "runOptionsOverlay": self.overlay})


def parse_retry(document: Any) -> RetryRequest:
    """retry-02 (host): the request, or a 400."""
    schema.require("retry-run", document)
    return RetryRequest(
        document.get("fromNodeId"),
        document.get("repeatEffects", False),
        document.get("allowConcurrent", False),
        document.get("runOptionsOverlay", {}),
    )


def fork_document(fork: ForkOutcome, urls: dict[str, str]) -> dict[str, Any]:
    """fork-02 (OpenWOP replay): the response to a request for a fork, with the paths of the fork."""
    return {
        "runId": fork.run_id,
        "sourceRunId": fork.source_run_id,
        "fromSeq": fork.from_seq,
        "mode": fork.mode,
        "status": fork.status,
        **urls,
    }


def check_fork_point(from_seq: int, last_sequence: int) -> None:
    """fork-02 (OpenWOP replay): 422 for a fork point beyond the last event of the source."""
    if from_seq > last_sequence:
        message = f"The last event of the run has the sequence {last_sequence}; choose a fromSeq up to that."
        details = {"pointer": "/fromSeq", "lastSequence": last_sequence}
        raise ClientFault("validation_error", message, details, status=422)


def check_masks(shown: dict[str, Any], inputs: dict[str, Any], visible: dict[str, Any], request: ForkRequest) -> None:
    """fork-09 (host): raises a 400 if the branch would show an input that is masked in the source. It has a copy of a
    sensitive value that the overlay has replaced, so that nothing tells any more that it is sensitive.

    `shown` are the masked inputs of the source, `inputs` those of the branch, and `visible` these with their masks.
    """
    for name, masked in shown.items():
        if name not in request.inputs and masked != inputs.get(name) and masked != visible.get(name):
            message = (
                "This input has a copy of a sensitive value that the overlay replaces, and would be shown. "
                "Send a new value for it as well."
            )
            raise invalid(message, f"/runOptionsOverlay/inputs/{escape_token(name)}")


def merged_options(source: RunHeader, overlay: dict[str, Any]) -> dict[str, Any]:
    """fork-03 (OpenWOP replay): the options of a branch, without its inputs. Members of objects are merged one by one,
    and tags are replaced."""
    if is_untrusted_boundary(source.configurable):
        # What came from outside cannot become trusted by a fork.
        overlay = {**overlay, "configurable": {**overlay.get("configurable", {}), TRUST_OPTION: UNTRUSTED}}
    return {
        "configurable": {**source.configurable, **overlay.get("configurable", {})},
        "metadata": {**source.metadata, **overlay.get("metadata", {})},
        "tags": tuple(overlay.get("tags", source.tags)),
    }


def fork_header(
    source: RunHeader,
    request: ForkRequest,
    run_id: str,
    now: int,
    last_sequence: int,
    traceparent: str | None = None,
    retry: str | None = None,
    unapplied: tuple[int, ...] = (),
    scope_id: str | None = None,
) -> RunHeader:
    """fork-05 (OpenWOP replay): the header of a fork. It has the owner, the definition and the inputs of its source; it
    belongs to no parent run and not to the scope of its source, and calls no one back."""
    is_replay = request.is_replay
    end = last_sequence + 1 if is_replay else request.from_seq
    # The log of the fork contains the events that the log of its source has from a source of its own.
    inherited = [each for each in source.fork.unapplied if each < end] if source.fork is not None else []
    acts_as = (source.fork.acts_as if source.fork is not None else "") or source.run_id
    return msgspec.structs.replace(
        source,
        run_id=run_id,
        created_at=now,
        traceparent=traceparent,
        parent=None,
        scope_id=scope_id,
        callback_url=None,
        transport="rest",
        fork=Fork(
            source.run_id,
            request.from_seq,
            request.mode,
            until=last_sequence if is_replay else -1,
            acts_as=acts_as if is_replay else "",
            retry=retry,
            past_inputs=_past_inputs(source, request),
            unapplied=(*inherited, *unapplied),
            trace_id=trace_of(source).trace_id,
            untrusted=given_untrusted(source),
        ),
        **merged_options(source, request.overlay),
    )


def _past_inputs(source: RunHeader, request: ForkRequest) -> dict[str, Any] | None:
    """The inputs with which the copied log begins, if the fork has others."""
    has_prefix = request.is_replay or request.from_seq > 0
    is_changed = bool(request.inputs) or source.first_inputs is not source.inputs
    return source.first_inputs if has_prefix and is_changed else None


def check_approvals(state: RunState) -> None:
    """fork-10 (host): raises 409 if inputs or options would be replaced after an approval was requested or granted. The
    approval is about the old ones, and who may fork a run may not answer for its approvers."""
    for interrupt in state.interrupts.values():
        resolution = state.resolutions.get(interrupt.key)
        granted = resolution is not None and resolution.outcome == "accepted"
        if interrupt.kind == "approval" and (interrupt.status == "open" or granted):
            message = (
                f"The node {interrupt.node_id} has asked for an approval before the fork point, and the approval is "
                "about the old inputs and options. Fork before that node has started, so that it asks again."
            )
            raise ClientFault("conflict", message, {"nodeId": interrupt.node_id})
