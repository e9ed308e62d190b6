"""`weftwork runs tree`: a run and all that were started below it, as they stand or as they go on."""

import json
from typing import TYPE_CHECKING, Any, Final

import click

from weftwork.cli.client import Client, Refused, segment
from weftwork.cli.connect import connected
from weftwork.cli.plain import say
from weftwork.cli.suggest import suggest_runs

if TYPE_CHECKING:
    from weftwork.cli.kin_view import KinView

_ABSENT: Final = (404, 405, 501)


@click.command()
@click.argument("run_id", metavar="RUN", shell_complete=suggest_runs)
@click.option("--follow", is_flag=True, help="Show it anew until RUN has ended. Without, it is shown once.")
@connected
def tree(client: Client, as_json: bool, run_id: str, follow: bool) -> None:
    """Show a run and the runs that were started below it.

    Needs a weftwork host. A line has the workflow, the status, the run id, how long it took, and the node where it
    waits or the code of its error. Of more than 20 siblings of one workflow that stand alike, the rest is counted.

    With --follow a terminal shows the tree anew in place; anything else gets a line for each run that is new or stands
    otherwise than before, and --json prints the document on a line each time that it has changed. Ctrl-C exits with
    130, and the run goes on.

    \b
    Examples:
      weftwork runs tree 01m7f5zzhp2z8y1fpzhf93nsbb
      weftwork runs tree 01m7f5zzhp2z8y1fpzhf93nsbb --follow
    """
    # Imported late, here and below: `weftwork --help` needs none of it.
    from weftwork.cli.kin_view import JsonChanges, LineChanges, Screen, draw
    from weftwork.cli.views import can_draw

    document = _ask(client, run_id)
    if not follow:
        if as_json:
            say(json.dumps(document, indent=2))
        elif can_draw():
            draw(document, Screen(document).console)
        else:
            draw(document)
    elif as_json:
        _follow(client, run_id, document, JsonChanges())
    elif can_draw():
        with Screen(document) as screen:
            client.notify = screen.note
            _follow(client, run_id, document, screen)
    else:
        _follow(client, run_id, document, LineChanges())


def _ask(client: Client, run_id: str) -> Any:
    from weftwork.cli.kin import read_tree, tree_path
    from weftwork.cli.kin_watch import MOST

    try:
        document = client.get(tree_path(run_id), limit=MOST)
    except Refused as refused:
        if refused.status not in _ABSENT:
            raise
        # If there is no such run, the host says so here.
        client.get(f"/v1/runs/{segment(run_id)}")
        document = None
    if read_tree(document) is None:
        text = "this host does not tell which runs a run has started: only a weftwork host does"
        raise click.ClickException(f"{text}. `weftwork runs show RUN` may name some.")
    return document


def _follow(client: Client, run_id: str, document: Any, view: "KinView") -> None:
    """Show the tree now, and each time that something may have changed, until the run is over."""
    from weftwork.cli.kin import read_tree, tree_path
    from weftwork.cli.kin_watch import MOST, PROMPT, RunWatch

    view.show(document)
    top = read_tree(document)
    if top is None or top.is_over:
        return
    with RunWatch(client, run_id) as watch:
        is_over = False
        while not is_over:
            watch.rest()
            is_over = watch.is_over
            if watch.error is not None:
                raise watch.error
            # What cannot be seen now is seen later, or the run itself cannot be heard either.
            found = _ask(client, run_id) if is_over else client.peek(f"{tree_path(run_id)}?limit={MOST}", PROMPT)
            if read_tree(found) is not None:
                view.show(found)
