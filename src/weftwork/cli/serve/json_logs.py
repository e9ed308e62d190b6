"""Log lines: one JSON object each, with everything a line was given and nothing that could break it."""

import logging
import sys
from typing import Any, Final

import msgspec

from weftwork.protocol.timestamps import iso

MAX_TEXT: Final = 256
_STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
# JSON escapes the other control characters. These would still move a terminal's cursor or split a line elsewhere.
_UNSAFE_RANGES = (
    range(0x7F, 0xA0),  # delete, and the C1 control characters
    range(0x2028, 0x202F),  # line and paragraph separators, and embedding of text directions
    range(0x2066, 0x206A),  # isolation of text directions
    range(0xD800, 0xE000),  # lone surrogates, which cannot be encoded at all
)
_UNSAFE_CHARACTERS = {code: f"\\u{code:04x}" for codes in _UNSAFE_RANGES for code in codes}


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        text = value[:MAX_TEXT]
        return text if text.isascii() and text.isprintable() else text.translate(_UNSAFE_CHARACTERS)
    return (
        value
        if value is None or isinstance(value, bool | int | float)
        else str(value)[:MAX_TEXT].translate(_UNSAFE_CHARACTERS)
    )


class JsonLogFormatter(logging.Formatter):
    """Formats a record as one line of JSON. A traceback stays one field."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": iso(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _clean(record.getMessage()),
        }
        for name, value in vars(record).items():
            if name not in _STANDARD_FIELDS and value is not None:
                line[name] = _clean(value)
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info).translate(_UNSAFE_CHARACTERS)
        return msgspec.json.encode(line).decode()


def configure_logging(level: str) -> None:
    """Log to standard error; the server's own loggers only speak up when something is wrong."""
    # No line tells the thread, the process or the place in the code, so nobody has to look for them.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    for name, value in (("logAsyncioTasks", False), ("_srcfile", None)):
        setattr(logging, name, value)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLogFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
