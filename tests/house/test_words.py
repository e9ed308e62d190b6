"""Nothing in the repository names a package registry's address or a path of somebody's machine."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CACHES = {"__pycache__", ".pytest_cache", ".ruff_cache", ".hypothesis", ".import_linter_cache"}
LEFT_OUT = {".git", ".venv", ".venv-bench", "dist", "build", *CACHES}

# Written in pieces, so that this file passes its own test.
HOSTS = [
    ("py", "pi.org"),
    ("python", "hosted.org"),
    ("npm", "js.org"),
    ("npm", "js.com"),
    ("yarn", "pkg.com"),
]
FOLDERS = [("wo", "rk"), ("ro", "ot"), ("ho", "me"), ("tm", "p/w"), ("opt/py", "pi"), ("opt/whe", "els")]
INSIDE = [("sha", "red/spec"), ("sha", "red/design"), ("sha", "red/wire")]

FORBIDDEN = re.compile(
    "|".join(
        [
            *(re.escape("".join(parts)) for parts in [*HOSTS, *INSIDE]),
            *(rf"(?<![\w.~}}/*-])/{re.escape(''.join(parts))}/" for parts in FOLDERS),
        ]
    ),
    re.IGNORECASE,
)


def files() -> list[Path]:
    """What git tracks or would add; in a tree without git, everything that is not a build result."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        timeout=30,
        check=False,
    )
    if (ROOT / ".git").exists() and listing.returncode == 0:
        found = [ROOT / name for name in listing.stdout.decode().split("\0") if name]
    else:
        found = [path for path in ROOT.rglob("*") if not LEFT_OUT & set(path.relative_to(ROOT).parts)]
    return sorted(path for path in found if path.is_file())


def mentions(text: str) -> list[str]:
    return [
        f"line {number}: {match[0]}"
        for number, line in enumerate(text.splitlines(), 1)
        for match in FORBIDDEN.finditer(line)
    ]


def test_no_file_mentions_a_registry_or_a_machine() -> None:
    seen = files()
    assert ROOT / "pyproject.toml" in seen
    found: list[str] = []
    for path in seen:
        text = path.read_text("utf-8", errors="replace")
        found += [f"{path.relative_to(ROOT)}: {said}" for said in mentions(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("parts", [*HOSTS, *INSIDE])
def test_an_address_is_seen_in_any_case(parts: tuple[str, str]) -> None:
    assert len(mentions(f"first\nsee https://{''.join(parts).upper()}/simple")) == 1


@pytest.mark.parametrize("parts", FOLDERS)
def test_a_machine_path_is_seen(parts: tuple[str, str]) -> None:
    path = f"/{''.join(parts)}/"
    assert mentions(f"cd {path}x") == [f"line 1: {path}"]
    assert mentions(f'"{path}x"') == [f"line 1: {path}"]
    assert mentions(f"src{path}x.py") == []
