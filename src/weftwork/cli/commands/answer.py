"""`weftwork answer`: answer what a run asks, at a terminal, from a script, or by a link for somebody else."""

import json
import sys
from typing import Any, Final

import click

from weftwork.cli.answer.command_line import answer_from_options, build_vote, check_options, prompt_for_approval
from weftwork.cli.answer.form import build_form
from weftwork.cli.answer.prompt import TerminalPrompt
from weftwork.cli.answer.submission import outcome_text, print_link, submit_answer
from weftwork.cli.answer.target import AnswerTarget, find_target
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options, suggest_waiting_runs
from weftwork.cli.console.text import clean, say, say_json
from weftwork.cli.console.units import parse_duration
from weftwork.cli.follow.follow_run import follow_run
from weftwork.cli.follow.run_watch import print_interrupt
from weftwork.cli.render.interrupt_text import LOW_CONFIDENCE_ACTIONS, accepts_actions

_MAX_PREVIEW: Final = 400
_NO_TERMINAL: Final = (
    "nobody can be asked here: this is no terminal. Give the answer: --approve, --reject or --action for an approval "
    "or a decision in doubt, --set NAME=VALUE for questions, --value or --value-file for anything else."
)


@click.command()
@click.argument("name", metavar="RUN[/NODE]", shell_complete=suggest_waiting_runs)
@click.option("--approve", is_flag=True, help="Accept what is to be approved, or a decision that is in doubt.")
@click.option("--reject", is_flag=True, help="Reject it.")
@click.option("--action", metavar="ACTION", help="An action of the gate: accept, reject, refine, edit-accept or ask.")
@click.option(
    "--comment", metavar="TEXT", help="What you have to say; what to change with refine, what to ask with ask."
)
@click.option("--data", metavar="FILE", help="What is accepted instead with edit-accept, as JSON or text; - is stdin.")
@click.option("--set", "pairs", multiple=True, metavar="NAME=VALUE", help="The answer to one question; repeatable.")
@click.option("--value", metavar="VALUE", help="The whole answer: JSON if it reads as JSON, else text.")
@click.option("--value-file", metavar="FILE", help="The whole answer from a file; - is standard input.")
@click.option("--as", "voter", metavar="NAME", help="Whose answer to an approval it is.  [default: the key's]")
@click.option("--override", is_flag=True, help="Decide in place of the approvers; needs --reason.")
@click.option("--reason", metavar="TEXT", help="Why the gate is overridden.")
@click.option("--yes", is_flag=True, help="Send what was asked for at the terminal without asking once more.")
@click.option("--follow", is_flag=True, help="Show the run until it ends, as `weftwork run --follow` does.")
@click.option("--link", is_flag=True, help="Do not answer: print a signed link with which somebody else can.")
@click.option(
    "--for", "for_whom", metavar="NAME", help="With --link: who will answer; an approver, where the gate names them."
)
@click.option("--inspect", is_flag=True, help="With --link: the question can be seen and not answered.")
@click.option(
    "--expires", callback=parse_duration, metavar="TIME", help="With --link: how long it works: 90s, 30m, 12h, 2d."
)
@client_options
def answer(
    client: Client,
    as_json: bool,
    name: str,
    approve: bool,
    reject: bool,
    action: str | None,
    pairs: tuple[str, ...],
    value: str | None,
    value_file: str | None,
    yes: bool,
    follow: bool,
    link: bool,
    for_whom: str | None,
    inspect: bool,
    expires: int | None,
    **more: Any,
) -> None:
    """Answer what a run asks.

    At a terminal the question is shown and asked part by part, and the answer is sent once you say so. With an answer
    on the command line nothing is asked. Without NODE it is the only question of the run. RUN may be the beginning of
    an id, if only one run that waits begins so. An answer is never taken for one to the node's next question.

    \b
    Examples:
      weftwork answer 01m7f5zzhp2z8y1fpzhf93nsbb
      weftwork answer 01m7f5zzhp2z8y1fpzhf93nsbb/review --reject --comment "too expensive"
      weftwork answer 01m7f5zzhp2z8y1fpzhf93nsbb/ask --set colour=blue --set count=3
      weftwork answer 01m7f5zzhp2z8y1fpzhf93nsbb/review --link --for ada --expires 2d

    \b
    Exit codes, besides those of all commands:
        1  the input ended before everything was answered, or you did not want to send it; nothing was sent
        2  no terminal is there and no answer was given, or it is not clear which question is meant
        7  the host refused: the value does not fit, or somebody has answered already
    With --follow the exit code is that of `weftwork run --follow`.
    """
    actions = [word for word, is_said in (("accept", approve), ("reject", reject), (action, bool(action))) if is_said]
    if len(actions) > 1:
        raise click.UsageError("give one of --approve, --reject and --action.")
    vote: dict[str, Any] = {"action": actions[0] if actions else None, **more}
    whole = [each for each in (value, value_file) if each is not None]
    check_options(vote, pairs, whole, link, {"--for": for_whom, "--inspect": inspect, "--expires": expires})
    if link:
        print_link(client, find_target(client, name), for_whom, inspect, expires, as_json)
        return
    has_answer = bool(vote["action"] or pairs or whole)
    # Whether there is a question at all is worth more to know than that nobody can be asked.
    target = find_target(client, name)
    if not has_answer and not sys.stdin.isatty():
        raise click.UsageError(_NO_TERMINAL)
    if has_answer:
        made = answer_from_options(target.interrupt, vote, pairs, value, value_file)
    else:
        try:
            made = _prompt_for_answer(target, vote, yes)
        except KeyboardInterrupt:
            say("\nnothing was sent.", err=True)
            raise
    _send(client, target, made, as_json, follow)


def _send(client: Client, target: "AnswerTarget", made: Any, as_json: bool, follow: bool) -> None:
    answered = submit_answer(client, target, made)
    if not as_json:
        say(outcome_text(client, target, made, answered), err=follow)
    elif not follow:
        say_json(answered)
    if follow:
        raise SystemExit(follow_run(client, target.run_id, as_json, False, target.workflow_id, begun=True))


def _prompt_for_answer(target: "AnswerTarget", vote: dict[str, Any], yes: bool) -> Any:
    """The answer of somebody at the terminal, who has seen the question and then what is sent."""
    prompt = TerminalPrompt()
    print_interrupt(target.node_id, target.interrupt, in_parts=True)
    if target.interrupt.get("kind") == "approval":
        made = prompt_for_approval(target.interrupt, build_vote(vote), prompt)
    else:
        if not build_vote(vote).is_empty:
            raise click.UsageError("--comment, --data, --as and --override go with an approval; this is none.")
        if accepts_actions(target.interrupt):
            words = "Your answer; another decision goes with --value"
            made = {"action": prompt.choice(words, LOW_CONFIDENCE_ACTIONS)}
        else:
            made = prompt.form(build_form(target.interrupt))
    if not yes and not prompt.confirm(f"Send {clean(json.dumps(made, ensure_ascii=False), _MAX_PREVIEW)}?"):
        raise click.ClickException("nothing was sent.")
    return made
