"""The worker process: reads jobs from its standard input, and writes results to its standard output.

It imports only what an evaluation needs, so it starts in less than 100 ms and occupies about 25 MB. It ends when its
standard input ends, which happens at the latest when the host dies, because only the host has the other end of the
pipe. It has no other open files, no environment and no sockets. Its memory is limited for each job, and an evaluation
that needs more fails.
"""

import os
import resource
import signal
import sys
from typing import BinaryIO, Final

import msgspec

from weftwork.protocol.expressions.job import ExpressionJob, perform_job

MAX_MEMORY: Final = 160 * 2**20
"""Address space of a worker, for each place in the pool that its job takes."""
MAX_PLACES: Final = 2
"""Places that one job takes at most. Lists that map and filter build within MAX_ENTRY_WORK take up to 290 MiB."""
RETIRE_MEMORY: Final = 64 * 2**20
"""A worker that still occupies more after a job ends, so that an idle worker is small."""
NICENESS: Final = 5
"""Workers must not slow down the event loop of the host when the machine is busy."""
LENGTH_BYTES: Final = 4
KEEP: Final = b"\x00"
RETIRE: Final = b"\x01"


def main() -> None:
    """Serve jobs until the standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit_memory(MAX_PLACES)
    # Nothing that a library prints may get between the results.
    results = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin.buffer, results)


def serve(jobs: BinaryIO, results: BinaryIO) -> None:
    """Perform jobs until there are no more, or this process has become too large."""
    decoder = msgspec.json.Decoder(ExpressionJob)
    is_retiring = False
    while not is_retiring and (frame := _read_frame(jobs)) is not None:
        places, message = frame
        _limit_memory(places)
        result = perform_job(decoder.decode(message))
        is_retiring = _resident_bytes() > RETIRE_MEMORY
        encoded = msgspec.json.encode(result)
        results.write(len(encoded).to_bytes(LENGTH_BYTES) + (RETIRE if is_retiring else KEEP) + encoded)
        results.flush()


def _limit_memory(places: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (places * MAX_MEMORY, MAX_PLACES * MAX_MEMORY))


def _read_frame(jobs: BinaryIO) -> tuple[int, bytes] | None:
    """The places that a job takes, and the job."""
    head = jobs.read(LENGTH_BYTES + 1)
    if len(head) <= LENGTH_BYTES:
        return None
    size = int.from_bytes(head[:LENGTH_BYTES])
    message = jobs.read(size)
    return (head[LENGTH_BYTES], message) if len(message) == size else None


def _resident_bytes() -> int:
    """0 where the system does not say. The maximum that getrusage returns includes the memory of the parent process."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0
