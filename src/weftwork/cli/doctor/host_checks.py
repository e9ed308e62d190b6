"""Checks of any OpenWOP host: connection, protocol, clock, health, readiness, key and event stream."""

import ipaddress
import time
from collections.abc import Iterator
from contextlib import closing
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit

from weftwork.cli.client.errors import NOT_OFFERED, HostUnreachable, RequestRefused
from weftwork.cli.client.transport import Transport
from weftwork.cli.console.documents import as_list, as_object
from weftwork.cli.console.text import clean
from weftwork.cli.doctor.findings import Finding
from weftwork.protocol.json.values import is_object
from weftwork.protocol.wire.v1.paths import path_for

TIMEOUT_SECONDS: Final = 5.0
MAX_CLOCK_SKEW: Final = 5.0
"""Seconds. Smaller differences are ignored: the Date header has whole seconds, and the request takes time."""
_NO_RUN: Final = "weftwork-doctor-no-such-run"
_MAX_LINES: Final = 50
_SCOPE_PROBES: Final = {
    "runs:read": path_for("getRun", runId=_NO_RUN),
    "manifest:read": path_for("getWorkflow", workflowId=_NO_RUN),
    "artifacts:read": path_for("getArtifact", runId=_NO_RUN, artifactId="none"),
}
"""Read-only requests. A key with the scope gets a 404, a key without it a 403."""


def check_host(url: str, key: str | None, is_explicit: bool) -> Iterator[Finding]:
    """All checks that change nothing on the host. If the URL is not explicit, an unreachable host is only a warning."""
    connection = Transport(url, key, TIMEOUT_SECONDS)
    before = time.time()
    try:
        with closing(connection.open("GET", path_for("getCapabilities"))) as opened:
            date = opened.response.headers.get("Date")
        document = connection.request("GET", path_for("getCapabilities"))
    except (HostUnreachable, RequestRefused) as error:
        message = clean(error.format_message())
        hint = "" if is_explicit else "ignore this if no host should be running"
        yield Finding("fail" if is_explicit else "warn", "host", message, hint)
        return
    elapsed = time.time() - before
    yield Finding("ok", "host", f"{connection.url} responded in {elapsed * 1000:.0f} ms")
    yield from _check_protocol(document)
    yield from check_clock(date, before + elapsed / 2)
    yield _check_status(connection, "health", path_for("getHealth"))
    yield _check_status(connection, "readiness", path_for("getReadiness"))
    yield from _check_key(connection, url, key)


def _check_protocol(document: Any) -> Iterator[Finding]:
    capabilities = as_object(document)
    version, implementation = capabilities.get("protocolVersion"), capabilities.get("implementation")
    name = (
        " ".join(str(implementation.get(each, "")) for each in ("name", "version"))
        if is_object(implementation)
        else "unnamed"
    )
    message = f"OpenWOP {clean(version, 20)} by {clean(name.strip(), 100)}"
    if not isinstance(version, str) or not version.startswith("1."):
        yield Finding("fail", "protocol", message, "pass the URL of an OpenWOP 1.x host with --url")
        return
    is_weftwork = is_object(implementation) and implementation.get("name") == "weftwork"
    yield Finding("ok", "protocol", message if is_weftwork else f"{message}, not a weftwork host")


def check_clock(date: str | None, now: float) -> Iterator[Finding]:
    """Compare the host's clock with this machine's."""
    try:
        ahead = parsedate_to_datetime(date or "").timestamp() - now
    except (ValueError, TypeError):
        yield Finding("ok", "clock", "not checked: the host sends no Date header")
        return
    if abs(ahead) <= MAX_CLOCK_SKEW:
        yield Finding("ok", "clock", f"the host's clock is within {MAX_CLOCK_SKEW:g} s of this machine's")
        return
    message = f"the host's clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} this machine's"
    yield Finding("warn", "clock", message, "synchronize both clocks with NTP; run times use the host's clock")


