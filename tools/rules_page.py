"""Writes docs/rules.md from the rule manifest; with --check it only says whether the page is up to date."""

import sys
import tomllib
from pathlib import Path
from typing import Any

MANIFEST = Path("src", "weftwork", "protocol", "rules.toml")
PAGE = Path("docs", "rules.md")

HEAD = """\
# Rules

Generated from `src/weftwork/protocol/rules.toml` by `make docs`; edit that file, not this page.

Each rule lives in one place, which names its id. `pytest --rule idem-04` runs the tests that prove one rule.
{count} rules: {done} done, {partial} partial, {deferred} deferred.
"""


def render(manifest: dict[str, Any]) -> str:
    """The page for a manifest: one table per family, in the order of the file."""
    rows: list[dict[str, str]] = manifest["rule"]
    counts = {status: sum(row["status"] == status for row in rows) for status in ("done", "partial", "deferred")}
    parts = [HEAD.format(count=len(rows), **counts)]
    for family, title in manifest["families"].items():
        parts.append(f"\n## {title}\n\n| id | rule | source | where | status |\n|---|---|---|---|---|\n")
        parts += [_line(row) for row in rows if row["id"].rpartition("-")[0] == family]
    return "".join(parts)


def _line(row: dict[str, str]) -> str:
    where = f"`{row['where'].removeprefix('weftwork.')}`" if "where" in row else "-"
    status = row["status"] + (f": {row['why']}" if "why" in row else "")
    cells = [row["id"], row["text"], row["source"], where, status]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def main(arguments: list[str], root: Path) -> int:
    """Exit status: 0 when the page is up to date, or has been written; 1 when --check finds it stale."""
    page = root / PAGE
    text = render(tomllib.loads((root / MANIFEST).read_text("utf-8")))
    if "--check" not in arguments:
        page.write_text(text, "utf-8")
    elif not page.exists() or page.read_text("utf-8") != text:
        sys.stderr.write(f"{PAGE} is stale: run `make docs`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).parents[1]))
