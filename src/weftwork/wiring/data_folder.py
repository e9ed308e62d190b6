"""The data folder of a host: what lies in it, and how it is made and taken."""

from pathlib import Path

from weftwork.ports.storage.host_lock import Seat
from weftwork.settings import SettingsError

DATABASE = "weftwork.db"
LOCK = "weftwork.lock"
SOCKET = "admin.sock"


def make_folder(folder: Path) -> None:
    """Make the data folder if it is not there."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"data: {folder} cannot be made: {error.strerror}") from None


def take(seat: Seat) -> None:
    """Take the seat of the folder. Raises SeatTaken, or SettingsError for a folder that cannot be used."""
    try:
        seat.take()
    except OSError as error:
        raise unusable(error) from None


def unusable(error: OSError) -> SettingsError:
    return SettingsError(f"data: {error.filename or 'the folder'} cannot be used: {error.strerror or error}")


class NoSeat:
    """A memory store belongs to its process by nature."""

    def take(self) -> None: ...

    def release(self) -> None: ...