def _check_status(connection: Transport, check: str, path: str) -> Finding:
    try:
        answer = connection.request("GET", path)
    except RequestRefused as refused:
        if refused.status in NOT_OFFERED:
            return Finding("warn", check, f"the host does not support {path}", "ask its operator how to monitor it")
        return Finding("fail", check, clean(refused.format_message()), "check the host's log")
    except HostUnreachable as error:
        return Finding("fail", check, clean(error.format_message()))
    status = clean(as_object(answer).get("status", ""), 60) or "responded"
    return _recovery_finding(check, status, as_object(as_object(answer).get("recovery")))


def _recovery_finding(check: str, status: str, recovery: dict[str, Any]) -> Finding:
    """A host that is resuming runs is ready. Runs that it cannot load are a warning."""
    total, resumed, skipped = (recovery.get(name) for name in ("total", "resumed", "skipped"))
    if isinstance(skipped, int) and skipped:
        message = f"{status}, but {skipped:,} unfinished runs cannot be loaded"
        return Finding("warn", check, message, "the host's log names each run and the reason")
    if recovery.get("done") is False:
        known = isinstance(total, int) and isinstance(resumed, int)
        progress = f"{resumed:,} of {total:,} unfinished runs" if known else "unfinished runs"
        return Finding("ok", check, f"{status}, resuming: {progress}")
    return Finding("ok", check, status)


def _check_key(connection: Transport, url: str, key: str | None) -> Iterator[Finding]:
    if not key:
        yield Finding("warn", "key", "no API key, so the remaining checks were skipped", "set WEFTWORK_KEY")
        return
    if _is_plaintext(url):
        yield Finding("warn", "key", "the API key is sent without TLS", "use an https:// URL or a tunnel")
    allowed: list[str] = []
    denied: list[str] = []
    for scope, path in _SCOPE_PROBES.items():
        try:
            connection.request("GET", path)
        except RequestRefused as refused:
            if refused.status == 401:
                yield Finding("fail", "key", clean(refused.format_message()))
                return
            if refused.status == 403:
                denied.append(scope)
                continue
        except HostUnreachable as error:
            yield Finding("fail", "key", clean(error.format_message()))
            return
        allowed.append(scope)
    if denied:
        message = f"accepted, but without the scopes {', '.join(denied)}"
        yield Finding(
            "warn", "key", message, "if you need them, create a key with `weftwork keys create --scope SCOPE`"
        )
    else:
        yield Finding("ok", "key", f"accepted, with the scopes {', '.join(allowed)}; other scopes were not checked")
    if "runs:read" in allowed:
        yield from _check_stream(connection)


def _is_plaintext(url: str) -> bool:
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return False
    try:
        return not ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return True


def _check_stream(connection: Transport) -> Iterator[Finding]:
    """Read the event stream of the newest run."""
    try:
        page = connection.request("GET", path_for("listRuns"), query={"limit": 1})
        rows = as_list(as_object(page).get("runs"))
        if not rows or not is_object(rows[0]):
            yield Finding("ok", "events", "not checked: the host has no runs yet")
            return
        path = path_for("streamRunEvents", runId=str(rows[0].get("runId")))
        yield _read_stream(connection, path)
    except (RequestRefused, HostUnreachable) as error:
        if isinstance(error, RequestRefused) and error.status in NOT_OFFERED:
            yield Finding("ok", "events", "not checked: this host does not list its runs")
        else:
            yield Finding("fail", "events", clean(error.format_message()))


def _read_stream(connection: Transport, path: str) -> Finding:
    opened = connection.open("GET", path, headers={"Accept": "text/event-stream"})
    try:
        if opened.media_type != "text/event-stream":
            message = f"the stream has the media type {clean(opened.media_type, 60) or '(none)'}, not text/event-stream"
            return Finding("fail", "events", message, "check for a proxy that changes responses")
        lines = (opened.response.readline(65_536) for _ in range(_MAX_LINES))
        if any(line.startswith((b"data:", b"event:", b"id:")) for line in lines):
            return Finding("ok", "events", "streaming works")
    except OSError as error:
        raise connection.connection_lost(error) from None
    finally:
        opened.close()
    hint = "check for a proxy that buffers responses"
    return Finding("fail", "events", "the stream ended before the first event", hint)
