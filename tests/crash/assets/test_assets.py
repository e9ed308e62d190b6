"""Assets under kills: what an acknowledged upload or a committed event names is there, whole, wherever a host died."""

import contextlib
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.assets.asset_history import UPLOADS, AssetHistory, image_bytes, image_digest
from tests.crash.assets.asset_host import AssetHost
from tests.crash.restartable_host import check_killed_at, has_started, stop
from tests.harness.definitions import FULL
from tests.live import KEY, Host, until
from weftwork.ports.fault_points import POINTS

pytestmark = pytest.mark.slow

LIVES = 40 if FULL else 2
CLIENTS = 4
PICTURES = 24
LARGE = 7
"""A picture that takes several writes."""
WRITING = ("blob.partial", "blob.synced", "blob.renamed", "asset.kept", "asset.written")
SWEEPING = ("asset.doomed", "blob.deleted", "asset.deleted", "asset.buried")
EMITTING = [(name, nth) for nth in ((1, 2) if FULL else (1,)) for name in ("append.begin", "append.durable")]
"""Appends of a run that shows a picture: the one that names the picture, and the one with its end."""
PROVED = {*WRITING, *SWEEPING}
"""The points that belong to assets."""


def test_every_point_of_assets_is_put_to_the_proof() -> None:
    assert {name for name in POINTS if name.startswith(("blob.", "asset."))} == PROVED


@pytest.mark.parametrize("name", WRITING if FULL else WRITING[::4])
@pytest.mark.parametrize("number", [1, LARGE] if FULL else [LARGE])
def test_an_upload_is_whole_or_not_there_wherever_the_host_is_killed(tmp_path: Path, name: str, number: int) -> None:
    album = AssetHistory()
    with AssetHost(tmp_path) as ground:
        host = ground.start(f"{name}:2:kill")
        assert album.upload(host, 3) == 201
        album.start_referring_run(host, 3)
        album.await_ends(host)
        assert album.upload(host, number) == 0, "nobody may be told"
        check_killed_at(host, name)
        ground.check_stored_assets()
        ground.age_assets()
        album.expire_holds()
        host = ground.start()
        assert album.upload(host, number) == 201
        assert swept(ground, album, host) == {image_digest(3), image_digest(number)}
        stop(host)


def test_an_upload_that_is_cut_off_with_its_host_leaves_nothing(tmp_path: Path) -> None:
    album = AssetHistory()
    with AssetHost(tmp_path) as ground:
        host = ground.start()
        with half_sent(host, LARGE):
            until(lambda: list((ground.data / "assets" / "partial").iterdir()) or None, "a part of it on the disk")
            host.kill()
        ground.check_stored_assets()
        host = ground.start()
        assert album.check_assets(host) == set()
        assert not ground.blobs
        stop(host)


@pytest.mark.rule("media-20")
@pytest.mark.parametrize(("name", "nth"), [*((name, 1) for name in (WRITING if FULL else WRITING[2:3])), *EMITTING])
def test_a_picture_that_a_run_shows_is_there_wherever_the_host_is_killed(tmp_path: Path, name: str, nth: int) -> None:
    album = AssetHistory()
    with AssetHost(tmp_path) as ground:
        host = ground.start(f"{name}:{nth}:kill")
        album.start_emitting_run(host, LARGE)
        check_killed_at(host, name)
        ground.check_stored_assets()
        ground.age_assets()
        host = ground.start()
        if not album.undeleted_runs:
            # Nobody was told of the run; it may be there.
            album.start_emitting_run(host, LARGE)
        assert swept(ground, album, host) == {image_digest(LARGE)}
        stop(host)
        ground.check_stored_assets()


@pytest.mark.rule("media-80")
@pytest.mark.parametrize("name", SWEEPING if FULL else SWEEPING[::3])
def test_a_sweep_that_is_killed_takes_only_what_nobody_needs(tmp_path: Path, name: str) -> None:
    with AssetHost(tmp_path) as ground:
        album = leave_some(ground)
        host = ground.launch(f"{name}:1:kill")
        has_started(host)
        check_killed_at(host, name)
        ground.check_stored_assets()
        host = ground.start()
        assert swept(ground, album, host) == {image_digest(2), image_digest(4), image_digest(5)}
        stop(host)


def test_a_disk_that_fails_again_and_again_keeps_what_it_has_acknowledged(tmp_path: Path) -> None:
    album, refused = AssetHistory(), 0
    with AssetHost(tmp_path) as ground:
        host = ground.start(",".join(f"{name}:{nth}:raise" for nth in (1, 3) for name in WRITING))
        for number in (LARGE, 1, LARGE, 2):
            while (status := album.upload(host, number)) != 201:
                assert status == 503
                refused += 1
        album.check_assets(host)
        assert "Traceback" not in host.errors
        stop_swept(ground, album, host)
    assert refused == 2 * len(WRITING)


@pytest.mark.rule("media-20", "media-80")
def test_killed_at_any_moment_a_host_keeps_every_asset_that_is_needed(tmp_path: Path) -> None:
    chance, album = random.Random(9), AssetHistory()
    with AssetHost(tmp_path) as ground:
        for _ in range(LIVES):
            host = ground.start()
            album.check_assets(host)
            storm(host, album, chance)
            ground.check_stored_assets()
            if chance.random() < 0.6:
                ground.age_assets()
                album.expire_holds()
        host = ground.start()
        album.await_ends(host)
        for wish in album.undeleted_runs[::2]:
            album.delete(host, wish)
        stop_swept(ground, album, host)
    assert album.checked > (LIVES if FULL else 0)


