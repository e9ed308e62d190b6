"""Start-up of a host: keys, workflows, listener, the lines that the operator sees, and the log format.

A log line is one JSON object, with everything that the line was given and nothing that could break it.
"""

import asyncio
import errno
import gc
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from weftwork.adapters.http.server.http_server import bind, serve
from weftwork.adapters.http.server.limits import connections_within
from weftwork.adapters.system.file_limit import raise_file_limit
from weftwork.app import Host
from weftwork.cli.console.root_group import discard_stdout
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.host_lock import HostLocked
from weftwork.protocol.errors import ClientFault, HostFault
from weftwork.protocol.ids import parse_api_key
from weftwork.protocol.json.values import is_object
from weftwork.protocol.timestamps import iso
from weftwork.protocol.wire.v1.paths import path_for
from weftwork.protocol.workflow.registration import MAX_DEFINITION_BYTES
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.document_file import DocumentFileError, read_document

log = logging.getLogger("weftwork")

STOP_SECONDS: Final = 9.0
"""From the signal to the end of the process: supervisors that kill give ten seconds or more."""
GC_THRESHOLDS: Final = (10_000, 20, 100)
"""Objects, young and middle collections after which Python looks for garbage that holds on to itself."""
FIRST_TENANT: Final = "default"


async def run_host(settings: Settings) -> int:
    """Run the host until it is told to stop; returns the exit code."""
    # Code stays, and what runs and requests leave behind goes by itself: look for cycles elsewhere, and seldom. Before
    # anything is loaded from the store: what is frozen and held by a cycle would never go.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    host = Host(settings)
    end = _Shutdown(host)
    code = 1
    try:
        recovered = await host.open(_register_workflows)
    except (HostLocked, StoreUnavailable, HostFault) as error:
        click.echo(f"weftwork: {error}", err=True)
        return code
    try:
        _accept_configured_keys(host)
        files, registered = await host.catalog.count_workflows()
        count = f"{files} from files, {registered} registered" if registered else str(files)
        fault_point("boot.ready")
        try:
            listener = bind(settings.host, settings.port)
        except OSError as error:
            where = f"{settings.host}:{settings.port}"
            option = "--port" if error.errno == errno.EADDRINUSE else "--host or --port"
            click.echo(f"weftwork: cannot listen on {where}: {error.strerror}; choose another {option}.", err=True)
            return code
        # Made last: a key that is stored but never shown would be lost.
        first_key = None if host.keyring.all() else (await host.keyring.create(FIRST_TENANT, label="first key"))[0]
        address = _address(settings.host, listener.getsockname()[1])
        host.assets.base = settings.media_base(listener.getsockname()[1])
        app = host.build()
        most = connections_within(settings.max_connections, raise_file_limit())
        if most < settings.max_connections:
            log.warning("fewer connections than set: the process may not open more files", extra={"count": most})
        await serve(app, listener, end.begin, lambda: _print_banner(host, address, first_key, count, recovered), most)
        code = 0
    except StoreUnavailable as error:
        click.echo(f"weftwork: {error}", err=True)
    finally:
        await end.finish(code)
    return code


