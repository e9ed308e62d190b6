"""`weftwork assets put`: standard input, and bytes that are not what they are said to be."""

import hashlib
import json
import os
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.foreign_host import HANG_UP, NOT_FOUND, CannedResponse, ForeignHost, run_on
from tests.live import Host
from tests.live.assets import PNG, UPLOADS
from tests.live.fixtures import host_fixture

POST = f"POST {UPLOADS}"
host = host_fixture("--conformance", store="memory")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dot.png").write_bytes(PNG)
    return tmp_path


def assets(host: Host, *args: str, code: int = 0, given: bytes | None = None) -> Result:
    return run_on(host, "assets", *args, code=code, given=given)


def test_a_type_that_the_bytes_do_not_have_is_told(host: Host, here: Path) -> None:
    (here / "photo.png").write_text("no picture at all")
    done = assets(host, "put", "photo.png", "dot.png", "--json")
    assert done.stderr == (
        "warning: photo.png does not look like image/png; the host stored it as application/octet-stream.\n"
    )
    assert [each["mimeType"] for each in json.loads(done.stdout)["assets"]] == ["application/octet-stream", "image/png"]
    said = assets(host, "put", "dot.png", "--type", "audio/wav").stderr
    assert said.startswith(
        "warning: dot.png does not look like audio/wav; the host stored it as application/octet-stream.\n"
    )
    (here / "any.bin").write_bytes(os.urandom(100))
    assert "warning" not in assets(host, "put", "any.bin").stderr


def test_standard_input_is_sent(host: Host, here: Path) -> None:
    data = PNG + os.urandom(600_000)
    done = assets(host, "put", "-", "--name", "piped.png", given=data)
    assert done.stdout == f"weftwork-asset:{hashlib.sha256(data).hexdigest()}\n"
    assert done.stderr.startswith("standard input: image/png, 0.6 MB, kept until ")
    assert assets(host, "get", done.stdout.strip(), "-o", "-").stdout_bytes == data
    told = json.loads(assets(host, "put", "dot.png", "-", "--json", given=b"hello").stdout)["assets"]
    assert [(each["file"], each.get("name"), each["mimeType"]) for each in told] == [
        ("dot.png", "dot.png", "image/png"),
        ("-", None, "text/plain"),
    ]
    typed = assets(host, "put", "-", "--type", "text/markdown", "--json", given=b"hello").stdout
    assert json.loads(typed)["assets"][0]["mimeType"] == "text/markdown"
    assert "standard input is empty" in assets(host, "put", "-", code=2, given=b"").stderr
    assert "can be given only once" in assets(host, "put", "-", "-", code=2, given=b"x").stderr


def test_standard_input_can_be_sent_again(
    foreign: ForeignHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in a file meanwhile, which is gone in the end, whatever the end is."""
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spool))
    digest = hashlib.sha256(b"piped").hexdigest()
    kept = CannedResponse(201, {"mediaRef": f"weftwork-asset:{digest}", "sha256": digest, "bytes": 5})
    replies = iter([HANG_UP, kept, NOT_FOUND])
    foreign.replies[POST] = lambda asked: next(replies)
    assert foreign.run_command("assets", "put", "-", given=b"piped").exit_code == 0
    assert [(asked.body, asked.query) for asked in foreign.requests] == [(b"piped", {})] * 2
    assert foreign.run_command("assets", "put", "-", given=b"piped").exit_code == 1
    assert list(spool.iterdir()) == []
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    done = foreign.run_command("assets", "put", "-", given=b"piped")
    cause = f"cannot be copied to a temporary file in {tmp_path / 'nowhere'}: No such file or directory."
    assert (done.exit_code, done.stderr) == (1, f"Error: standard input {cause}\n")
