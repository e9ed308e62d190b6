"""Asking for administration: a running host through its socket, or the store of one that is not running."""

from pathlib import Path
from typing import Any

import click

from weftwork.settings import SettingsError, load_settings


class AdminSession:
    """Asks one host, as often as needed. Without a host, the store stays open until the end of the `with` block."""

    def __init__(self, data: str | None) -> None:
        try:
            settings = load_settings({"data": data} if data else {})
        except SettingsError as error:
            raise click.UsageError(str(error)) from None
        self._folder: Path = settings.data_folder
        self._blobs = settings.blobs
        # Imported late, here and below: the other commands of a group that has one of its commands need none of it.
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
        """The answer. Raises what click shows to the user. Only some operations make a store where there is none."""
        request = {"operation": operation, "arguments": arguments}
        answer = None
        if self._store is None:
            from weftwork.adapters.admin.client import send_request
            from weftwork.wiring.data_folder import ADMIN_SOCKET

            try:
                answer = send_request(self._folder / ADMIN_SOCKET, request)
            except OSError as error:
                raise click.ClickException(f"the host in {self._folder} does not answer: {error}") from None
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

        if not makes_store and not (self._folder / DATABASE_FILE).exists():
            raise click.ClickException(f"there is no store in {self._folder}; name the host's data folder with --data.")
        try:
            return self._runner.run(open_administration(self._folder, self._blobs))
        except HostLocked as error:
            raise click.ClickException(f"{error}. It does not answer on its socket; try again.") from None
        except SettingsError as error:
            raise click.UsageError(str(error)) from None
        except (StoreUnavailable, HostFault) as error:
            raise click.ClickException(str(error)) from None
