"""What is compared: each by its name in the results."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from tests.harness.postgres_server import DATABASE, PostgresServer

from bench.meter import server_cpu_seconds
from bench.postgres_server import started_server
from bench.subjects.host import Host, bare_memory, bare_sqlite, weftwork
from bench.subjects.peer import PeerLibrary

Subject = Host | PeerLibrary


def _dbos_postgres(folder: Path, server: PostgresServer) -> Subject:
    # DBOS creates the database.
    store = f"postgresql{server.url().removeprefix('postgres').removesuffix(DATABASE)}dbos"
    used = partial(server_cpu_seconds, server.pid)
    return PeerLibrary("dbos_postgres", "bench.subjects.peer_dbos", folder, store, used)


SUBJECT_FACTORIES: Final[dict[str, Callable[[Path], Subject]]] = {
    "weftwork": weftwork,
    "bare_memory": bare_memory,
    "bare_sqlite": bare_sqlite,
    "langgraph": lambda folder: PeerLibrary("langgraph", "bench.subjects.peer_langgraph", folder),
    "dbos": lambda folder: PeerLibrary("dbos", "bench.subjects.peer_dbos", folder),
}
POSTGRES_FACTORIES: Final[dict[str, Callable[[Path, PostgresServer], Subject]]] = {
    "weftwork_postgres": lambda folder, server: weftwork(folder, server=server),
    "dbos_postgres": _dbos_postgres,
}


@contextmanager
def started_subjects(names: list[str], folder: Path, say: Callable[[str], None]) -> Iterator[list[Subject]]:
    """All of them, ready for orders; killed at the end. Those in ON_POSTGRES share a server."""
    with ExitStack() as stack:
        subjects: list[Subject] = []
        server = None
        for name in names:
            if name in POSTGRES_FACTORIES:
                server = server or stack.enter_context(started_server(folder))
                made = POSTGRES_FACTORIES[name](folder / name, server)
            else:
                made = SUBJECT_FACTORIES[name](folder / name)
            subject = stack.enter_context(made)
            say(f"{name} is ready after {subject.wait():.1f} s")
            subjects.append(subject)
        yield subjects
