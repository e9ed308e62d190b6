"""The form in which events and values of two runs are compared: without what differs between any two runs.

These are the ids of the runs, ids that are derived from them, tokens of assets, and times that the host adds. They are
replaced in the encoded JSON, wherever they occur. A few members hold the id of another run, a time or a random delay;
these members are left out.

Source: RFC 0054, readings (Diff).
"""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.media.asset_references import replace_asset_tokens
from weftwork.protocol.run.events import PROVIDER_WAITING, Event
from weftwork.protocol.run.header import RunHeader
from weftwork.protocol.run.payloads import TURN_MEMBERS

CHILD_RUN_ID: Final = "childRunId"
VOLATILE_MEMBERS: Final[frozenset[str]] = frozenset({"runId", "writtenAt", "parentRunId", CHILD_RUN_ID})
"""diff-02 (readings, Diff): payload members that are not compared, because they hold run ids or the time of the
event."""
VOLATILE_BY_TYPE: Final[dict[str, str]] = {"node.retried": "delayMs", PROVIDER_WAITING: "retryAt"}
"""diff-02: a further member of events of one type. The delay before a retry is partly random."""

_RUN_ID: Final = b"{run}"
_ENVELOPE_ID: Final = b"env-"
_DERIVED_ID: Final = re.compile(rb"(env-|\{run\}:)[0-9a-f]{32}")
"""The id of an envelope, and a correlation id that was too long to be written in full: digests of a run id and more."""


def compared_run_ids(*headers: RunHeader) -> frozenset[str]:
    """diff-05: the ids that count as the same run: those of the runs, and of the runs that they were forked from."""
    ids = {header.run_id for header in headers}
    for fork in (header.fork for header in headers):
        if fork is not None:
            ids |= {fork.run_id, fork.acts_as or fork.run_id}
    return frozenset(ids)


class ComparedForm:
    """Brings events and values of both runs of a comparison into the form in which they are compared."""

    def __init__(self, run_ids: Iterable[str] = ()) -> None:
        # The longest first, in case one id is the beginning of another.
        self._run_ids = sorted((each.encode() for each in run_ids if each), key=len, reverse=True)

    def is_same_event(self, a: Event, b: Event) -> bool:
        """diff-02 (RFC 0054): whether two events are equal apart from the members that differ between any two runs."""
        one, other = ((e.type, e.node_id, e.schema_version, e.engine_version) for e in (a, b))
        return one == other and (
            a.payload == b.payload or self.stable_payload(a.type, a.payload) == self.stable_payload(b.type, b.payload)
        )

    def stable_payload(self, event_type: str, payload: bytes) -> bytes:
        """The compared form of the payload of an event."""
        return encode_stored(self.stable_members(event_type, _decode(self.without_ids(payload))))

    def stable_members(self, event_type: str, payload: Any) -> Any:
        """A decoded payload without the members that are not compared."""
        if not is_object(payload):
            return payload
        left_out = VOLATILE_MEMBERS | {VOLATILE_BY_TYPE.get(event_type, "")}
        stable = {name: member for name, member in payload.items() if name not in left_out}
        if "outputs" in stable:
            stable["outputs"] = _without_child_runs(stable["outputs"])
        turn_name = TURN_MEMBERS.get(event_type, "")
        if is_object(turn := stable.get(turn_name)):
            stable[turn_name] = {name: member for name, member in turn.items() if name != "ts"}
        return stable

    def value(self, data: bytes, is_output: bool = False) -> bytes:
        """A value of the state. The ids of child runs in an output of a node are left out."""
        value = _decode(self.without_ids(data))
        return encode_stored(_without_child_runs(value) if is_output else value)

    def channel(self, data: bytes) -> bytes:
        """The value of a channel, without the times of entries that expire."""
        return encode_stored(_untimed(_decode(self.without_ids(data))))

    def channel_items(self, data: bytes) -> bytes:
        """diff-06: a channel in which the order of the entries does not matter, because parallel branches wrote them.

        A list becomes the sorted list of its entries."""
        value = _untimed(_decode(self.without_ids(data)))
        if not is_array(value):
            return encode_stored(value)
        return b"[%b]" % b",".join(sorted(map(encode_stored, value)))

    def without_ids(self, data: bytes) -> bytes:
        """diff-05 (readings, Diff): encoded JSON with one text for each run id of the comparison, and without the parts
        of other ids and of asset tokens that depend on it."""
        for run_id in self._run_ids:
            data = data.replace(run_id, _RUN_ID)
        if self._run_ids and (data.find(_ENVELOPE_ID) >= 0 or data.find(_RUN_ID) >= 0):
            data = _DERIVED_ID.sub(rb"\1", data)
        return replace_asset_tokens(data)

    def without_ids_in(self, value: Any) -> Any:
        """A decoded value without these ids."""
        return json.loads(self.without_ids(encode_stored(value)))


def _untimed(value: Any) -> Any:
    """The entries of a list channel without the time at which each entry that expires was written."""
    if not is_array(value):
        return value
    return [each["value"] if is_object(each) and each.keys() == {"value", "_ts"} else each for each in value]


def _without_child_runs(value: Any) -> Any:
    """diff-02 (readings, Diff): the outputs without the ids of child runs."""
    if is_object(value):
        return {name: _without_child_runs(member) for name, member in value.items() if name != CHILD_RUN_ID}
    return [_without_child_runs(item) for item in value] if is_array(value) else value


def _decode(data: bytes) -> Any:
    """Decode JSON that the host has written. All numbers become floats, so that values that are equal in canonical form
    compare equal."""
    return json.loads(data, parse_int=_number, parse_float=_number)


def _number(text: str) -> float:
    return float(text) + 0.0  # no minus zero
