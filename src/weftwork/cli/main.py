"""The weftwork command and its groups."""

from importlib.metadata import version

import click

from weftwork.cli.keys import keys
from weftwork.cli.runs import runs
from weftwork.cli.serve import serve
from weftwork.cli.workflows import workflows


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("weftwork"), prog_name="weftwork")
def main() -> None:
    """A Python host for OpenWOP: durable workflow runs over REST and server-sent events."""


main.add_command(serve)
main.add_command(keys)
main.add_command(runs)
main.add_command(workflows)

if __name__ == "__main__":
    main()