class _Shutdown:
    """The end of a host: one deadline for all of it, from the first signal on."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._deadline: float | None = None

    def begin(self) -> None:
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + STOP_SECONDS
            fault_point("drain.begin")
        self._host.drain()

    async def finish(self, code: int) -> None:
        """Close the host. What hangs is left behind: the log holds everything that was acknowledged."""
        self.begin()
        assert self._deadline is not None, "begin sets it"
        closing = asyncio.ensure_future(self._host.close())
        done, _ = await asyncio.wait((closing,), timeout=self._deadline - asyncio.get_running_loop().time())
        if done:
            closing.result()
            return
        log.warning("shutdown did not finish in time; the process ends all the same")
        sys.stdout.flush()
        sys.stderr.flush()
        # Leaving the event loop would wait for the very task that hangs.
        os._exit(code)


def _accept_configured_keys(host: Host) -> None:
    """Accept the keys of the command line."""
    for text in host.settings.api_key:
        parsed = parse_api_key(text)
        if parsed is None:
            raise SettingsError("--api-key must look like KEY=TENANT or KEY=TENANT:scope+scope")
        key, tenant, scopes = parsed
        try:
            host.keyring.accept_for_process(key, tenant, scopes)
        except ClientFault as fault:
            text = f"--api-key for tenant {tenant!r}: {fault.message}"
            if fault.code != "key_revoked":
                raise SettingsError(text) from None
            # A key that was revoked must not keep the host from serving all the others.
            click.echo(f"weftwork: {text}", err=True)


async def _register_workflows(host: Host) -> None:
    """Register workflows; a bad file is reported by name and pointer and does not stop the others."""
    if host.settings.conformance:
        await host.register_conformance_workflows()
    for folder in host.settings.workflows:
        if not Path(folder).is_dir():
            raise SettingsError(f"--workflows {folder}: there is no such folder")
        for file in sorted(Path(folder).glob("*.json")):
            for problem in await _register_file(host, file):
                click.echo(f"weftwork: {file}: {problem}", err=True)


async def _register_file(host: Host, file: Path) -> list[str]:
    try:
        document = read_document(file, MAX_DEFINITION_BYTES)
    except DocumentFileError as error:
        return [str(error)]
    if is_object(document) and host.catalog.has_file_workflow(document):
        return ["/id: a workflow of this id is registered already; the first one stays"]
    return [f"{item.pointer or '/'}: {item.message}" for item in await host.catalog.register(document)]


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _print_banner(host: Host, address: str, key: str | None, count: str, recovered: int) -> None:
    try:
        for line in _banner(host, address, key, count, recovered):
            click.echo(line)
    except OSError as error:
        # Runs are worth more than these lines; only the key is missed by somebody.
        discard_stdout()
        lost = "; the first key was not shown, make one with `weftwork keys create`" if key is not None else ""
        click.echo(f"weftwork: standard output cannot be written: {error.strerror}{lost}.", err=True)


def _banner(host: Host, address: str, key: str | None, count: str, recovered: int) -> Iterator[str]:
    settings = host.settings
    place = "in memory, gone at exit" if settings.store == "memory" else settings.data
    yield f"weftwork {host.version} listens on {address}"
    yield f"  store      {place}"
    yield f"  workflows  {count}"
    if recovered:
        yield f"  runs       {recovered} unfinished, going on"
    if key is not None:
        yield f"  API key    {key}   (tenant {FIRST_TENANT}; shown this once)"
    shown = key or "$KEY"
    ids = host.catalog.public_ids()
    if ids:
        # One that needs no inputs would be best to try, and hello and noop need none.
        tried = next((name for name in ("hello", "conformance-noop") if name in ids), ids[0])
        body = f"-H 'Content-Type: application/json' -d '{{\"workflowId\":\"{tried}\"}}'"
        yield f'  try        curl -s {address}{path_for("createRun")} -H "Authorization: Bearer {shown}" {body}'
    else:
        yield f'  try        curl -s {address}{path_for("listRuns")} -H "Authorization: Bearer {shown}"'


MAX_TEXT: Final = 256
_STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
# JSON escapes the other control characters. These would still move a terminal's cursor or split a line elsewhere.
_UNSAFE_RANGES = (
    range(0x7F, 0xA0),  # delete, and the C1 control characters
    range(0x2028, 0x202F),  # line and paragraph separators, and embedding of text directions
    range(0x2066, 0x206A),  # isolation of text directions
    range(0xD800, 0xE000),  # lone surrogates, which cannot be encoded at all
)
_UNSAFE_CHARACTERS = {code: f"\\u{code:04x}" for codes in _UNSAFE_RANGES for code in codes}


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        text = value[:MAX_TEXT]
        return text if text.isascii() and text.isprintable() else text.translate(_UNSAFE_CHARACTERS)
    return (
        value
        if value is None or isinstance(value, bool | int | float)
        else str(value)[:MAX_TEXT].translate(_UNSAFE_CHARACTERS)
    )


class JsonLogFormatter(logging.Formatter):
    """Formats a record as one line of JSON. A traceback stays one field."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": iso(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _clean(record.getMessage()),
        }
        for name, value in vars(record).items():
            if name not in _STANDARD_FIELDS and value is not None:
                line[name] = _clean(value)
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info).translate(_UNSAFE_CHARACTERS)
        return msgspec.json.encode(line).decode()


def configure_logging(level: str) -> None:
    """Log to standard error; the server's own loggers only speak up when something is wrong."""
    # Log lines show no thread, process or source location, so logging need not collect them.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    for name, value in (("logAsyncioTasks", False), ("_srcfile", None)):
        setattr(logging, name, value)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLogFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
