"""`weftwork completion`: the script that makes a shell complete commands, options and ids."""

import click


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
