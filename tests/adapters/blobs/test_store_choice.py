"""Which store the settings come to."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from weftwork.adapters.blobs.local import LocalBlobs
from weftwork.adapters.blobs.memory import MemoryBlobs
from weftwork.adapters.blobs.object_storage import ObjectBlobs
from weftwork.ports.storage.blobs import Blobs
from weftwork.settings import Settings, SettingsError
from weftwork.testing.deterministic import ManualClock, SequentialIds
from weftwork.wiring.blob_store import build_blobs


def chosen(environ: dict[str, str] | None = None, **settings: Any) -> Blobs:
    return build_blobs(Settings(**settings), ManualClock(), SequentialIds(), environ or {})


def test_a_folder_beside_the_database(tmp_path: Path) -> None:
    blobs = chosen(data=str(tmp_path))
    assert isinstance(blobs, LocalBlobs)
    assert blobs._path == tmp_path / "assets"
    assert list(tmp_path.iterdir()) == [], "nothing is made before it is opened"


def test_memory_with_a_store_in_memory() -> None:
    assert isinstance(chosen(store="memory"), MemoryBlobs)


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("text", ["s3://flows", "s3://flows/", "s3://flows/some/prefix", "s3://a.b-c/x_Y.z/"])
def test_object_storage(store: str, text: str) -> None:
    assert isinstance(chosen(store=store, blobs=text), ObjectBlobs)


@pytest.mark.parametrize(
    "text",
    """
    s3: s3:// s3:/// s3://a S3://flows s3://flows?x s3://flows#x s3://key:canary@flows/x gs://flows file:///x /x flows
    s3://flows/../x s3://flows/a/./b s3://flows/a//b s3://Flows http://flows s3://flows/%2e s3://-flows
    """.split(),
)
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(SettingsError, match=r"blobs must be empty, .* or like s3://bucket/prefix") as caught:
        chosen(blobs=text)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("name", ["AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_no_tls_has_to_be_asked_for(name: str) -> None:
    given = {name: "http://127.0.0.1:9000"}
    with pytest.raises(SettingsError, match=f"{name} has no TLS; with AWS_ALLOW_HTTP=true"):
        chosen(given, blobs="s3://flows")
    with pytest.raises(SettingsError):
        chosen({**given, "AWS_ALLOW_HTTP": "false"}, blobs="s3://flows")
    assert chosen({**given, "AWS_ALLOW_HTTP": "true"}, blobs="s3://flows")
    assert chosen({name: "https://127.0.0.1:9000"}, blobs="s3://flows")


WITHOUT = """
import sys

class Away:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "obstore":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Away())
from weftwork import Host, Settings
from weftwork.settings import SettingsError
from weftwork.wiring.blob_store import build_blobs as host_blobs
assert host_blobs(Settings(data="x"), None, None) is not None
try:
    host_blobs(Settings(data="x", blobs="s3://flows"), None, None, {})
except SettingsError as error:
    print(error)
"""


def test_without_the_packages_it_says_what_to_install(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.stdout == "blobs on s3:// needs more packages: pip install 'weftwork[blobs]'\n", ended.stderr


def test_a_host_without_object_storage_loads_none_of_it(tmp_path: Path) -> None:
    code = "import sys, weftwork, weftwork.app, weftwork.wiring.blob_store; print('obstore' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ended.stdout == "False\n", ended.stderr
