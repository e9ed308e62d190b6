"""Operations that steer runs. Part of the table in wire_v1."""

from typing import Final

from weftwork.protocol.route import Route

CONTROL: Final[tuple[Route, ...]] = ()
