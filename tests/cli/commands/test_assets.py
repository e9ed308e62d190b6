"""`weftwork assets`: files go to a host and come back as they were."""

import contextlib
import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.foreign_host import HANG_UP, CannedResponse, ForeignHost, ReceivedRequest, run_on
from tests.cli.terminal import run_at_terminal
from tests.live import KEY, OTHER_KEY, Host, start_host, until, weftwork
from tests.live.assets import PNG, UPLOADS, list_assets, upload_asset
from tests.live.fixtures import host_fixture
from weftwork.cli.client import upload
from weftwork.cli.commands import assets as asset_get

POST = f"POST {UPLOADS}"
LIST = f"GET {UPLOADS}"
DIGEST = hashlib.sha256(PNG).hexdigest()
REF = f"weftwork-asset:{DIGEST}"
host = host_fixture("--conformance", store="memory", env={"WEFTWORK_MAX_UPLOAD_BYTES": "3000000"})


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dot.png").write_bytes(PNG)
    return tmp_path


def assets(host: Host, *args: str, code: int = 0, key: str = KEY) -> Result:
    return run_on(host, "assets", *args, code=code, key=key)


def kept(data: bytes = PNG, **more: Any) -> CannedResponse:
    digest = hashlib.sha256(data).hexdigest()
    return CannedResponse(201, {"mediaRef": f"weftwork-asset:{digest}", "sha256": digest, "bytes": len(data), **more})


def test_a_file_comes_back_as_it_was(host: Host, here: Path) -> None:
    done = assets(host, "put", "dot.png")
    assert done.stdout == f"{REF}\n"
    assert re.fullmatch(
        r"dot\.png: image/png, 1\.0 kB, kept until .* UTC, or longer while a run refers to it\n", done.stderr
    )
    for at, asset in enumerate([REF, DIGEST, DIGEST[:12], list_assets(host)["assets"][0]["url"]]):
        fetched = assets(host, "get", asset, "-o", f"{at}.png")
        assert fetched.stdout == f"{at}.png: image/png, 1.0 kB\n"
        assert (here / f"{at}.png").read_bytes() == PNG
    assert assets(host, "get", REF).stdout.startswith(f"asset-{DIGEST[:16]}: ")
    assert assets(host, "get", REF, "-o", "-").stdout_bytes == PNG
    told = json.loads(assets(host, "get", REF, "-o", "again.png", "--json").stdout)
    assert told == {"file": "again.png", "bytes": len(PNG), "mimeType": "image/png"}
    assert not [each for each in here.iterdir() if each.name.startswith(".")]


def test_several_files_and_what_is_said_of_them(host: Host, here: Path) -> None:
    (here / "note.txt").write_text("hello")
    done = assets(host, "put", "dot.png", "note.txt")
    assert done.stdout.splitlines() == [REF, f"weftwork-asset:{hashlib.sha256(b'hello').hexdigest()}"]
    told = json.loads(assets(host, "put", "note.txt", "--name", "a b.txt", "--days", "30", "--json").stdout)["assets"]
    assert (told[0]["file"], told[0]["name"], told[0]["mimeType"]) == ("note.txt", "a b.txt", "text/plain")
    forced = json.loads(assets(host, "put", "note.txt", "--type", "text/markdown", "--json").stdout)["assets"]
    assert forced[0]["mimeType"] == "text/markdown"
    assert (
        "--name requires exactly one FILE" in assets(host, "put", "dot.png", "note.txt", "--name", "x", code=2).stderr
    )


