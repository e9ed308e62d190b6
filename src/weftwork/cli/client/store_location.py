"""Which store a command of the operator works on: --data and --store, the environment, and the settings file."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import parse_qs, urlsplit

import click
import msgspec

from weftwork.settings import Settings, SettingsError, load_settings

STORE_HELP = "Database of a PostgreSQL store, like postgres://weftwork@db.example.org/weftwork."


class StoreLocation(msgspec.Struct, frozen=True):
    """The options --data and --store as they were typed; None for one that was not."""

    data: str | None = None
    store: str | None = None

    def settings(self) -> Settings:
        """The settings for this store. Raises UsageError."""
        typed = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        try:
            return load_settings(typed)
        except SettingsError as error:
            raise click.UsageError(str(error)) from None


def store_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --data and --store; the command gets `location`."""

    @click.option("--data", metavar="DIR", help="Data folder of the host.  [default: the user's data folder]")
    @click.option("--store", metavar="URL", help=STORE_HELP)
    @wraps(command)
    def with_location(data: str | None, store: str | None, **arguments: Any) -> Any:
        if store is not None:
            warn_of_password(store)
        return command(location=StoreLocation(data, store), **arguments)

    return with_location


def warn_of_password(store: str) -> None:
    """Warn if an option contains a password, because other users of the machine can see it."""
    if _has_password(store):
        text = "other users of this machine can see the password in --store"
        advice = "use WEFTWORK_STORE, PGPASSWORD, PGPASSFILE, ~/.pgpass or the settings file"
        click.echo(f"warning: {text}; {advice}.", err=True)


def _has_password(store: str) -> bool:
    try:
        parts = urlsplit(store)
        return ":" in parts.netloc.rpartition("@")[0] or "password" in parse_qs(parts.query)
    except ValueError:
        return False
