"""The weftwork command and its groups.

`weftwork completion`: the script that makes a shell complete commands, options and ids.
"""

import click

from weftwork.cli.commands.answer import answer
from weftwork.cli.commands.assets import assets
from weftwork.cli.commands.bundle import bundle
from weftwork.cli.commands.doctor import doctor
from weftwork.cli.commands.envelope import envelope
from weftwork.cli.commands.events import events
from weftwork.cli.commands.inbox import inbox
from weftwork.cli.commands.keys import keys, signing
from weftwork.cli.commands.kinds import kinds
from weftwork.cli.commands.new import new
from weftwork.cli.commands.nodes import nodes
from weftwork.cli.commands.run import run
from weftwork.cli.commands.runs import runs
from weftwork.cli.commands.serve import serve
from weftwork.cli.commands.workflows import workflows
from weftwork.cli.console.root_group import RootGroup


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that makes a shell complete what is typed after weftwork.

    With WEFTWORK_KEY set, ids of runs and workflows are completed too, if the host answers within a second.

    \b
    Where it goes:
      bash  weftwork completion bash > ~/.local/share/bash-completion/completions/weftwork
      zsh   weftwork completion zsh > ~/.zfunc/_weftwork, with fpath+=~/.zfunc before compinit in ~/.zshrc
      fish  weftwork completion fish > ~/.config/fish/completions/weftwork.fish
    """
    from click.shell_completion import get_completion_class

    root = context.find_root().command
    made = get_completion_class(shell)
    assert made is not None, "click knows every shell of the choice"
    script = made(root, {}, "weftwork", "_WEFTWORK_COMPLETE")
    # Not source(), which looks for the shell on this machine and complains about an old one.
    click.echo(script.source_template % script.source_vars())


@click.group(cls=RootGroup, context_settings={"help_option_names": ["-h", "--help"]})
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
