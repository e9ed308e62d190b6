"""`weftwork signing`: the keys that links are signed with, on a running host and on the store of one that is not."""

import json
from pathlib import Path

from tests.live import start_host, weftwork


def test_keys_are_shown_renewed_and_dropped_without_their_secrets(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with start_host(tmp_path):
        first = weftwork(tmp_path, "signing", "ls", "--data", data, "--json")
        (row,) = json.loads(first.stdout)["keys"]
        assert row.keys() == {"kid", "createdAt", "signs"}
        made = json.loads(weftwork(tmp_path, "signing", "rotate", "--data", data, "--json").stdout)
        assert (made["signs"], made["kid"] != row["kid"]) == (True, True)
    shown = weftwork(tmp_path, "signing", "ls", "--data", data)
    assert shown.returncode == 0
    assert [line.split()[0] for line in shown.stdout.splitlines()] == [row["kid"], made["kid"]]
    dropped = weftwork(tmp_path, "signing", "drop", made["kid"], "--data", data, "--json")
    assert json.loads(dropped.stdout)["dropped"] == made["kid"]
    rest = json.loads(weftwork(tmp_path, "signing", "ls", "--data", data, "--json").stdout)["keys"]
    assert [each["signs"] for each in rest] == [False, True]
    assert json.loads(dropped.stdout)["signs"] == rest[1]["kid"]
    told = weftwork(tmp_path, "signing", "drop", row["kid"], "--data", data).stdout
    assert told == f"{row['kid']} is dropped, and every link that it signed; {rest[1]['kid']} signs.\n"


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    for args in (("ls",), ("rotate",), ("drop", "x")):
        refused = weftwork(tmp_path, "signing", *args, "--data", tmp_path / "none")
        assert (refused.returncode, "there is no store in" in refused.stderr) == (1, True)
    assert not (tmp_path / "none").exists()
    with start_host(tmp_path) as host:
        refused = weftwork(tmp_path, "signing", "drop", "x", "--data", host.data)
        assert refused.returncode == 1
        assert "No signing key has the id x; see `weftwork signing ls`." in refused.stderr
