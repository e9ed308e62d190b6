"""Checks of a host, ours or another: reached, healthy, ready, what it speaks, what the key may do, and its stream."""

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
from weftwork.cli.doctor.machine_checks import Finding
from weftwork.protocol.json.values import is_object
from weftwork.protocol.wire.v1.paths import path_for

TIMEOUT_SECONDS: Final = 5.0
MAX_CLOCK_SKEW: Final = 5.0
"""Clocks that differ by less are as good as equal: the header has whole seconds."""
_NO_RUN: Final = "weftwork-doctor-no-such-run"
_MAX_LINES: Final = 50
_SCOPE_PROBES: Final = {
    "runs:read": path_for("getRun", runId=_NO_RUN),
    "manifest:read": path_for("getWorkflow", workflowId=_NO_RUN),
    "artifacts:read": path_for("getArtifact", runId=_NO_RUN, artifactId="none"),
}
"""Requests that change nothing. Whoever may ask is told that there is nothing there."""


def check_host(url: str, key: str | None, named: bool) -> Iterator[Finding]:
    """Everything that can be asked without changing anything. `named`: the user wants this very host."""
    connection = Transport(url, key, TIMEOUT_SECONDS)
    before = time.time()
    try:
        with closing(connection.open("GET", path_for("getCapabilities"))) as opened:
            date = opened.response.headers.get("Date")
        document = connection.request("GET", path_for("getCapabilities"))
    except (HostUnreachable, RequestRefused) as error:
        said = clean(error.format_message())
        yield Finding("fail" if named else "warn", "host", said, "" if named else "no matter if none should run")
        return
    took = time.time() - before
    yield Finding("ok", "host", f"{connection.url} answers within {took * 1000:.0f} ms")
    yield from _check_protocol(document)
    yield from check_clock(date, before + took / 2)
    yield _check_status(connection, "health", path_for("getHealth"))
    yield _check_status(connection, "readiness", path_for("getReadiness"))
    yield from _check_key(connection, url, key)


def _check_protocol(document: Any) -> Iterator[Finding]:
    known = as_object(document)
    version, maker = known.get("protocolVersion"), known.get("implementation")
    name = " ".join(str(maker.get(each, "")) for each in ("name", "version")) if is_object(maker) else "unnamed"
    said = f"OpenWOP {clean(version, 20)} by {clean(name.strip(), 100)}"
    if not isinstance(version, str) or not version.startswith("1."):
        yield Finding("fail", "protocol", said, "name an OpenWOP 1.x host with --url")
        return
    ours = is_object(maker) and maker.get("name") == "weftwork"
    yield Finding("ok", "protocol", said if ours else f"{said}, another host than weftwork")


def check_clock(date: str | None, now: float) -> Iterator[Finding]:
    """How far the host's clock is from this one."""
    try:
        ahead = parsedate_to_datetime(date or "").timestamp() - now
    except (ValueError, TypeError):
        yield Finding("ok", "clock", "the host does not say what time it is")
        return
    if abs(ahead) <= MAX_CLOCK_SKEW:
        yield Finding("ok", "clock", "the host's is the same as this one")
        return
    said = f"the host's is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} this one"
    yield Finding("warn", "clock", said, "set both by a time server; times of runs are those of the host")


def _check_status(connection: Transport, check: str, path: str) -> Finding:
    try:
        answer = connection.request("GET", path)
    except RequestRefused as refused:
        if refused.status in NOT_OFFERED:
            return Finding("warn", check, f"the host has no {path}", "ask its operator how to see that it is well")
        return Finding("fail", check, clean(refused.format_message()), "see the host's log")
    except HostUnreachable as error:
        return Finding("fail", check, clean(error.format_message()))
    return Finding("ok", check, clean(as_object(answer).get("status", ""), 60) or "answered")


def _check_key(connection: Transport, url: str, key: str | None) -> Iterator[Finding]:
    if not key:
        yield Finding("warn", "key", "none was given, so nothing more can be asked", "give one in WEFTWORK_KEY")
        return
    if _is_plaintext(url):
        yield Finding("warn", "key", "it is sent without TLS", "reach the host by https:// or through a tunnel")
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
        lacking = f"is accepted, without {', '.join(denied)}"
        yield Finding("warn", "key", lacking, "use another key if you need more; `weftwork keys create --scope`")
    else:
        yield Finding("ok", "key", f"is accepted; it has {', '.join(allowed)}, and other scopes were not tried")
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
    """Whether the events of the newest run come as a stream."""
    try:
        page = connection.request("GET", path_for("listRuns"), query={"limit": 1})
        rows = as_list(as_object(page).get("runs"))
        if not rows or not is_object(rows[0]):
            yield Finding("ok", "events", "not tried: there is no run yet")
            return
        path = path_for("streamRunEvents", runId=str(rows[0].get("runId")))
        yield _read_stream(connection, path)
    except (RequestRefused, HostUnreachable) as error:
        if isinstance(error, RequestRefused) and error.status in NOT_OFFERED:
            yield Finding("ok", "events", "not tried: this host does not list its runs")
        else:
            yield Finding("fail", "events", clean(error.format_message()))


def _read_stream(connection: Transport, path: str) -> Finding:
    opened = connection.open("GET", path, headers={"Accept": "text/event-stream"})
    try:
        if opened.media_type != "text/event-stream":
            said = f"come as {clean(opened.media_type, 60) or 'something unnamed'}"
            return Finding("fail", "events", said, "see that nothing between here and the host changes its answers")
        lines = (opened.response.readline(65_536) for _ in range(_MAX_LINES))
        if any(line.startswith((b"data:", b"event:", b"id:")) for line in lines):
            return Finding("ok", "events", "come as a stream")
    except OSError as error:
        raise connection.connection_lost(error) from None
    finally:
        opened.close()
    advice = "see that nothing between here and the host holds its answers back"
    return Finding("fail", "events", "the stream ended before the first event", advice)
