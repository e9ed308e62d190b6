"""Real hosts for tests: `weftwork serve` as a subprocess, and a client small enough to show every byte."""

from tests.live.host import KEY, OTHER_KEY, TEST_KEY, Answer, Host, start_host, until, weftwork
from tests.live.in_process_host import Inside, open_inside
from tests.live.listening_host import Served, elsewhere, open_served
from tests.live.seed import CHUNKS, SEEDED, seed_messages
from tests.live.stream import Frame, Stream, dechunk, frames
from tests.live.workflows import delays, echoes, write_workflows

__all__ = [
    "CHUNKS",
    "KEY",
    "OTHER_KEY",
    "SEEDED",
    "TEST_KEY",
    "Answer",
    "Frame",
    "Host",
    "Inside",
    "Served",
    "Stream",
    "dechunk",
    "delays",
    "echoes",
    "elsewhere",
    "frames",
    "open_inside",
    "open_served",
    "seed_messages",
    "start_host",
    "until",
    "weftwork",
    "write_workflows",
]
