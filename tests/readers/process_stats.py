"""What the kernel knows of a host: its memory, and what waits in its connections. Needs Linux."""

import re
from pathlib import Path

from tests.live import Host, until
from tests.live.sabotage import sabotaged

_ESTABLISHED = "01"
_STEADY_LOOKS = 8


def without_guard(name: str) -> list[str]:
    return sabotaged(Path(__file__).with_name("sabotage.py"), name)


def memory(host: Host) -> int:
    """Bytes in memory now."""
    return _status(host, "VmRSS")


def peak(host: Host) -> int:
    """Most bytes in memory since `forget_peak`."""
    return _status(host, "VmHWM")


def forget_peak(host: Host) -> None:
    Path(f"/proc/{host.process.pid}/clear_refs").write_text("5")


def _status(host: Host, name: str) -> int:
    text = Path(f"/proc/{host.process.pid}/status").read_text("ascii")
    found = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def _queues(port: int) -> list[str]:
    """How much each connection of the port has sent that was not taken, as far as there is something."""
    local = f":{port:04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
    queues = [row[4].split(":")[0] for row in rows if row[1].endswith(local) and row[3] == _ESTABLISHED]
    return [queue for queue in queues if queue.strip("0")]


def wait_until_blocked(host: Host, count: int) -> None:
    """Return when so many connections of the host have something to send and none of them gets on."""
    seen: list[list[str]] = []

    def still() -> bool:
        seen.append(_queues(host.port))
        recent = seen[-_STEADY_LOOKS:]
        return len(recent) == _STEADY_LOOKS and len(recent[0]) == count and all(look == recent[0] for look in recent)

    until(still, f"{count} readers to be stuck")
