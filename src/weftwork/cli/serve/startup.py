"""Startup of a host: keys, workflows, listener, the startup banner, and the log format.

A log line is one JSON object with all fields of the record. Characters that could break a line or control a terminal
are escaped.
"""

import asyncio
import contextlib
import errno
import gc
import logging
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

import click
import msgspec

from weftwork.adapters.http.server.http_server import bind, serve
from weftwork.adapters.http.server.limits import connections_within
from weftwork.adapters.providers.registry import MOCK_PROVIDER
from weftwork.adapters.system.file_limit import raise_file_limit
from weftwork.app import ClosedEffect, Host, OpenEffect
from weftwork.cli.console.root_group import discard_stdout
from weftwork.ports.fault_points import fault_point
from weftwork.ports.models import listed_models
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.host_lock import HostLocked
from weftwork.protocol.errors import ClientFault, HostFault
from weftwork.protocol.ids import parse_api_key
from weftwork.protocol.json.values import is_object
from weftwork.protocol.models.model_catalogue import MODALITIES, ModelInfo
from weftwork.protocol.timestamps import iso
from weftwork.protocol.wire.v1.paths import path_for
from weftwork.protocol.workflow.registration import MAX_DEFINITION_BYTES
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.document_file import DocumentFileError, read_document
from weftwork.wiring.store import describe_store, wait_for_store

log = logging.getLogger("weftwork")

STOP_SECONDS: Final = 9.0
"""Maximum time from the signal to the end of the process, without the wait for effects in progress. Supervisors wait
ten seconds or more before they kill it."""
MAX_LISTED_EFFECTS: Final = 20
"""Effects that the host names on the terminal when it waits for them. The log names all of them."""
GC_THRESHOLDS: Final = (10_000, 20, 100)
"""Thresholds of Python's cyclic garbage collector (`gc.set_threshold`)."""
MAX_LISTED_PROVIDERS: Final = 8
MAX_LISTED_MODELS: Final = 6
"""Providers, and models of each, that the banner names."""
FIRST_TENANT: Final = "default"
REPLACED: Final = "another process executes the runs of this store now, so this one has stopped"
WAITING_SECONDS: Final = 30.0
"""Time between two messages that the host waits for its store."""
QUICK_RECOVERY_SECONDS: Final = 1.0
"""A recovery that takes longer is announced on the terminal."""


async def run_host(settings: Settings, take_over: bool = False) -> int:
    """Run the host until SIGTERM or SIGINT, or until another process replaces it; returns the exit code."""
    # Modules live as long as the process, and requests leave almost no reference cycles: exclude the modules from
    # collection, and collect rarely. Freeze before the store is loaded, since frozen cycles are never collected.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        await wait_for_store(settings, _Waiting().report)
    except HostFault as error:
        click.echo(f"weftwork: {error}", err=True)
        return 1
    host = Host(settings)
    end = _Shutdown(host)
    reports: list[asyncio.Task[None]] = []
    code = 1
    try:
        await host.open(_register_workflows, resume=False, take_over=take_over)
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
            click.echo(f"weftwork: {_listen_error_text(settings, error)}", err=True)
            return code
        # Created last: a key that is stored but never shown would be lost.
        first_key = None if host.keyring.all() else (await host.keyring.create(FIRST_TENANT, label="first key"))[0]
        address = _address(settings.host, listener.getsockname()[1])
        host.assets.base = settings.media_base(listener.getsockname()[1])
        app = host.build()
        max_connections = connections_within(settings.max_connections, raise_file_limit())
        if max_connections < settings.max_connections:
            log.warning(
                "max_connections lowered to fit the limit of open files (ulimit -n)", extra={"count": max_connections}
            )

        def started() -> None:
            # The banner says that the host listens, so it does not wait for the runs.
            _print_banner(host, address, first_key, count)
            reports.append(asyncio.create_task(_report_recovery(host)))

        await serve(app, listener, end.begin, started, max_connections, host.replaced)
        if host.replaced.is_set():
            click.echo(f"weftwork: {REPLACED}", err=True)
        else:
            code = 0
    except StoreUnavailable as error:
        click.echo(f"weftwork: {error}", err=True)
    finally:
        for report in reports:
            report.cancel()
        await end.finish(code)
    return code


class _Waiting:
    """Says on the terminal that the host waits for its store: at once, and then every WAITING_SECONDS."""

    def __init__(self) -> None:
        self._said_at = -WAITING_SECONDS

    def report(self, reason: str) -> None:
        log.warning("waiting for the store", extra={"reason": reason})
        now = asyncio.get_running_loop().time()
        if now - self._said_at >= WAITING_SECONDS:
            self._said_at = now
            click.echo(f"weftwork: waiting for the store: {reason}; check it with `weftwork store check`", err=True)


