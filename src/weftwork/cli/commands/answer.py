"""`weftwork answer`: answer an open interrupt at a terminal or from a script, or create a link for another person."""

import json
import sys
from functools import partial
from typing import Any, Final

import click

from weftwork.cli.answer.agent_form import FormAnswer, prompt_for_form
from weftwork.cli.answer.agent_form import answer_from_options as form_answer_from_options
from weftwork.cli.answer.answer_all import CODES, Selection, answer_all
from weftwork.cli.answer.command_line import (
    APPROVAL_ONLY,
    answer_from_options,
    answers_with_form,
    build_vote,
    check_all_options,
    check_options,
    prompt_for_approval,
)
from weftwork.cli.answer.form import build_form
from weftwork.cli.answer.prompt import TerminalPrompt
from weftwork.cli.answer.submission import outcome_text, print_link, submit_answer, submit_form
from weftwork.cli.answer.target import AnswerTarget, find_target
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options, suggest_waiting_runs, suggest_workflows
from weftwork.cli.client.surfaces import AgentForm, read_form
from weftwork.cli.console.text import clean, say, say_json, say_lines
from weftwork.cli.console.units import parse_duration
from weftwork.cli.follow.follow_run import follow_run
from weftwork.cli.follow.run_watch import print_interrupt
from weftwork.cli.render.form_text import FormText
from weftwork.cli.render.interrupt_text import LOW_CONFIDENCE_ACTIONS, accepts_actions, question_lines

_MAX_PREVIEW: Final = 400
_NO_TERMINAL: Final = (
    "standard input is not a terminal, so the answer must be on the command line: --approve, --reject or --action for "
    "an approval or a low-confidence decision, --set NAME=VALUE for the fields of a form, --action for its button, "
    "otherwise --value or --value-file. --show shows the interrupt."
)
_CREDENTIALS: Final = ("interruptToken", "callbackUrl", "token")
"""Members with which anyone can answer the interrupt; --show does not print them."""


