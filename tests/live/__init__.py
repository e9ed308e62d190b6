"""Real hosts for tests: `weftwork serve` as a subprocess, and a client small enough to show every byte."""

from tests.live.host import KEY, OTHER_KEY, TEST_KEY, Answer, Host, start_host, until, weftwork
from tests.live.in_process_host import InProcessHost, open_in_process
from tests.live.listening_host import ListeningHost, in_thread, open_listening
from tests.live.seed import CHUNKS, SEEDED_RUN, seed_messages
from tests.live.stream import Frame, Stream, dechunk, frames
from tests.live.workflows import delays, echoes, write_workflows

__all__ = [
    "CHUNKS",
    "KEY",
    "OTHER_KEY",
    "SEEDED_RUN",
    "TEST_KEY",
    "Answer",
    "Frame",
    "Host",
    "InProcessHost",
    "ListeningHost",
    "Stream",
    "dechunk",
    "delays",
    "echoes",
    "frames",
    "in_thread",
    "open_in_process",
    "open_listening",
    "seed_messages",
    "start_host",
    "until",
    "weftwork",
    "write_workflows",
]
