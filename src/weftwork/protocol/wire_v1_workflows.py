"""Operations on workflow definitions beyond reading one. Part of the table in wire_v1."""

from typing import Final

from weftwork.protocol.route import Route

WORKFLOWS: Final[tuple[Route, ...]] = ()