@click.command()
@click.argument("name", metavar="RUN[/NODE]", required=False, shell_complete=suggest_waiting_runs)
@click.option("--approve", is_flag=True, help="Accept the approval or the low-confidence decision.")
@click.option("--reject", is_flag=True, help="Reject the approval or the low-confidence decision.")
@click.option(
    "--action",
    metavar="ACTION",
    help="Action of the approval, such as accept, or button of the form.",
)
@click.option(
    "--comment",
    metavar="TEXT",
    help="Comment on the decision; the requested change with refine, the question with ask.",
)
@click.option(
    "--data", metavar="FILE", help="File with the edited artifact for edit-accept, as JSON or text; - reads stdin."
)
@click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="Value of one field of the answer or of the form. Repeatable.",
)
@click.option("--value", metavar="VALUE", help="The whole answer: JSON if it parses as JSON, otherwise text.")
@click.option("--value-file", metavar="FILE", help="File with the whole answer; - reads standard input.")
@click.option("--show", is_flag=True, help="Show the interrupt and its form; send nothing.")
@click.option("--without-form", is_flag=True, help="Answer the interrupt itself, without the form of an agent.")
@click.option(
    "--as", "voter", metavar="NAME", help="Name of the person to answer as.  [default: the holder of the key]"
)
@click.option("--override", is_flag=True, help="Decide regardless of the approvers. Requires --reason.")
@click.option("--reason", metavar="TEXT", help="Reason for the override.")
@click.option(
    "--yes", is_flag=True, help="Send an answer entered at the terminal, or with --all, without a confirmation prompt."
)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Send the same answer to all open interrupts that --code selects.",
)
@click.option(
    "--code",
    type=click.Choice(CODES),
    help="With --all: which interrupts; effect-unknown: those about an effect that a crash interrupted.",
)
@click.option(
    "--workflow", metavar="ID", shell_complete=suggest_workflows, help="With --all: only runs of this workflow."
)
@click.option("--node", metavar="NODE", help="With --all: only interrupts of this node.")
@click.option(
    "--older-than",
    callback=parse_duration,
    metavar="TIME",
    help="With --all: only interrupts requested at least this long ago: 90s, 30m, 24h, 3d.",
)
@click.option("--dry-run", is_flag=True, help="With --all: list the interrupts; send nothing.")
@click.option("--follow", is_flag=True, help="Follow the run to its end, as `weftwork run --follow` does.")
@click.option("--link", is_flag=True, help="Print a signed link with which another person can answer; do not answer.")
@click.option(
    "--for",
    "for_whom",
    metavar="NAME",
    help="With --link: name of the person who will answer; one of the approvers if the approval lists them.",
)
@click.option("--inspect", is_flag=True, help="With --link: make a read-only link.")
@click.option(
    "--expires", callback=parse_duration, metavar="TIME", help="With --link: lifetime of the link: 90s, 30m, 12h, 2d."
)
@client_options
def answer(
    client: Client,
    as_json: bool,
    name: str | None,
    approve: bool,
    reject: bool,
    action: str | None,
    pairs: tuple[str, ...],
    value: str | None,
    value_file: str | None,
    show: bool,
    without_form: bool,
    yes: bool,
    follow: bool,
    link: bool,
    for_whom: str | None,
    inspect: bool,
    expires: int | None,
    every: bool,
    code: str | None,
    workflow: str | None,
    node: str | None,
    older_than: int | None,
    dry_run: bool,
    **more: Any,
) -> None:
    """Answer an open interrupt of a run.

    At a terminal, the command shows the question, prompts for each field and sends the answer after you confirm it.
    With the answer on the command line there are no prompts. NODE may be omitted if only one node of the run has an
    open interrupt. RUN may be a prefix of an id if only one waiting run matches. An answer applies only to the
    interrupt that was shown, never to a later one of the same node.

    \b
    Examples:
      weftwork answer 01m7f5zzhp2z8y1fpzhf93nsbb
      weftwork answer 01m7f5zzhp2z8y1fpzhf93nsbb/review --reject --comment "too expensive"
      weftwork answer 01m7f5zzhp2z8y1fpzhf93nsbb/ask --set colour=blue --set count=3
      weftwork answer 01m7f5zzhp2z8y1fpzhf93nsbb/ask --action book --set who=Ada
      weftwork answer 01m7f5zzhp2z8y1fpzhf93nsbb/review --link --for ada --expires 2d
      weftwork answer --all --code effect-unknown --workflow order --set outcome=again --dry-run

    \b
    Exit codes, in addition to the common ones:
        1  standard input ended early, or you declined to send the answer; nothing was sent. With --all also: some
           interrupts were answered, and some were not
        2  no answer on the command line and no terminal, or several interrupts match
        7  the host refused the answer: the value is invalid, or the interrupt is already resolved. With --all: no
           interrupt was answered
    With --follow, the exit codes of `weftwork run --follow`.
    """
    actions = [
        name_of_action
        for name_of_action, is_set in (("accept", approve), ("reject", reject), (action, bool(action)))
        if is_set
    ]
    if len(actions) > 1:
        raise click.UsageError("--approve, --reject and --action cannot be combined; pass one of them.")
    vote: dict[str, Any] = {"action": actions[0] if actions else None, **more}
    whole = [each for each in (value, value_file) if each is not None]
    check_options(vote, pairs, whole, link, {"--for": for_whom, "--inspect": inspect, "--expires": expires})
    filters = {"--workflow": workflow, "--node": node, "--older-than": older_than}
    all_options = {"--code": code, **filters, "--dry-run": dry_run}
    name = check_all_options(name, every, all_options, {**vote, "link": link, "follow": follow})
    if show and (link or every or pairs or whole or any(vote.values())):
        raise click.UsageError("--show sends nothing; remove --show, or the other options.")
    if every:
        make_value = partial(answer_from_options, options=vote, pairs=pairs, value=value, value_file=value_file)
        selection = Selection(workflow, node, older_than)
        raise SystemExit(answer_all(client, as_json, selection, make_value if pairs or whole else None, dry_run, yes))
    if link:
        print_link(client, find_target(client, name), for_whom, inspect, expires, as_json)
        return
    has_answer = bool(vote["action"] or pairs or whole)
    # Before the terminal check: "no open interrupt" is the more useful error.
    target = find_target(client, name)
    if show:
        _show(target, _read_form(client, target), as_json)
        return
    if not has_answer and not sys.stdin.isatty():
        raise click.UsageError(_NO_TERMINAL)
    with_form = not has_answer or answers_with_form(target.interrupt, vote["action"], pairs)
    form = _read_form(client, target) if with_form and not (without_form or whole) else None
    if not has_answer:
        try:
            to_send = _prompt_for_answer(target, form, vote, yes)
        except KeyboardInterrupt:
            say("\nnothing was sent.", err=True)
            raise
    elif form is not None and form.surface is not None:
        to_send = form_answer_from_options(form, vote["action"], pairs)
    else:
        to_send = answer_from_options(target.interrupt, vote, pairs, value, value_file)
    _send(client, target, form, to_send, as_json, follow)


