"""A host with one guard taken away, so that a proof can show that it would notice.

Started as a program of its own: `sabotage.py FILE NAME serve ...` calls the function of that name in the file, and then
is the command line. Nothing in the product can be switched like this.
"""

import runpy
import sys
from pathlib import Path


def sabotaged(file: Path, name: str) -> list[str]:
    """The start of a command that takes away the guard which this function of the file is about."""
    return [sys.executable, "-P", __file__, str(file), name]


if __name__ == "__main__":
    _, source, guard, *sys.argv[1:] = sys.argv
    sys.path.insert(0, str(Path(source).parent))
    runpy.run_path(source)[guard]()
    from weftwork.cli.main import main

    main()
