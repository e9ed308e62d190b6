"""The model server: llama.cpp with an OpenAI-compatible API, from the package xllamacpp.

The process listens on the loopback address only and answers only requests with its key. It gets its options on standard
input and ends when standard input ends, which happens at the latest when the host dies. Its address space is limited.
"""

import os
import resource
import signal
import sys
from typing import Any, Final, cast

import msgspec

LOOPBACK: Final = "127.0.0.1"
READY: Final = b"ready\n"
"""Written to standard output once the server answers requests."""
NICENESS: Final = 5
"""The model must not slow down the event loop of the host when the machine is busy."""
HTTP_THREADS: Final = 8
_WARNINGS: Final = 2
"""The level of log messages, without those about each request."""
_PR_SET_PDEATHSIG: Final = 1


class ServerOptions(msgspec.Struct, frozen=True):
    weights: str
    model: str
    """The name of the model in the API."""
    port: int
    key: str
    """The key that requests must have. It is in no argument and no variable, which other processes could read."""
    threads: int
    slots: int
    """Requests that are answered at the same time; others wait."""
    slot_tokens: int
    """Tokens of the prompt and the answer of one request together."""
    max_memory: int
    """The limit of the address space, in bytes."""


def main() -> None:
    """Serve requests until standard input ends."""
    # Signals to the process group are for the host, which ends this process in its own time.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    end_with_parent()
    options = msgspec.json.decode(sys.stdin.buffer.readline(), type=ServerOptions)
    resource.setrlimit(resource.RLIMIT_AS, (options.max_memory, options.max_memory))
    # Nothing that the library prints may reach the pipe of READY.
    ready = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server = start_server(options)
    os.write(sys.stderr.fileno(), f"{options.weights}: {server.listening_address}\n".encode())
    os.write(ready, READY)
    while sys.stdin.buffer.read(4096):
        pass
    # The library would wait for the answers in progress.
    os._exit(0)


def start_server(options: ServerOptions) -> Any:
    """A server that answers requests in threads of its own. Raises RuntimeError if it cannot load the weights or
    cannot listen."""
    import xllamacpp  # pyright: ignore[reportMissingTypeStubs]

    library = cast("Any", xllamacpp)
    params = library.CommonParams()
    params.model.path = options.weights
    params.model_alias = {options.model}
    params.hostnames = [LOOPBACK]
    params.port = options.port
    # The host holds the port with a socket of its own.
    params.reuse_port = True
    params.api_keys = [options.key]
    params.n_ctx = options.slots * options.slot_tokens
    params.n_parallel = options.slots
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = options.threads
    params.n_threads_http = HTTP_THREADS
    params.verbosity = _WARNINGS
    # No saved prompts in memory, no pages for people, and no endpoint that shows the prompts of others.
    params.cache_ram_mib = 0
    params.ui = params.endpoint_slots = params.endpoint_props = params.cache_idle_slots = False
    params.offline = True
    return library.Server(params)


def end_with_parent() -> None:
    """Let the kernel end this process with the thread that started it. Loading the weights takes a while, during which
    nothing here could notice the end of standard input."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
