"""Writes docs/rules.md from the rule manifest; with --check it writes nothing and exits with 1 if the page is stale."""

import sys
import tomllib
from pathlib import Path
from typing import Any

MANIFEST = Path("src", "weftwork", "protocol", "rules.toml")
PAGE = Path("docs", "rules.md")

HEAD = """\
# Rules

`make docs` generates this page from `src/weftwork/protocol/rules.toml`. Edit that file, not this page.

A rule is a requirement of the protocol or of this host. Each rule is implemented in one place, whose docstring begins
with the id of the rule; the column "where" names it. `.venv/bin/pytest --rule idem-04` runs the tests of one rule.

There are {count} rules: {done} done, {partial} partial, {deferred} deferred. A rule that is not done gives the reason.
"""


def render(manifest: dict[str, Any]) -> str:
    """The page for a manifest, with one table for each family in the order of the file."""
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
    """Exit status: 0 if the page is up to date or was written, 1 if --check finds it stale."""
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
