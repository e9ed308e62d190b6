"""The node type core.wait: sleeps until an instant."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from weftwork.adapters.nodes.call_inputs import input_value, missing_input
from weftwork.adapters.nodes.schemas import closed_object, fixed_ports, integer, port_schema, reference_notes, typed
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.protocol.json.values import ABSENT
from weftwork.protocol.timestamps import iso
from weftwork.protocol.workflow.node_types import NodeDeclaration

MAX_INSTANT_MS: Final = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z."""

_PATTERN: Final = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]"
    r"(:[0-5][0-9](\.[0-9]{1,9})?)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)
_INSTANT_TEXT: Final = re.compile(_PATTERN)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


async def _wait(call: NodeCall, context: NodeContext) -> NodeOutcome:
    until = input_value(call, "until")
    if until is ABSENT:
        return missing_input("until")
    when = parse_instant(until)
    if when is None:
        return Failed(
            "wait_until_invalid",
            "The instant is neither a date and time with offset nor milliseconds since 1970.",
            retryable=False,
        )
    await context.sleep_until(when)
    return Completed({"until": iso(when)})


def parse_instant(value: Any) -> int | None:
    """The instant since the epoch, or None for what is none. Digits after the milliseconds are dropped."""
    when = _from_text(value) if isinstance(value, str) else _from_number(value)
    return when if when is not None and 0 <= when <= MAX_INSTANT_MS else None


def _from_text(text: str) -> int | None:
    if _INSTANT_TEXT.search(text) is None:
        return None
    try:
        return (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1)
    except ValueError:
        return None


def _from_number(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


_MILLISECONDS: Final = integer(0, MAX_INSTANT_MS, "Milliseconds since 1970-01-01T00:00:00Z.")

WAIT_NODE: Final[NodeType] = WaitingNode(
    NodeDeclaration(
        "core.wait",
        "Waits until an instant, then completes.",
        instant=False,
        inputs=port_schema(
            until={
                "anyOf": [{"type": "string"}, _MILLISECONDS],
                "description": "The instant, as text or as milliseconds since 1970; wins over the config.",
            }
        ),
        outputs=fixed_ports(until=typed("string", "The instant in UTC.")),
        config=closed_object(
            until=typed("string", "The instant in ISO 8601, with `Z` or an offset.", pattern=_PATTERN)
        ),
        notes=reference_notes(
            """
An instant in the past completes at once. The instant is the first of the port `until`, the config `until` and the
port `input`; without any of them the node fails with `node_input_missing`, and with `wait_until_invalid` if it is no
instant, such as one without offset, before 1970 or on a day that the month does not have. It holds over a restart of
the host. For a length of time there is `core.delay`.
""",
            "core.wait",
            {"until": "2027-01-01T09:00:00+01:00"},
        ),
    ),
    _wait,
)