class _Shutdown:
    """Stops a host within STOP_SECONDS of the first signal, or `shutdown_grace_seconds` later if effects are in
    progress. Another signal during the wait ends the process at once."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._deadline: float | None = None

    def begin(self) -> None:
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + STOP_SECONDS
            fault_point("drain.begin")
        self._host.drain()

    async def finish(self, code: int) -> None:
        """Close the host. After the deadline the process exits without waiting: every acknowledged event is durable."""
        self.begin()
        assert self._deadline is not None, "begin sets it"
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._exit, code, "second signal; exiting without waiting")
        try:
            closing = asyncio.ensure_future(self._host.close(self._on_waiting))
            # `_on_waiting` may move the deadline.
            while not closing.done() and (remaining := self._deadline - loop.time()) > 0:
                await asyncio.wait((closing,), timeout=remaining)
            if not closing.done():
                self._exit(code, "shutdown did not finish in time; exiting anyway")
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
        _print_lines(_closed_effect_lines(closing.result()))

    def _on_waiting(self, effects: Sequence[OpenEffect]) -> None:
        assert self._deadline is not None, "begin sets it"
        seconds = self._host.settings.shutdown_grace_seconds
        self._deadline += seconds
        _print_lines(_open_effect_lines(effects, seconds))

    def _exit(self, code: int, message: str) -> None:
        log.warning(message)
        _print_lines(_closed_effect_lines(self._host.report_effects()))
        sys.stdout.flush()
        sys.stderr.flush()
        # Leaving the event loop would wait for the task that hangs.
        os._exit(code)


def _open_effect_lines(effects: Sequence[OpenEffect], seconds: float) -> Iterator[str]:
    yield (
        f"waiting up to {seconds:g} s for effects in progress (shutdown_grace_seconds); "
        "another signal exits without waiting"
    )
    for each in effects[:MAX_LISTED_EFFECTS]:
        yield f"  run {each.run_id}, node {each.node_id}"
    yield from _more_effects_line(len(effects))


def _more_effects_line(count: int) -> Iterator[str]:
    if count > MAX_LISTED_EFFECTS:
        yield f"  and {count - MAX_LISTED_EFFECTS} more, see the log"


def _closed_effect_lines(effects: Sequence[ClosedEffect]) -> Iterator[str]:
    """What became of each effect that the host waited for, unfinished ones first."""
    listed = sorted(effects, key=lambda each: each.finished)
    for each in listed[:MAX_LISTED_EFFECTS]:
        place = f"run {each.effect.run_id}, node {each.effect.node_id}"
        if each.finished:
            yield f"  {place}: finished, and its outcome is recorded"
        else:
            yield (
                f"  {place}: not finished, its outcome is unknown; after the next start the run asks a person "
                "(`weftwork inbox`), or repeats the effect if it is idempotent"
            )
    yield from _more_effects_line(len(effects))


def _print_lines(lines: Iterator[str]) -> None:
    # The log says the same, so a closed terminal does no harm.
    with contextlib.suppress(OSError):
        for line in lines:
            click.echo(line)


def _accept_configured_keys(host: Host) -> None:
    """Accept the keys of the setting api_key for this process. Raises SettingsError for an invalid one."""
    for text in host.settings.api_key:
        parsed = parse_api_key(text)
        if parsed is None:
            raise SettingsError("--api-key must have the form KEY=TENANT or KEY=TENANT:scope+scope")
        key, tenant, scopes = parsed
        try:
            host.keyring.accept_for_process(key, tenant, scopes)
        except ClientFault as fault:
            text = f"--api-key for tenant {tenant!r}: {fault.message}"
            if fault.code != "key_revoked":
                raise SettingsError(text) from None
            # A revoked key must not prevent the start of a host that serves other keys.
            click.echo(f"weftwork: {text}", err=True)


async def _register_workflows(host: Host) -> None:
    """Register the workflow files. An invalid file is reported with its path and JSON pointer, and skipped."""
    if host.settings.conformance:
        await host.register_conformance_workflows()
    for folder in host.settings.workflows:
        if not Path(folder).is_dir():
            raise SettingsError(f"--workflows {folder}: the folder does not exist")
        for file in sorted(Path(folder).glob("*.json")):
            for problem in await _register_file(host, file):
                click.echo(f"weftwork: {file}: {problem}", err=True)


async def _register_file(host: Host, file: Path) -> list[str]:
    try:
        document = read_document(file, MAX_DEFINITION_BYTES)
    except DocumentFileError as error:
        return [str(error)]
    if is_object(document) and host.catalog.has_file_workflow(document):
        return ["/id: a workflow with this id is already registered; this file is skipped"]
    return [f"{item.pointer or '/'}: {item.message}" for item in await host.catalog.register(document)]


def _listen_error_text(settings: Settings, error: OSError) -> str:
    where = f"{settings.host}:{settings.port}"
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {settings.port} on {settings.host} is already in use; stop the process that uses it, or pass "
            "another port with --port PORT (0 selects a free one)."
        )
    if error.errno == errno.EACCES:
        return f"no permission to listen on {where}; choose a port above 1023 with --port PORT."
    return f"cannot listen on {where}: {error.strerror}; choose another --host or --port."


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _print_banner(host: Host, address: str, key: str | None, count: str) -> None:
    try:
        for line in _banner(host, address, key, count):
            click.echo(line)
    except OSError as error:
        # The host keeps serving without a banner; only the first key must be replaced.
        discard_stdout()
        lost = "; the first API key was not printed, create one with `weftwork keys create`" if key is not None else ""
        click.echo(f"weftwork: cannot write to standard output: {error.strerror}{lost}.", err=True)


def _banner(host: Host, address: str, key: str | None, count: str) -> Iterator[str]:
    settings = host.settings
    yield f"weftwork {host.version} listens on {address}"
    yield f"  store      {describe_store(settings)}"
    yield f"  workflows  {count}"
    yield from _model_lines(host)
    if key is not None:
        yield f"  API key    {key}   (tenant {FIRST_TENANT}; shown only once, store it now)"
    key_text = key or "$KEY"
    ids = host.catalog.public_ids()
    if ids:
        # hello and conformance-noop need no inputs.
        example = next((name for name in ("hello", "conformance-noop") if name in ids), ids[0])
        body = f"-H 'Content-Type: application/json' -d '{{\"workflowId\":\"{example}\"}}'"
        yield f'  try        curl -s {address}{path_for("createRun")} -H "Authorization: Bearer {key_text}" {body}'
    else:
        yield f'  try        curl -s {address}{path_for("listRuns")} -H "Authorization: Bearer {key_text}"'


def _model_lines(host: Host) -> Iterator[str]:
    """One line for each provider, with its models, the default model first."""
    providers = host.models.providers
    if not providers:
        yield "  models     none; nodes that call a model fail (docs/how-to/use-your-own-model.md)"
    for number, provider in enumerate(providers[:MAX_LISTED_PROVIDERS]):
        listed = listed_models(provider) or (ModelInfo(provider.default_model),)
        names = ", ".join(f"{provider.name}/{each.name}" for each in listed[:MAX_LISTED_MODELS])
        more = f" and {len(listed) - MAX_LISTED_MODELS} more" if len(listed) > MAX_LISTED_MODELS else ""
        accepted = [each for each in MODALITIES if any(each in model.modalities for model in listed)]
        media = f" (accepts text, {', '.join(accepted)})" if accepted else ""
        mock = ", a mock for conformance tests" if provider.name == MOCK_PROVIDER else ""
        yield f"  {'models' if number == 0 else '':<9}  {names}{more}{media}{mock}"
    if len(providers) > MAX_LISTED_PROVIDERS:
        yield f"             and {len(providers) - MAX_LISTED_PROVIDERS} more providers; `weftwork models` lists them"
    if (server := host.model_server) is not None:
        yield f"  local      {server.weights.name}, served on this machine; log in {server.log_file}"


async def _report_recovery(host: Host) -> None:
    """Resume the unfinished runs, and print how many there are: once at the end, and before if that takes long."""
    resuming = host.resume_runs()
    await asyncio.wait((resuming,), timeout=QUICK_RECOVERY_SECONDS)
    if not resuming.done() and (total := host.recovery.total):
        _print_lines(
            iter((f"  runs       {total:,} unfinished, resuming; {path_for('getReadiness')} has the progress",))
        )
    progress = await resuming
    if progress.skipped:
        numbers = f"{progress.resumed:,} resumed, {progress.skipped:,} skipped (see the log)"
        _print_lines(iter((f"  runs       {progress.total:,} unfinished, {numbers}",)))
    elif progress.total:
        _print_lines(iter((f"  runs       {progress.total:,} unfinished, resumed",)))


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
    """Formats a record as one line of JSON. A traceback is one field."""

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


class LineHandler(logging.StreamHandler[TextIO]):
    """Writes each record as one line at once. `emit` is called with the lock of the handler, so it takes no other."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self.stream.write(f"{self.format(record)}\n")
            self.stream.flush()
        except RecursionError:
            raise
        except Exception:
            self.handleError(record)


def configure_logging(level: str) -> None:
    """Log to standard error as JSON. The loggers of uvicorn and asyncio log only warnings and errors."""
    # Log lines have no thread, process or source location, so logging need not collect them.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    for name, value in (("logAsyncioTasks", False), ("_srcfile", None)):
        setattr(logging, name, value)
    handler = LineHandler(sys.stderr)
    handler.setFormatter(JsonLogFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
