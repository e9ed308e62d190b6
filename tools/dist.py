"""Builds the distribution into dist/: wheel, source archive, lock file and SBOM. Run by `make dist`.

The lock file has every package that the wheel needs, in the versions of constraints.txt, with the hash of the file that
pip chooses on this platform for this Python. The SBOM lists the same files (CycloneDX 1.6). Neither names a registry,
so any mirror works.
"""

import json
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
NAMESPACE: Final = uuid.UUID("6f1d9b1c-6d5b-5f0e-8a53-6f2f7a4c2f0e")
"""The serial number of an SBOM is derived from its content, so that equal content gives equal bytes."""


def lock_text(packages: Iterable[Mapping[str, Any]], python: str, platform: str) -> str:
    """The lock file for `pip install --require-hashes`, from the packages of a pip report. The wheel itself is left
    out, because its hash changes with every build."""
    lines = [
        f"# What the weftwork wheel needs, for Python {python} on {platform}. Written by `make dist`.",
        "# Install with: pip install --require-hashes -r FILE && pip install --no-deps WHEEL",
    ]
    for each in sorted(packages, key=_name):
        if not each["is_direct"]:
            lines.append(f"{_name(each)}=={each['metadata']['version']} --hash=sha256:{_sha256(each)}")
    return "\n".join([*lines, ""])


def sbom(packages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The CycloneDX document of the packages of a pip report. The wheel is its subject."""
    ordered = sorted(packages, key=_name)
    subject = next(each for each in ordered if each["is_direct"])
    components = [_component(each) for each in ordered if each is not subject]
    names = {_name(each): _purl(each) for each in ordered}
    content = {"metadata": {"component": _component(subject)}, "components": components}
    serial = uuid.uuid5(NAMESPACE, json.dumps(content, sort_keys=True))
    needs = [{"ref": names[_name(each)], "dependsOn": sorted(_needed(each, names))} for each in ordered]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        **content,
        "dependencies": needs,
    }


def _component(package: Mapping[str, Any]) -> dict[str, Any]:
    metadata = package["metadata"]
    licence = metadata.get("license_expression") or metadata.get("license") or ""
    return {
        "type": "application" if package["is_direct"] else "library",
        "bom-ref": _purl(package),
        "name": _name(package),
        "version": metadata["version"],
        "purl": _purl(package),
        "hashes": [{"alg": "SHA-256", "content": _sha256(package)}],
        # Some packages put the whole text of their licence into this field.
        **({"licenses": [{"license": {"name": licence}}]} if 0 < len(licence) < 80 else {}),
    }


def _needed(package: Mapping[str, Any], names: Mapping[str, str]) -> set[str]:
    """The packages of the report that a package requires. A requirement for another platform is not in the report."""
    wanted = (text for text in package["metadata"].get("requires_dist", ()) if "extra ==" not in text)
    found = {_canonical(text.translate(str.maketrans("[<>=!~;(", " " * 8)).split()[0]) for text in wanted}
    return {names[each] for each in found if each in names}


def _name(package: Mapping[str, Any]) -> str:
    return _canonical(package["metadata"]["name"])


def _canonical(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _purl(package: Mapping[str, Any]) -> str:
    return f"pkg:pypi/{_name(package)}@{package['metadata']['version']}"


def _sha256(package: Mapping[str, Any]) -> str:
    return package["download_info"]["archive_info"]["hashes"]["sha256"]


def _run(*command: str) -> str:
    line = (sys.executable, "-m", *command)
    return subprocess.run(line, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603


def main(folder: Path) -> int:
    shutil.rmtree(folder, ignore_errors=True)
    _run("hatchling", "build", "-d", str(folder))
    (wheel,) = folder.glob("*.whl")
    options = ("--dry-run", "--ignore-installed", "--quiet", "--disable-pip-version-check", "-c", "constraints.txt")
    packages = json.loads(_run("pip", "install", *options, "--report", "-", str(wheel)))["install"]
    python, platform = f"{sys.version_info.major}.{sys.version_info.minor}", sys.platform
    (folder / "requirements.lock").write_text(lock_text(packages, python, platform), "utf-8")
    (folder / "sbom.cdx.json").write_text(json.dumps(sbom(packages), indent=2) + "\n", "utf-8")
    for path in sorted(folder.iterdir()):
        sys.stdout.write(f"{path}  {path.stat().st_size:,} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"))