def test_the_list_shows_what_there_is(host: Host) -> None:
    upload_asset(host, b"first of two")
    run_id = host.create("conformance-noop", inputs={"photo": upload_asset(host, b"second of two")["mediaRef"]})
    host.log(run_id)
    digest = hashlib.sha256(b"second of two").hexdigest()
    lines = assets(host, "ls", "--run", run_id).stdout.splitlines()
    assert lines[0].split() == ["asset", "type", "bytes", "age", "runs", "kept", "until"]
    assert lines[1].split()[:3] == [f"weftwork-asset:{digest}", "text/plain", "13"]
    assert len(lines) == 2
    every = json.loads(assets(host, "ls", "--all", "--json").stdout)
    assert every["usage"]["assets"] == len(every["assets"])
    assert len(json.loads(assets(host, "ls", "--limit", "1", "--json").stdout)["assets"]) == 1
    said = assets(host, "ls", "--limit", "2")
    assert re.search(r"^total: \d+ assets?, .* of 10\.7 GB$", said.stderr)
    usage = {"assets": 2, "bytes": 20, "quota": 100, "quotaUsed": 50}
    assert asset_get._usage_text(usage) == "total: 2 assets, 20 bytes; of both test and live keys 50 bytes of 100 bytes"
    assert asset_get._usage_text({**usage, "quotaUsed": 20}) == "total: 2 assets, 20 bytes of 100 bytes"
    assert asset_get._usage_text({"assets": 1, "bytes": 20}) == "total: 1 asset, 20 bytes"
    assert "no assets of this run." in assets(host, "ls", "--run", "01zzzzzzzzzzzzzzzzzzzzzzzz").stderr
    assert "no assets." in assets(host, "ls", key=OTHER_KEY).stderr


def test_a_terminal_is_shown_short_names_that_can_be_used(host: Host, here: Path) -> None:
    ref = upload_asset(host, b"for a terminal")["mediaRef"]
    env = ("--url", host.address, "--key", KEY)
    code, shown = run_at_terminal(here, b"", "assets", "ls", "--limit", "1", *env)
    short = shown.splitlines()[1].split()[0]
    assert (code, short) == (0, ref.rpartition(":")[2][:16])
    assert weftwork(here, "assets", "get", short, "-o", "got", *env).returncode == 0
    assert (here / "got").read_bytes() == b"for a terminal"
    code, shown = run_at_terminal(here, b"", "assets", "get", short, "-o", "-", *env)
    assert (code, "binary data to the terminal" in shown) == (2, True)
    assert "for a terminal" not in shown


def test_all_pages_are_read(foreign: ForeignHost) -> None:
    def page(asked: ReceivedRequest) -> CannedResponse:
        at = int(asked.query.get("cursor", ["0"])[0])
        rows = [{"mediaRef": f"weftwork-asset:{at + n:064x}", "url": f"/x/{at + n}"} for n in range(200)]
        return CannedResponse(200, {"assets": rows, **({"nextCursor": str(at + 200)} if at < 400 else {})})

    foreign.replies[LIST] = page
    assert len(json.loads(foreign.run_command("assets", "ls", "--all", "--json").stdout)["assets"]) == 600
    assert len(json.loads(foreign.run_command("assets", "ls", "--limit", "250", "--json").stdout)["assets"]) == 250
    foreign.replies["GET /x/599"] = CannedResponse(200, raw=b"last")
    done = foreign.run_command("assets", "get", f"weftwork-asset:{599:064x}", "-o", "x")
    assert (done.exit_code, "digest is not that of the asset" in done.stderr) == (6, True)
    foreign.replies[LIST] = CannedResponse(200, {"assets": [{}], "nextCursor": "same"})
    assert foreign.run_command("assets", "ls", "--all").exit_code == 0


def test_what_cannot_be_sent_is_told_before_anything_is(foreign: ForeignHost, here: Path) -> None:
    (here / "empty").touch()
    (here / "folder").mkdir()
    os.mkfifo(here / "pipe")
    for bad, why in (
        ("nowhere", "cannot be read: No such file"),
        ("empty", "is empty"),
        ("folder", "is a folder"),
        ("pipe", "is not a regular file"),
        ("nul\0", "cannot be read"),
    ):
        done = foreign.run_command("assets", "put", "dot.png", bad)
        assert (done.exit_code, why in done.stderr) == (2, True), done.stderr
    assert "is not a media type" in foreign.run_command("assets", "put", "dot.png", "--type", "image\r\nx: y").stderr
    assert foreign.requests == []


