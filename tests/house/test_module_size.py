"""Modules stay small: 300 lines is a smell that needs a reason, 500 is the end."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOFT, HARD = 300, 500

LARGE: dict[str, str] = {}
"""Path from the root -> why the module may pass the soft cap. Nothing lifts the hard one."""


def oversized(root: Path, allowed: dict[str, str]) -> list[str]:
    found: list[str] = []
    for path in sorted([*root.glob("src/**/*.py"), *root.glob("tests/**/*.py")]):
        name = path.relative_to(root).as_posix()
        lines = len(path.read_text("utf-8").splitlines())
        if lines > HARD:
            found.append(f"{name}: {lines} lines, the hard cap is {HARD}: split it")
        elif lines > SOFT and name not in allowed:
            found.append(f"{name}: {lines} lines, over {SOFT}: split it, or give a reason in LARGE")
    return found


def test_every_module_is_within_the_caps() -> None:
    found = oversized(ROOT, LARGE)
    assert not found, "\n".join(found)


def test_the_allow_list_names_only_modules_that_need_it() -> None:
    large = [line.partition(":")[0] for line in oversized(ROOT, {})]
    assert [name for name in LARGE if name not in large] == []


@pytest.mark.parametrize(
    ("lines", "allowed", "said"),
    [
        (300, {}, []),
        (301, {}, ["301 lines, over 300"]),
        (301, {"src/a/big.py": "a table"}, []),
        (501, {"src/a/big.py": "a table"}, ["501 lines, the hard cap is 500"]),
    ],
)
def test_a_large_module_is_seen(tmp_path: Path, lines: int, allowed: dict[str, str], said: list[str]) -> None:
    module = tmp_path / "src" / "a" / "big.py"
    module.parent.mkdir(parents=True)
    module.write_text("x = 1\n" * lines)
    found = oversized(tmp_path, allowed)
    assert len(found) == len(said)
    assert all(words in line for words, line in zip(said, found, strict=True))
