"""What a node written in Python asks, as an interrupt of its run."""

import re
from typing import Any, Final

from weftwork.adapters.python.errors import misused
from weftwork.adapters.python.values import NotJson, as_json
from weftwork.ports.nodes import NodeCall
from weftwork.protocol.events import OWN
from weftwork.protocol.interrupt import WIRED, Interrupt

MAX_KIND: Final = 128

_KEY: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


def question(call: NodeCall, key: str, kind: str, data: Any, custom_kind: str | None) -> Interrupt:
    """The interrupt. Its key on the wire is `nodeId:visit:key`: each round of a loop asks anew. Raises NodeError."""
    if not isinstance(key, str) or _KEY.fullmatch(key) is None:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise misused("The key of a question takes 1 to 64 letters, digits, dots, dashes and underscores.")
    if kind not in WIRED:
        raise misused(f"This host does not ask that kind of question yet; it has {', '.join(WIRED)}.")
    named = key if custom_kind is None else custom_kind
    if not isinstance(named, str) or not 0 < len(named) <= MAX_KIND:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise misused(f"A custom kind takes 1 to {MAX_KIND} characters.")
    if named.startswith(OWN):
        raise misused(f"Custom kinds that begin with {OWN} are the host's own.")
    try:
        shown: dict[str, Any] = as_json({"customKind": named, "payload": data})
    except NotJson as error:
        raise misused(f"The data of the question {key} is not JSON: {error}.") from None
    if data is None:
        del shown["payload"]
    return Interrupt(kind, f"{call.node_id}:{call.visit}:{key}", shown)
