"""The seat: one process at a time, until it gives the seat up or dies."""

import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from weftwork.adapters.system.lock_file import LockFile
from weftwork.ports.storage.host_lock import HostLock, HostLocked

HOLDER = """
import sys
from weftwork.adapters.system.lock_file import LockFile
LockFile(sys.argv[1]).acquire()
print("taken", flush=True)
sys.stdin.read()
"""


def hold(path: Path) -> "subprocess.Popen[str]":
    """Another process that has the seat until its standard input ends or it is killed."""
    command = [sys.executable, "-c", HOLDER, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "taken\n"
    return process


def end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate(timeout=30)


def test_the_file_says_who_holds_the_seat(tmp_path: Path) -> None:
    path = tmp_path / "seat.lock"
    seat = LockFile(path)
    seat.acquire()
    assert path.read_text() == f"{os.getpid()} {seat.token}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    seat.release()
    assert path.read_text() == ""


def test_every_boot_has_a_token_of_its_own(tmp_path: Path) -> None:
    tokens = {LockFile(tmp_path / "seat.lock").token for _ in range(10)}
    assert len(tokens) == 10
    assert {len(token) for token in tokens} == {32}


def test_a_second_seat_is_refused_until_the_first_is_released(tmp_path: Path) -> None:
    first: HostLock = LockFile(tmp_path / "seat.lock")
    second: HostLock = LockFile(tmp_path / "seat.lock")
    first.acquire()
    first.acquire()
    with pytest.raises(HostLocked):
        second.acquire()
    first.release()
    first.release()
    second.acquire()
    with pytest.raises(HostLocked):
        first.acquire()
    second.release()


def test_another_process_is_named_and_its_death_frees_the_seat(tmp_path: Path) -> None:
    path = tmp_path / "seat.lock"
    seat = LockFile(path)
    process = hold(path)
    try:
        with pytest.raises(HostLocked, match=rf"another host \(process {process.pid}\) is using .*; stop it, or "):
            seat.acquire()
        assert path.read_text().startswith(f"{process.pid} ")
    finally:
        end(process)
    seat.acquire()
    assert path.read_text() == f"{os.getpid()} {seat.token}\n"
    seat.release()


def test_a_holder_without_a_process_id_is_another_host(tmp_path: Path) -> None:
    path = tmp_path / "seat.lock"
    first = LockFile(path)
    first.acquire()
    path.write_text("")
    with pytest.raises(HostLocked, match=r"^another host is using .*; stop it, or pass --data OTHER_DIR$"):
        LockFile(path).acquire()
    first.release()


def test_a_refused_seat_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "seat.lock"
    first = LockFile(path)
    first.acquire()
    before = path.read_text()
    with pytest.raises(HostLocked):
        LockFile(path).acquire()
    assert path.read_text() == before
    first.release()


def test_without_the_lock_two_would_sit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage: the tests above see a seat that locks nothing."""
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_a_second_seat_is_refused_until_the_first_is_released(tmp_path)
