"""`make dist` and `make audit`: the lock file, the SBOM, and what an audit without a source says."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tools import audit, dist

from tests.harness.cases import each_case
from tests.harness.definitions import FULL

ROOT = Path(__file__).parents[2]
HASH = "0123456789abcdef" * 4


def package(name: str, version: str = "1.0", direct: bool = False, **metadata: Any) -> dict[str, Any]:
    """An entry of a pip report."""
    url = f"https://registry.example/{name}-{version}.whl"
    info = {"url": url, "archive_info": {"hashes": {"sha256": HASH}}}
    described = {"name": name, "version": version, **metadata}
    return {"download_info": info, "is_direct": direct, "metadata": described}


REPORT = [
    package(
        "weftwork", "0.1.0", True, license_expression="Apache-2.0", requires_dist=["B.c>=1", "gone; os_name=='nt'"]
    ),
    package("B_c", license="MIT", requires_dist=["a-d (>=2)", "x; extra == 'x'"]),
    package("a-d", "2.1", license="text " * 100),
    package("x"),
]


def test_the_lock_has_every_package_but_the_wheel_and_no_registry() -> None:
    lines = dist.lock_text(REPORT, "3.11", "linux").splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        f"a-d==2.1 --hash=sha256:{HASH}",
        f"b-c==1.0 --hash=sha256:{HASH}",
        f"x==1.0 --hash=sha256:{HASH}",
    ]
    assert "Python 3.11 on linux" in lines[0]


def test_the_sbom_has_hashes_licences_and_dependencies() -> None:
    document = dist.sbom(REPORT)
    assert (document["bomFormat"], document["specVersion"], document["version"]) == ("CycloneDX", "1.6", 1)
    subject = document["metadata"]["component"]
    assert (subject["type"], subject["purl"]) == ("application", "pkg:pypi/weftwork@0.1.0")
    assert subject["licenses"] == [{"license": {"name": "Apache-2.0"}}]
    purls = [each["purl"] for each in document["components"]]
    assert purls == ["pkg:pypi/a-d@2.1", "pkg:pypi/b-c@1.0", "pkg:pypi/x@1.0"]
    assert all(each["hashes"] == [{"alg": "SHA-256", "content": HASH}] for each in document["components"])
    assert [each.get("licenses") for each in document["components"]] == [None, [{"license": {"name": "MIT"}}], None]
    needs = {each["ref"]: each["dependsOn"] for each in document["dependencies"]}
    assert needs["pkg:pypi/weftwork@0.1.0"] == ["pkg:pypi/b-c@1.0"]
    assert needs["pkg:pypi/b-c@1.0"] == ["pkg:pypi/a-d@2.1"]
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", document["serialNumber"])
    assert dist.sbom(REPORT[::-1]) == document
    assert "registry.example" not in json.dumps(document) + dist.lock_text(REPORT, "3.11", "linux")


CLEAN = {"name": "a", "version": "1", "vulns": []}
SKIPPED = {"name": "b", "skip_reason": "Dependency not found on PyPI and could not be audited: b (1)"}
VULNERABLE = {"name": "c", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]}


@each_case(
    "output, status, said",
    (json.dumps({"dependencies": [CLEAN]}), 0, "1 packages, no known vulnerabilities"),
    (json.dumps({"dependencies": [CLEAN, VULNERABLE, SKIPPED]}), 1, "c 2: PYSEC-1, fixed in 2.1"),
    (json.dumps({"dependencies": [CLEAN, SKIPPED]}), 3, "does not answer for 1 of 2 packages: b"),
    (json.dumps({"dependencies": []}), 3, "0 of 0"),
    ("", 3, "not audited: no advisory source can be reached"),
    ("No known vulnerabilities found", 3, "not audited"),
)
def test_an_audit_that_did_not_reach_its_source_is_no_success(output: str, status: int, said: str) -> None:
    found, lines = audit.verdict(output, "Traceback\nConnectionError: no route")
    assert found == status
    assert said in "\n".join(lines)
    assert output or "ConnectionError: no route" in lines[1]


def test_pip_audit_is_run_as_a_module_of_the_same_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without pip-audit in this environment nothing is audited, which is said as well."""
    if any((Path(each) / "pip_audit").is_dir() for each in sys.path):
        pytest.skip("this environment has pip-audit")
    assert audit.main(tmp_path / "requirements.lock") == audit.UNREACHABLE
    assert "No module named pip_audit" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(not FULL, reason="installs two environments; `make test-full` does")
def test_the_lock_installs_into_an_empty_environment_with_hashes(tmp_path: Path) -> None:
    def run(*command: str | Path) -> str:
        return subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=250).stdout

    for name in ("build", "empty"):
        run(sys.executable, "-m", "venv", tmp_path / name)
    build, empty = tmp_path / "build" / "bin" / "python", tmp_path / "empty" / "bin"
    run(build, "-m", "pip", "install", "-q", "-c", "constraints.txt", "hatchling")
    run(build, "tools/dist.py", tmp_path / "dist")
    lock, (wheel,) = tmp_path / "dist" / "requirements.lock", (tmp_path / "dist").glob("*.whl")
    run(empty / "python", "-m", "pip", "install", "-q", "--require-hashes", "-r", lock)
    run(empty / "python", "-m", "pip", "install", "-q", "--no-deps", wheel)
    assert run(empty / "weftwork", "--version").startswith("weftwork")
    assert run(empty / "python", "-m", "pip", "check").strip() == "No broken requirements found."
    installed = {line.split("==")[0].lower() for line in run(empty / "python", "-m", "pip", "freeze").splitlines()}
    locked = {line.split("==")[0] for line in lock.read_text("utf-8").splitlines() if not line.startswith("#")}
    assert {name.replace("_", "-") for name in installed if not name.startswith("weftwork")} == locked
    lock.write_text(lock.read_text("utf-8").replace("sha256:", "sha256:0", 1)[:-1], "utf-8")
    broken = subprocess.run(
        (empty / "python", "-m", "pip", "install", "--force-reinstall", "--require-hashes", "-r", lock),
        capture_output=True,
        check=False,
        timeout=250,
    )
    assert broken.returncode != 0