def test_the_digest_goes_along_and_is_compared(foreign: ForeignHost) -> None:
    foreign.replies[POST] = kept()
    assert foreign.run_command("assets", "put", "dot.png").exit_code == 0
    asked = foreign.requests[-1]
    assert asked.body == PNG
    assert asked.headers["content-type"] == "image/png"
    assert asked.headers["content-digest"].startswith("sha-256=:")
    assert (asked.headers["content-length"], asked.query["name"]) == (str(len(PNG)), ["dot.png"])
    for wrong in (
        kept(b"other"),
        CannedResponse(201, {}),
        CannedResponse(201, []),
        CannedResponse(201, {"mediaRef": 7}),
    ):
        foreign.replies[POST] = wrong
        done = foreign.run_command("assets", "put", "dot.png")
        assert (done.exit_code, done.stdout) == (6, "")


def test_refusals_say_what_to_do(host: Host, foreign: ForeignHost, here: Path) -> None:
    (here / "large.bin").write_bytes(bytes(3_000_001))
    refused = assets(host, "put", "large.bin", code=7)
    assert "large.bin has 3.0 MB; the host accepts up to 3.0 MB" in refused.stderr
    assert assets(host, "put", "dot.png", code=7, key="wrong").exit_code == 7
    assert "this host does not accept files" in foreign.run_command("assets", "put", "dot.png").stderr
    assert "does not list assets" in foreign.run_command("assets", "ls").stderr
    foreign.replies[LIST] = CannedResponse(200, {"assets": 7})
    assert "without a list of assets" in foreign.run_command("assets", "ls").stderr
    assert f"no asset matches {'0' * 64}" in assets(host, "get", "0" * 64, code=1).stderr
    assert "is not a URL, a mediaRef" in assets(host, "get", "dot.png", code=2).stderr
    for short in ("569c60", "weftwork-asset:569c60f"):
        assert "enter at least 8 digits" in assets(host, "get", short, code=2).stderr
    gone = assets(host, "get", f"{host.address}{UPLOADS}/v1.k.AAAA.{'A' * 43}", code=7)
    assert "There is no such asset" in gone.stderr


def test_a_broken_connection_is_tried_again(foreign: ForeignHost) -> None:
    replies = iter([HANG_UP, HANG_UP, kept()])
    foreign.replies[POST] = lambda asked: next(replies)
    assert foreign.run_command("assets", "put", "dot.png").exit_code == 0
    assert [asked.body for asked in foreign.requests] == [PNG] * 3


