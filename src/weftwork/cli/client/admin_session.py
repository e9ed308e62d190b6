"""Administration requests: to a running host through its admin socket, or to the store itself.

The store in a data folder can be opened only if no host is running. A PostgreSQL store can be opened at any time; a
host that uses it is notified of the changes. With --store, the request goes to that database even if a host of the data
folder is running, because it may be the host of another store.
"""

from pathlib import Path
from typing import Any

import click

from weftwork.cli.client.store_location import StoreLocation
from weftwork.settings import SettingsError


class AdminSession:
    """Sends administration requests for one store. If it is not reached through a host, the store is opened by the
    first request and closed at the end of the `with` block."""

    def __init__(self, location: StoreLocation) -> None:
        self._settings = location.settings()
        self._folder: Path = self._settings.data_folder
        self._uses_socket = location.store is None
        # Imported late, here and below: other commands of the same group do not need it.
        import asyncio

        self._runner = asyncio.Runner()
        self._store: tuple[Any, Any] | None = None

    def __enter__(self) -> "AdminSession":
        return self

    def __exit__(self, *error: Any) -> None:
        if self._store is not None:
            self._runner.run(self._store[1]())
        self._runner.close()

    def request(self, operation: str, arguments: dict[str, Any], makes_store: bool = False) -> dict[str, Any]:
        """The response. Raises ClickException or UsageError. With `makes_store`, a missing store is created."""
        request = {"operation": operation, "arguments": arguments}
        answer = None
        if self._store is None and self._uses_socket:
            from weftwork.adapters.admin.client import send_request
            from weftwork.wiring.data_folder import ADMIN_SOCKET

            try:
                answer = send_request(self._folder / ADMIN_SOCKET, request)
            except OSError as error:
                raise click.ClickException(
                    f"the host of {self._folder} does not respond on its admin socket: {error}; check its log, or "
                    "restart it."
                ) from None
        if answer is None:
            administration, _ = self._store = self._store or self._open_store(makes_store)
            answer = self._runner.run(administration.handle(request))
        if "error" in answer:
            raise click.ClickException(str(answer["message"]))
        return answer

    def _open_store(self, makes_store: bool) -> tuple[Any, Any]:
        from weftwork.ports.storage.event_log import StoreUnavailable
        from weftwork.ports.storage.host_lock import HostLocked
        from weftwork.protocol.errors import HostFault
        from weftwork.wiring.data_folder import DATABASE_FILE
        from weftwork.wiring.offline_admin import open_administration

        in_folder = self._settings.store_kind != "postgres"
        if in_folder and not makes_store and not (self._folder / DATABASE_FILE).exists():
            raise click.ClickException(
                f"no store in {self._folder}; pass the host's data folder with --data DIR, or start a host with "
                "`weftwork serve`."
            )
        try:
            return self._runner.run(open_administration(self._settings))
        except HostLocked:
            raise click.ClickException(
                f"another process is using {self._folder}, and it does not respond on its admin socket; try again, or "
                "pass another folder with --data DIR."
            ) from None
        except SettingsError as error:
            raise click.UsageError(str(error)) from None
        except (StoreUnavailable, HostFault) as error:
            raise click.ClickException(str(error)) from None
