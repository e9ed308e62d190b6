"""The weftwork command and its groups.

`weftwork completion`: the script that makes a shell complete commands, options and ids.
"""

import click
from click.shell_completion import get_completion_class

from weftwork.cli.console.root_group import RootGroup

COMMANDS = {
    "serve": ("serve", "Start the host in the foreground."),
    "keys": ("keys", "Create, list and revoke API keys."),
    "signing": ("keys", "List, renew and drop the keys that links are signed with."),
    "run": ("run", "Start a run, and follow it to its end with --follow."),
    "events": ("events", "Print the events of a run, one on each line."),
    "runs": ("runs", "List, show, cancel, pause and resume runs; delete old ones."),
    "bundle": ("bundle", "Save a run in one file, or look at such a file."),
    "assets": ("assets", "List, send and fetch assets: images, sounds and files; delete what nobody needs."),
    "inbox": ("inbox", "List what runs ask and nobody has answered yet, oldest first."),
    "answer": ("answer", "Answer what a run asks."),
    "workflows": ("workflows", "Check, draw, list and register workflow definitions."),
    "nodes": ("nodes", "List and explain the node types that definitions can use."),
    "envelope": ("envelope", "Explain what becomes of an envelope that a model sends, and list the kinds there are."),
    "kinds": ("kinds", "List and explain the kinds of envelopes that a host takes from models."),
    "doctor": ("doctor", "Check this machine and a host, and say what to do about what is not well."),
    "new": ("new", "Make the first files of a package."),
    "completion": ("", "Print the script that makes a shell complete what is typed after weftwork."),
}
"""The module of `cli/commands` that has each command, and the first sentence of its help."""


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
    root = context.find_root().command
    made = get_completion_class(shell)
    assert made is not None, "click knows every shell of the choice"
    script = made(root, {}, "weftwork", "_WEFTWORK_COMPLETE")
    # Not source(), which looks for the shell on this machine and complains about an old one.
    click.echo(script.source_template % script.source_vars())


@click.group(cls=RootGroup, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="weftwork", prog_name="weftwork")
def main() -> None:
    """A Python host for OpenWOP: durable workflow runs over REST and server-sent events."""


main.add_command(completion)

if __name__ == "__main__":
    main()
