"""Operations that look back at runs: what people said of them, how two of them differ. Part of wire_v1."""

from typing import Final

from weftwork.protocol.route import Route

REVIEW: Final[tuple[Route, ...]] = ()
