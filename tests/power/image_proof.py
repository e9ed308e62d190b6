"""Crash images of a recording, each opened and compared with what was committed and what callers were told."""

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.power.audit import RunPositions, StoreAuditor, has_reached
from tests.power.disk_images import DiskState, put_image
from tests.power.recording_disk import QUICK_FOLDER
from tests.power.seeded_history import STORE, Recording
from weftwork.adapters.sqlite.database.connection import open_writer


class ImageCase(NamedTuple):
    """One image: the point of the power loss, a number for everything left to chance, and what is lost."""

    point: int
    number: int = 0
    loss: str | None = None


class ImageProof:
    """Looks at the images of one recording."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._auditor = StoreAuditor(recording.keyed)

    def sample(self, count: int) -> list[ImageCase]:
        """So many cases, anywhere in the recording."""
        dice = Random(self.recording.seed)
        return [ImageCase(dice.randint(0, len(self.recording.log)), number) for number in range(count)]

    def run(self, cases: Iterable[ImageCase], look: Callable[[ImageCase, Path], None] | None = None) -> int:
        """Check the image of each case, and hand it to `look` if there is such a one; returns how many there were."""
        seed, turns, faulty = self.recording[:3]
        drive = DiskState(self.recording.log, Random(seed))
        checked = 0
        for case in sorted(cases, key=lambda case: case.point):
            dice = Random(f"{seed} {case.point} {case.number}")
            drive.advance(case.point)
            with tempfile.TemporaryDirectory(dir=QUICK_FOLDER) as folder:
                put_image(Path(folder), drive.image(dice, case.loss), dice)
                try:
                    if look is not None:
                        look(case, Path(folder))
                    else:
                        self.check(folder, case.point)
                except Exception as error:
                    error.add_note(f"To see it again: Proof(record({seed}, {turns}, {faulty})).run([{case}])")
                    raise
            checked += 1
        return checked

    def check(self, folder: str | Path, point: int) -> None:
        """Open the image as a host does. Raises unless it is one of the states that it may be."""
        content, _ = self.check_sound(folder, point)
        states = self.recording.states
        oldest = max((at for at, state in enumerate(states) if state.settled <= point), default=0)
        newest = max((at for at, state in enumerate(states) if state.begun < point), default=oldest)
        possible = states[oldest : max(oldest, newest) + 1]
        known = any(state.content == content for state in possible)
        # A transaction that failed may come back, but only whole, and as long as the store was not mended.
        assert known or any(state.failed for state in possible), f"it is none of the states {oldest} to {newest}"

    def check_sound(self, folder: str | Path, point: int) -> tuple[bytes, RunPositions]:
        """The file is whole, all its parts agree, and whatever a caller was told before that point is so."""
        connection: Any = open_writer(Path(folder) / STORE, None)
        try:
            assert connection.pragma("integrity_check") == "ok", "the file is damaged"
            content, runs = self._auditor.check(connection)
            kept = {digest for (digest,) in connection.execute("SELECT sha256 FROM assets")}
        finally:
            connection.close(True)
        for ack in self.recording.acks:
            if ack.point <= point:
                assert ack.run_id in runs, f"{ack} is lost"
                assert has_reached(runs[ack.run_id], ack.status, ack.last_sequence), f"{ack}, now {runs[ack.run_id]}"
        known = {digest for at, digest in self.recording.kept if at <= point}
        assert known <= kept, "an asset is lost"
        return content, runs
