"""Checks the packages of the lock file for known vulnerabilities with pip-audit. Run by `make audit`.

Exit status: 0 if every package was checked and has none, 1 if there are any, 3 if an advisory source did not answer for
some package. pip-audit itself ends with 0 for a package that its source does not know, also if there is no connection.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
FOUND, UNREACHABLE = 1, 3
TIMEOUT_SECONDS: Final = 15


def verdict(output: str, errors: str) -> tuple[int, list[str]]:
    """The exit status and the lines to print, from the JSON document and the error output of pip-audit."""
    try:
        packages: list[dict[str, Any]] = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        reason = (errors.strip().splitlines() or ["no output"])[-1][:300]
        return UNREACHABLE, ["not audited: no advisory source can be reached", f"  {reason}"]
    lines: list[str] = []
    for each in packages:
        for found in each.get("vulns", ()):
            fixed = ", ".join(found.get("fix_versions", ())) or "no version yet"
            lines.append(f"{each['name']} {each.get('version', '')}: {found['id']}, fixed in {fixed}")
    if lines:
        return FOUND, lines
    skipped = [each for each in packages if "skip_reason" in each]
    if skipped or not packages:
        names = ", ".join(each["name"] for each in skipped)
        text = f"not audited: the advisory source does not answer for {len(skipped)} of {len(packages)} packages"
        return UNREACHABLE, [f"{text}: {names}", "  check the connection, and run `make audit` again"]
    return 0, [f"{len(packages)} packages, no known vulnerabilities"]


def main(lock: Path) -> int:
    options = ("--require-hashes", "--disable-pip", "--format", "json", "--progress-spinner", "off")
    done = subprocess.run(  # noqa: S603
        (sys.executable, "-m", "pip_audit", *options, "--timeout", str(TIMEOUT_SECONDS), "-r", str(lock)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    status, lines = verdict(done.stdout, done.stderr)
    (sys.stdout if status == 0 else sys.stderr).write("\n".join([*lines, ""]))
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist" / "requirements.lock"))