def _read_form(client: Client, target: "AnswerTarget") -> AgentForm | None:
    return read_form(client, target.run_id, target.node_id, target.workflow_id, target.interrupt)


def _send(
    client: Client, target: "AnswerTarget", form: AgentForm | None, value: Any, as_json: bool, follow: bool
) -> None:
    if form is not None and isinstance(value, FormAnswer):
        response, value = submit_form(client, target, form, value.button.id, value.values), value.effect
    else:
        response = submit_answer(client, target, value)
    if not as_json:
        say(outcome_text(client, target, value, response), err=follow)
    elif not follow:
        say_json(response)
    if follow:
        raise SystemExit(follow_run(client, target.run_id, as_json, False, target.workflow_id, is_resumed=True))


def _show(target: "AnswerTarget", form: AgentForm | None, as_json: bool) -> None:
    """Print the interrupt, and its form with the options that answer it."""
    if as_json:
        interrupt = {name: value for name, value in target.interrupt.items() if name not in _CREDENTIALS}
        document = {"runId": target.run_id, "nodeId": target.node_id, "workflowId": target.workflow_id}
        say_json({**document, "interrupt": interrupt, **({"surface": form.document} if form is not None else {})})
        return
    say_lines(question_lines(f"{clean(target.node_id, 60)} requests", target.interrupt, in_parts=form is not None))
    if form is not None:
        say_lines(FormText().whole(form, with_options=True))


def _prompt_for_answer(target: "AnswerTarget", form: AgentForm | None, vote: dict[str, Any], yes: bool) -> Any:
    """The answer entered at the terminal: shows the question, prompts, and asks for confirmation."""
    prompt = TerminalPrompt()
    print_interrupt(target.node_id, target.interrupt, in_parts=True)
    options = build_vote(vote)
    if form is not None and form.working_buttons and options.is_empty:
        answer = prompt_for_form(form, prompt)
        effect = form.effect(answer.button)
        question = f"Send this answer, which means: {clean(effect, 60)}?" if effect else "Send this answer?"
        if not yes and not prompt.confirm(question):
            raise click.ClickException("nothing was sent.")
        return answer
    if form is not None:
        say_lines(FormText().whole(form, with_options=False), err=True)
        say(_why_unused(form, target.interrupt), err=True)
    if target.interrupt.get("kind") == "approval":
        value = prompt_for_approval(target.interrupt, options, prompt)
    else:
        if not options.is_empty:
            raise click.UsageError(APPROVAL_ONLY)
        if accepts_actions(target.interrupt):
            label = "Your answer (pass another decision with --value)"
            value = {"action": prompt.choice(label, LOW_CONFIDENCE_ACTIONS)}
        else:
            value = prompt.form(build_form(target.interrupt))
    if not yes and not prompt.confirm(f"Send {clean(json.dumps(value, ensure_ascii=False), _MAX_PREVIEW)}?"):
        raise click.ClickException("nothing was sent.")
    return value


def _why_unused(form: AgentForm, interrupt: dict[str, Any]) -> str:
    """Why the answer is not given with the form that was shown, and with what instead."""
    if form.surface is None:
        reason = "The form above is not rendered."
    elif not form.working_buttons:
        reason = "No button of the form above works here."
    else:
        reason = "The form above does not take --comment, --data, --as or --override."
    is_approval = interrupt.get("kind") == "approval"
    return f"{reason} {'Choose an action of the approval itself:' if is_approval else 'Answer the interrupt itself:'}"
