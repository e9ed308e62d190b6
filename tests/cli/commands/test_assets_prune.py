"""`weftwork assets prune`: what nobody needs goes, on a running host and on the store of one that is not running."""

import contextlib
import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from tests.cli.terminal import run_at_terminal
from tests.live import start_host, until, weftwork
from tests.live.assets import PNG, list_assets, upload_asset

DIGEST = hashlib.sha256(PNG).hexdigest()


def prune(data: Path, *args: str) -> dict[str, Any]:
    done = weftwork(data.parent, "assets", "prune", "--json", "--data", data, *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def files(data: Path) -> list[Path]:
    return [each for each in (data / "assets").rglob("*") if each.is_file() and DIGEST in each.name]


NOTHING = {"found": 0, "deleted": 0, "freed": 0, "strays": 0, "dryRun": False}


def test_pruning_takes_what_nobody_needs_and_nothing_else(tmp_path: Path) -> None:
    with start_host(tmp_path, "--conformance") as host:
        run_id = host.create("conformance-noop", inputs={"photo": upload_asset(host, b"in use")["mediaRef"]})
        host.log(run_id)
        upload_asset(host, PNG)
        assert prune(host.data) == NOTHING, "it is held for a week"
        assert host.stop() == 0
    forget_holds(host.data)
    assert len(files(host.data)) == 1
    found = {"found": 1, "deleted": 0, "freed": 0, "strays": 0, "dryRun": True}
    assert prune(host.data, "--dry-run") == found
    done = weftwork(tmp_path, "assets", "prune", "--data", host.data)
    assert done.stdout == "1 asset deleted, 1.0 kB.\n"
    assert files(host.data) == []
    assert prune(host.data) == NOTHING
    with start_host(tmp_path, "--conformance", data=host.data) as again:
        assert [each["bytes"] for each in list_assets(again)["assets"]] == [6]
        upload_asset(again, PNG)
        forget_holds(again.data)
        assert prune(again.data)["deleted"] == 1, "and through the socket of a host that runs"
        until(lambda: not files(again.data), "the bytes to go")


def forget_holds(data: Path) -> None:
    """As if the time of every upload were over."""
    with contextlib.closing(sqlite3.connect(data / "weftwork.db", timeout=120)) as store, store:
        store.execute("UPDATE assets SET held_until = 1")


def test_somebody_at_a_terminal_is_asked(tmp_path: Path) -> None:
    with start_host(tmp_path) as host:
        upload_asset(host, PNG)
        assert host.stop() == 0
    forget_holds(host.data)
    line = ("assets", "prune", "--data", host.data)
    code, shown = run_at_terminal(tmp_path, b"n\n", *line)
    assert (code, "Delete 1 asset, 1.0 kB?" in shown) == (1, True)
    assert len(files(host.data)) == 1
    code, shown = run_at_terminal(tmp_path, b"", *line, "--yes")
    assert (code, "1 asset deleted" in shown) == (0, True)
    assert "there is no store" in weftwork(tmp_path, "assets", "prune", "--data", tmp_path / "none").stderr


def test_keys_need_no_place_of_bytes(tmp_path: Path) -> None:
    env = {"WEFTWORK_BLOBS": "s3://not a bucket"}
    made = weftwork(tmp_path, "keys", "create", "--tenant", "acme", "--data", tmp_path / "data", env=env)
    assert made.returncode == 0, made.stderr
    refused = weftwork(tmp_path, "assets", "prune", "--data", tmp_path / "data", env=env)
    assert (refused.returncode, "s3://bucket/prefix" in refused.stderr) == (1, True)
