"""An asset that two runs refer to: it is served until the last of them is gone, and then it goes."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.crash.assets.asset_history import AssetHistory, check_served, image_digest
from tests.crash.assets.asset_host import AssetHost
from tests.crash.restartable_host import stop
from tests.live import Host, until
from tests.live.host import TIMEOUT_SECONDS
from weftwork.adapters.admin.client import send_request

pytestmark = pytest.mark.slow

PICTURE = 5
Away = Callable[[Host, str], None]


def delete(host: Host, run_id: str) -> None:
    assert host.call("DELETE", f"/v1/runs/{run_id}").status == 204


def prune(host: Host, run_id: str) -> None:
    """As `weftwork runs prune` does it: everything that ended up to the end of this one."""
    ended = datetime.fromisoformat(host.snapshot(run_id)["completedAt"]).timestamp()
    arguments = {"completed_before": round(ended * 1000) + 1}
    answer = send_request(host.data / "admin.sock", {"operation": "runs.prune", "arguments": arguments})
    assert answer == {"deleted": 1, "more": False}


def shown_by(host: Host, run_id: str) -> str:
    """The path of the URL under which a run shows its picture."""
    return next(urlsplit(each["payload"]["url"]).path for each in host.log(run_id) if each["type"] == "media.image")


def share(ground: AssetHost, away: Away, patience: float = TIMEOUT_SECONDS) -> None:
    """One run brings a picture and another refers to it; the one goes, then the other."""
    album, host = AssetHistory(), ground.start()
    runs: list[str] = []
    for begin in (album.start_emitting_run, album.start_referring_run):
        runs.append(begin(host, PICTURE).run_id or "")
        album.await_ends(host)
    urls = [shown_by(host, run_id) for run_id in runs]
    assert len(set(urls)) == 2, "each run has a URL of its own"
    for url in urls:
        check_served(host, url, image_digest(PICTURE))

    away(host, runs[0])
    host = grown_old(ground, host)
    for url in urls:
        check_served(host, url, image_digest(PICTURE))
    ground.await_sweep({image_digest(PICTURE)})

    away(host, runs[1])
    # What a deleted run left is taken away behind the answer.
    until(lambda: {host.call("GET", url, key=None).status for url in urls} == {404}, "the asset to be gone", patience)
    host = grown_old(ground, host)
    ground.await_sweep(set())
    assert {host.call("GET", url, key=None).status for url in urls} == {404}
    stop(host)
    ground.check_stored_assets()


def grown_old(ground: AssetHost, host: Host) -> Host:
    """A new host on the same folder, after a time in which whatever was held is not held any more."""
    stop(host)
    ground.age_assets()
    return ground.start()


@pytest.mark.rule("media-20", "media-80")
@pytest.mark.parametrize("away", [delete, prune])
def test_an_asset_stays_until_the_last_run_that_refers_to_it_is_gone(tmp_path: Path, away: Away) -> None:
    with AssetHost(tmp_path) as ground:
        share(ground, away)


@pytest.mark.parametrize(
    ("sabotage", "seen"),
    [
        ("drop_references_of_other_runs", "not served"),
        ("drop_references", "not served"),
        ("keep_references_of_deleted_runs", "the asset to be gone"),
    ],
)
def test_a_host_that_lets_go_too_early_or_too_late_is_seen(tmp_path: Path, sabotage: str, seen: str) -> None:
    with AssetHost(tmp_path, sabotage) as ground, pytest.raises(AssertionError, match=seen):
        share(ground, delete, patience=2.0)
