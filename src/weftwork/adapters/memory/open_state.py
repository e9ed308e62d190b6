"""Whether a store in memory is open."""

from weftwork.ports.storage.event_log import StoreUnavailable


class Door:
    """Shared by the ports of one store."""

    def __init__(self) -> None:
        self.open = False

    def enter(self) -> None:
        """Raises StoreUnavailable when the store is closed."""
        if not self.open:
            raise StoreUnavailable("the store is closed")