@pytest.mark.parametrize(
    ("sabotage", "seen"),
    [
        ("drop_references", "not served"),
        ("sweep_referenced", "not served"),
        ("skip_orphan_scan", "left over"),
        ("keep_references_of_deleted_runs", "left over"),
    ],
)
def test_a_host_that_keeps_too_little_or_too_much_is_seen(tmp_path: Path, sabotage: str, seen: str) -> None:
    def proof(ground: AssetHost) -> None:
        album = leave_some(ground)
        host = ground.start()
        until(lambda: "unreferenced assets deleted" in host.errors, "the sweep to end")
        ground.await_sweep(album.check_assets(host), 0)

    with AssetHost(tmp_path, sabotage) as ground, pytest.raises(AssertionError, match=seen):
        proof(ground)


def test_a_host_that_speaks_before_its_bytes_are_there_is_seen(tmp_path: Path) -> None:
    album = AssetHistory()
    with AssetHost(tmp_path, "commit_blob_late") as ground:
        host = ground.start("asset.written:1:kill")
        album.upload(host, LARGE)
        check_killed_at(host, "asset.written")
        with pytest.raises(AssertionError, match="has no bytes"):
            ground.check_stored_assets()


def test_a_sweep_that_deletes_bytes_before_rows_is_seen(tmp_path: Path) -> None:
    with AssetHost(tmp_path, "delete_blob_before_row") as ground:
        leave_some(ground)
        host = ground.launch("asset.deleted:1:kill")
        has_started(host)
        check_killed_at(host, "asset.deleted")
        with pytest.raises(AssertionError, match="has no bytes"):
            ground.check_stored_assets()


def test_a_host_that_leaves_parts_lying_about_is_seen(tmp_path: Path) -> None:
    album = AssetHistory()
    with AssetHost(tmp_path, "keep_partial_files") as ground:
        host = ground.start("blob.synced:1:kill")
        album.upload(host, LARGE)
        check_killed_at(host, "blob.synced")
        with pytest.raises(AssertionError, match="a part of an asset"):
            album.check_assets(ground.start())


def leave_some(ground: AssetHost) -> AssetHistory:
    """A store in which pictures 2, 4 and 5 are needed by runs and 1, 3 and a stray by nobody, long ago."""
    album = AssetHistory()
    host = ground.start()
    for number in (1, 2):
        assert album.upload(host, number) == 201
    for begin, number in (
        (album.start_emitting_run, 3),
        (album.start_emitting_run, 4),
        (album.start_emitting_run, 4),
        (album.start_referring_run, 2),
        (album.start_emitting_run, 5),
    ):
        begin(host, number)
    album.check_assets(host)
    for wish in (album.image_runs[0], album.image_runs[1]):
        album.delete(host, wish)
    stop(host)
    digest = image_digest(6)
    stray = ground.data / "assets" / ("0" * 32) / digest[:2] / digest[2:4] / f"{digest}-{'0' * 24}"
    stray.parent.mkdir(parents=True)
    stray.write_bytes(image_bytes(6))
    ground.age_assets()
    album.expire_holds()
    return album


def swept(ground: AssetHost, album: AssetHistory, host: Host) -> set[str]:
    """What is left once a host has swept: exactly what is needed, and all of that is served."""
    needed = album.check_assets(host)
    ground.await_sweep(needed)
    assert album.check_assets(host) == needed
    return needed


def stop_swept(ground: AssetHost, album: AssetHistory, host: Host) -> None:
    """The end of a proof: after a clean stop and a long time, a host sweeps and keeps its word."""
    album.await_ends(host)
    stop(host)
    ground.check_stored_assets()
    ground.age_assets()
    album.expire_holds()
    host = ground.start()
    swept(ground, album, host)
    stop(host)
    ground.check_stored_assets()


@contextlib.contextmanager
def half_sent(host: Host, number: int) -> Iterator[None]:
    """Within it, the first half of an upload is sent and the rest does not come."""
    body = image_bytes(number)
    lines = [f"POST {UPLOADS} HTTP/1.1", "Host: x", f"Authorization: Bearer {KEY}", f"Content-Length: {2 * len(body)}"]
    with host.connect() as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        yield


def storm(host: Host, album: AssetHistory, chance: random.Random) -> None:
    """Clients that upload, show, refer and delete, until the host is killed in the middle of it."""
    faults: list[BaseException] = []

    def client(dice: random.Random) -> None:
        try:
            while host.process.poll() is None:
                begin = dice.choice((album.upload, album.start_emitting_run, album.start_referring_run, None))
                if begin is not None:
                    begin(host, dice.randrange(PICTURES))
                elif standing := album.undeleted_runs:
                    album.delete(host, dice.choice(standing))
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=client, args=(random.Random(chance.random()),)) for _ in range(CLIENTS)]
    for each in threads:
        each.start()
    time.sleep(chance.uniform(0.1, 1.0))
    host.kill()
    for each in threads:
        each.join(120)
    assert not faults, faults
