"""What is compared: each by its name in the results."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from bench.subjects.host import Host, bare_memory, bare_sqlite, weftwork
from bench.subjects.peer import PeerLibrary

Subject = Host | PeerLibrary

SUBJECT_FACTORIES: Final[dict[str, Callable[[Path], Subject]]] = {
    "weftwork": weftwork,
    "bare_memory": bare_memory,
    "bare_sqlite": bare_sqlite,
    "langgraph": lambda folder: PeerLibrary("langgraph", "bench.subjects.peer_langgraph", folder),
    "dbos": lambda folder: PeerLibrary("dbos", "bench.subjects.peer_dbos", folder),
}


@contextmanager
def started_subjects(names: list[str], folder: Path, say: Callable[[str], None]) -> Iterator[list[Subject]]:
    """All of them, ready for orders; killed at the end."""
    with ExitStack() as stack:
        subjects: list[Subject] = []
        for name in names:
            subject = stack.enter_context(SUBJECT_FACTORIES[name](folder / name))
            say(f"{name} is ready after {subject.wait():.1f} s")
            subjects.append(subject)
        yield subjects
