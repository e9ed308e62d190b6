"""Lines of the log: whatever is in them, each is one line of JSON."""

import json
import logging
import sys
from typing import Any

import pytest

from weftwork.cli.serve.startup import JsonLogFormatter


def line(**extra: Any) -> dict[str, Any]:
    record = logging.makeLogRecord({"name": "weftwork", "levelname": "ERROR", "msg": "node raised", **extra})
    written = JsonLogFormatter().format(record)
    assert written.isprintable()
    return json.loads(written.encode())


@pytest.mark.parametrize("odd", ["\ud800", "x\udfffy", "\u2028", "\x1b[2J", "\u202e", "\n", "\x85"])
def test_odd_characters_keep_a_line_whole(odd: str) -> None:
    try:
        raise KeyError(odd, odd)
    except KeyError:
        found = line(exc_info=sys.exc_info(), nodeId=odd, why=ValueError(odd))
    assert found["message"] == "node raised"
    assert "KeyError" in found["traceback"]
    assert {"nodeId", "why"} <= set(found)
