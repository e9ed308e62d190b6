"""What a check has found."""

from typing import Literal

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """One line of the doctor: how something stands, and for what is not well, what to do."""

    state: Literal["ok", "warn", "fail"]
    check: str
    said: str
    advice: str = ""
