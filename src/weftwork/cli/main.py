"""The weftwork command and its groups."""

import click

from weftwork.cli.answer import answer
from weftwork.cli.assets import assets
from weftwork.cli.bundle import bundle
from weftwork.cli.completion import completion
from weftwork.cli.doctor import doctor
from weftwork.cli.ending import Root
from weftwork.cli.envelope import envelope
from weftwork.cli.events import events
from weftwork.cli.inbox import inbox
from weftwork.cli.keys import keys
from weftwork.cli.kinds import kinds
from weftwork.cli.new import new
from weftwork.cli.nodes import nodes
from weftwork.cli.run import run
from weftwork.cli.runs import runs
from weftwork.cli.serve import serve
from weftwork.cli.signing import signing
from weftwork.cli.workflows import workflows


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="weftwork", prog_name="weftwork")
def main() -> None:
    """A Python host for OpenWOP: durable workflow runs over REST and server-sent events."""


main.add_command(serve)
main.add_command(keys)
main.add_command(signing)
main.add_command(run)
main.add_command(events)
main.add_command(runs)
main.add_command(bundle)
main.add_command(assets)
main.add_command(inbox)
main.add_command(answer)
main.add_command(workflows)
main.add_command(nodes)
main.add_command(envelope)
main.add_command(kinds)
main.add_command(doctor)
main.add_command(new)
main.add_command(completion)

if __name__ == "__main__":
    main()
