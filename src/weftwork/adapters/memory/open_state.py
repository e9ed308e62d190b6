"""Whether a store in memory is open."""

from weftwork.ports.storage.event_log import StoreUnavailable


class OpenState:
    """Shared by the ports of one store."""

    def __init__(self) -> None:
        self.is_open = False

    def check_open(self) -> None:
        """Raises StoreUnavailable when the store is closed."""
        if not self.is_open:
            raise StoreUnavailable("the store is closed")
