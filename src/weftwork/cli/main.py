"""The `weftwork` command with its subcommands, and `weftwork completion`, which prints a shell completion script."""

import click
from click.shell_completion import get_completion_class

from weftwork.cli.console.root_group import RootGroup

COMMANDS = {
    "serve": ("serve", "Start the host in the foreground."),
    "keys": ("keys", "Create, list and revoke API keys."),
    "signing": ("keys", "List, rotate and drop the keys that sign links."),
    "run": ("run", "Start a run of a workflow."),
    "events": ("events", "Print the events of a run, one per line."),
    "runs": ("runs", "List, show, replay, control, fork, retry, import and prune runs."),
    "eval": ("review.eval", "Compare models and prompts on recorded runs."),
    "diff": ("review.diff", "Compare two runs."),
    "bundle": ("review.bundle", "Save a run as a debug bundle, or show a saved bundle."),
    "history": ("review.history", "Record a run as a file that tests can replay."),
    "assets": ("assets", "List, upload, download and prune assets (images, audio and other files)."),
    "inbox": ("inbox", "List open interrupts, oldest first."),
    "answer": ("answer", "Answer an open interrupt of a run."),
    "workflows": ("workflows", "Validate, draw, list and register workflow definitions."),
    "models": (
        "models",
        "List the models of the settings, try one, and fetch one for this machine.",
    ),
    "nodes": ("nodes", "List and describe node types."),
    "envelope": ("envelope", "Check an envelope, and list the known envelope kinds, without a host."),
    "surface": ("surface", "Convert forms to A2UI messages and back, and check them, without a host."),
    "kinds": ("envelope", "List and describe the envelope kinds of a host."),
    "store": ("store", "Check a store, migrate its schema, and copy a store to PostgreSQL."),
    "doctor": ("doctor", "Check this machine and a host, and suggest fixes."),
    "new": ("new", "Create a project from a template."),
    "completion": ("", "Print a shell completion script."),
}
"""The module in `cli/commands` of each command, and the first sentence of its help."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a shell completion script.

    The script completes commands and options. If WEFTWORK_KEY is set, it also completes the ids of runs and workflows,
    provided that the host responds within a second.

    \b
    To install it:
      bash  weftwork completion bash > ~/.local/share/bash-completion/completions/weftwork
      zsh   weftwork completion zsh > ~/.zfunc/_weftwork, with fpath+=~/.zfunc before compinit in ~/.zshrc
      fish  weftwork completion fish > ~/.config/fish/completions/weftwork.fish
    """
    root = context.find_root().command
    completion_class = get_completion_class(shell)
    assert completion_class is not None, "click has a class for each shell of the choice"
    script = completion_class(root, {}, "weftwork", "_WEFTWORK_COMPLETE")
    # Not source(), which runs the installed shell to check its version.
    click.echo(script.source_template % script.source_vars())


@click.group(cls=RootGroup, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="weftwork", prog_name="weftwork")
def main() -> None:
    """A Python host for OpenWOP: durable workflow runs over REST and server-sent events.

    \b
    Start here:
      weftwork serve --workflows DIR        start a host; it prints an API key
      export WEFTWORK_KEY=...               use that key in another terminal
      weftwork run WORKFLOW --follow        start a run and follow it
      weftwork inbox                        list what waits for an answer
    """


main.add_command(completion)

if __name__ == "__main__":
    main()
