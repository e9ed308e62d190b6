"""Hosts with assets: what they leave on the disk when they die, and how time passes for it."""

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

import apsw

from tests.crash.restartable_host import RestartableHost
from tests.harness.definitions import node, variable
from tests.live import until
from tests.live.host import TIMEOUT_SECONDS
from tests.live.steering import flow
from weftwork.wiring.data_folder import DATABASE_FILE


def _emitting_workflow(workflow_id: str, port: str, name: str) -> dict[str, Any]:
    inputs = {port: {"type": "variable", "variableName": name}}
    shown = node("show", "core.media.emit", config={"kind": "image", "alt": "A picture."}, inputs=inputs)
    return flow(workflow_id, [shown], [], [variable(name)])


class AssetHost(RestartableHost):
    workflows = (_emitting_workflow("shows", "data", "data"), _emitting_workflow("refers", "mediaRef", "photo"))

    @property
    def blobs(self) -> dict[str, Path]:
        """Key -> file of everything that is kept."""
        root = self.data / "assets"
        return {str(file.relative_to(root)): file for file in root.glob("*/*/*/*")}

    def age_assets(self) -> None:
        """For a dead host: nothing is held any longer, and every file is old."""
        with contextlib.closing(apsw.Connection(str(self.data / DATABASE_FILE))) as connection:
            connection.execute("UPDATE assets SET held_until = 0")
        for file in self.blobs.values():
            os.utime(file, (0, 0))

    def check_stored_assets(self) -> None:
        """What a dead host has left: every row has its bytes, and every count is right."""
        with contextlib.closing(apsw.Connection(str(self.data / DATABASE_FILE))) as connection:
            rows: list[Any] = connection.execute(
                "SELECT asset_no, partition, sha256, key, size, refs FROM assets"
            ).fetchall()
            pairs: list[Any] = connection.execute("SELECT asset_no, count(*) FROM asset_refs GROUP BY 1").fetchall()
            doomed = {key for (key,) in connection.execute("SELECT key FROM doomed_blobs")}
            used: list[Any] = connection.execute(
                "SELECT partition, count, size FROM asset_usage WHERE count"
            ).fetchall()
            assert connection.pragma("integrity_check") == "ok"
        blobs, sums = self.blobs, dict[str, list[int]]()
        for number, partition, digest, key, size, refs in rows:
            assert key in blobs, f"the row of {key} has no bytes"
            data = blobs[key].read_bytes()
            assert (hashlib.sha256(data).hexdigest(), len(data)) == (digest, size), f"the bytes of {key} are others"
            assert refs == dict(pairs).get(number, 0), f"{key} counts {refs} runs"
            assert key not in doomed, f"{key} is to be deleted and has a row"
            had = sums.setdefault(partition, [0, 0])
            sums[partition] = [had[0] + 1, had[1] + size]
        assert {partition: [count, size] for partition, count, size in used} == sums, "the usage is not the sum"
        assert dict(pairs).keys() <= {row[0] for row in rows}, "a run refers to a row that is not there"

    def await_sweep(self, needed: set[str], seconds: float = TIMEOUT_SECONDS) -> None:
        """Return when a host whose assets nobody holds has exactly what is needed, in its rows and on its disk."""

        def kept() -> tuple[list[str], list[str], int]:
            with contextlib.closing(
                apsw.Connection(str(self.data / DATABASE_FILE), apsw.SQLITE_OPEN_READONLY)
            ) as connection:
                rows = sorted(digest for (digest,) in connection.execute("SELECT sha256 FROM assets"))
                notes: Any = connection.execute("SELECT count(*) FROM doomed_blobs").fetchall()
            return rows, sorted(file.name.partition("-")[0] for file in self.blobs.values()), notes[0][0]

        wanted = sorted(needed)
        try:
            until(lambda: kept() == (wanted, wanted, 0), "the sweep to end", seconds)
        except AssertionError:
            rows, files, notes = kept()
            missing, left = set(wanted) - set(files), sorted({*rows, *files} - set(wanted))
            raise AssertionError(f"after the sweep: missing {missing}, left over {left}, {notes} notes") from None