def test_a_file_that_becomes_shorter_is_not_waited_for(
    foreign: ForeignHost, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Shrinking(upload.Upload):
        def __iter__(self) -> Iterator[bytes]:
            (here / "dot.png").write_bytes(b"x")
            return super().__iter__()

    foreign.replies[POST] = kept()
    monkeypatch.setattr(asset_get, "Upload", Shrinking)
    done = foreign.run_command("assets", "put", "dot.png")
    assert (done.exit_code, "was truncated during the upload" in done.stderr) == (1, True)


def test_what_is_there_is_not_written_over(host: Host, here: Path) -> None:
    upload_asset(host, PNG)
    (here / "mine").write_text("mine")
    (here / "folder").mkdir()
    assert "already exists; overwrite it with --force" in assets(host, "get", REF, "-o", "mine", code=2).stderr
    assert "is a folder" in assets(host, "get", REF, "-o", "folder", "--force", code=2).stderr
    assert "cannot be written" in assets(host, "get", REF, "-o", "nowhere/x", code=1).stderr
    assert (here / "mine").read_text() == "mine"
    assets(host, "get", REF, "-o", "mine", "--force")
    assert (here / "mine").read_bytes() == PNG
    assets(host, "get", REF)
    assert "already exists" in assets(host, "get", REF, code=2).stderr
    assert not [each for each in here.iterdir() if each.name.startswith(".")]


def test_half_an_asset_is_none(foreign: ForeignHost, here: Path) -> None:
    before = set(here.iterdir())
    for said in (
        CannedResponse(200, raw=b"half", headers={"Content-Length": "9", "Connection": "close"}),
        CannedResponse(200, raw=b"other", headers={"ETag": f'"{DIGEST}"'}),
    ):
        foreign.replies["GET /a"] = said
        done = foreign.run_command("assets", "get", f"{foreign.url}/a", "-o", "half")
        assert done.exit_code == 6, done.output
        assert set(here.iterdir()) == before


def test_without_the_comparison_other_bytes_would_be_kept(
    foreign: ForeignHost, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asset_get, "_etag_digest", lambda opened: None)
    foreign.replies["GET /a"] = CannedResponse(200, raw=b"other", headers={"ETag": f'"{DIGEST}"'})
    assert foreign.run_command("assets", "get", f"{foreign.url}/a", "-o", "half").exit_code == 0
    with pytest.raises(AssertionError):
        test_half_an_asset_is_none(foreign, here)


def test_the_key_goes_to_no_url(foreign: ForeignHost) -> None:
    foreign.replies["GET /a"] = CannedResponse(200, raw=b"x")
    assert foreign.run_command("assets", "get", f"{foreign.url}/a", "-o", "x").exit_code == 0
    foreign.replies[LIST] = CannedResponse(200, {"assets": [{"mediaRef": f"weftwork-asset:{'a' * 64}", "url": "/a"}]})
    foreign.run_command("assets", "get", "a" * 64, "-o", "y")
    sent = [(asked.path, "authorization" in asked.headers) for asked in foreign.requests]
    assert sent == [("/a", False), (UPLOADS, True), ("/a", False)]
    foreign.replies["GET /a"] = CannedResponse(302, {}, headers={"Location": "/b"})
    assert foreign.run_command("assets", "get", f"{foreign.url}/a", "-o", "z").exit_code == 7


def test_a_terminal_is_shown_how_much_was_sent(host: Host, here: Path) -> None:
    (here / "two.bin").write_bytes(os.urandom(2_500_000))
    env = ("--url", host.address, "--key", KEY)
    code, shown = run_at_terminal(here, b"", "assets", "put", "two.bin", *env)
    assert code == 0, shown
    assert "sent of 2.5 MB: 2." in shown
    quiet = weftwork(here, "assets", "put", "two.bin", *env)
    assert (quiet.returncode, "sent of" in quiet.stderr) == (0, False)


def prune(data: Path, *args: str) -> dict[str, Any]:
    done = weftwork(data.parent, "assets", "prune", "--json", "--data", data, *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def files(data: Path) -> list[Path]:
    return [each for each in (data / "assets").rglob("*") if each.is_file() and DIGEST in each.name]


NOTHING = {"count": 0, "deleted": 0, "freedBytes": 0, "orphanFiles": 0, "dryRun": False}


def test_pruning_takes_what_nobody_needs_and_nothing_else(tmp_path: Path) -> None:
    with start_host(tmp_path, "--conformance") as host:
        run_id = host.create("conformance-noop", inputs={"photo": upload_asset(host, b"in use")["mediaRef"]})
        host.log(run_id)
        upload_asset(host, PNG)
        assert prune(host.data) == NOTHING, "it is held for a week"
        assert host.stop() == 0
    forget_holds(host.data)
    assert len(files(host.data)) == 1
    found = {"count": 1, "deleted": 0, "freedBytes": 0, "orphanFiles": 0, "dryRun": True}
    assert prune(host.data, "--dry-run") == found
    done = weftwork(tmp_path, "assets", "prune", "--data", host.data)
    assert done.stdout == "deleted 1 asset, 1.0 kB.\n"
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
    assert (code, "deleted 1 asset, 1.0 kB." in shown) == (0, True)
    assert "no store in" in weftwork(tmp_path, "assets", "prune", "--data", tmp_path / "none").stderr


def test_keys_need_no_place_of_bytes(tmp_path: Path) -> None:
    env = {"WEFTWORK_BLOBS": "s3://not a bucket"}
    made = weftwork(tmp_path, "keys", "create", "--tenant", "acme", "--data", tmp_path / "data", env=env)
    assert made.returncode == 0, made.stderr
    refused = weftwork(tmp_path, "assets", "prune", "--data", tmp_path / "data", env=env)
    assert (refused.returncode, "s3://bucket/prefix" in refused.stderr) == (1, True)
