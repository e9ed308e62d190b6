"""The answer that the command line gives, and which options go together."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from weftwork.cli.answer.approval import Vote, approval_from_options
from weftwork.cli.answer.form import InvalidAnswer, build_form
from weftwork.cli.console.option_values import json_or_text, read_file
from weftwork.cli.console.text import clean
from weftwork.cli.render import low_confidence
from weftwork.protocol.json.values import is_object

_APPROVAL_OPTIONS: Final = {"--comment": "comment", "--data": "data", "--as": "voter", "--override": "override"}


def build_vote(options: Mapping[str, Any]) -> Vote:
    return Vote(**{name: value for name, value in options.items() if value is not None})


def is_answer_given(vote: Mapping[str, Any], pairs: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether there is an answer, so that nobody has to be asked."""
    return bool(vote["action"] or pairs or whole)


def check_options(
    vote: Mapping[str, Any], pairs: Sequence[str], whole: Sequence[str], link: bool, of_links: Mapping[str, Any]
) -> None:
    """Raises UsageError for options that contradict each other."""
    ways = [bool(vote["action"]), bool(pairs), *(True for _ in whole)]
    if sum(ways) > 1:
        raise click.UsageError("give one answer: an action, --set, --value or --value-file.")
    if vote["override"] != (vote["reason"] is not None):
        raise click.UsageError("--override and --reason go together.")
    said = [option for option, name in _APPROVAL_OPTIONS.items() if vote[name]]
    if pairs and said:
        raise click.UsageError(f"{said[0]} goes with an approval, and --set with questions.")
    if vote["data"] is not None and vote["action"] not in (None, "edit-accept"):
        raise click.UsageError("--data goes with --action edit-accept.")
    if link and (any(ways) or said):
        raise click.UsageError("--link makes a link and gives no answer.")
    lone = [option for option, value in of_links.items() if value]
    if lone and not link:
        raise click.UsageError(f"{lone[0]} goes with --link.")


def answer_from_options(
    question: dict[str, Any],
    options: Mapping[str, Any],
    pairs: Sequence[str],
    value: str | None,
    value_file: str | None,
) -> Any:
    """The value to send. Raises UsageError for what cannot be an answer to this question."""
    vote = build_vote(options)
    is_approval = question.get("kind") == "approval"
    if vote.action:
        if question.get("kind") == low_confidence.KIND:
            return _low_confidence_answer(vote)
        if not is_approval:
            kind = clean(question.get("kind", "question"), 60)
            raise click.UsageError(f"this is no approval but {kind}; answer it with --set NAME=VALUE or --value.")
        return approval_from_options(question, vote)
    if pairs and is_approval:
        raise click.UsageError("this is an approval; answer it with --approve, --reject, --action or --value.")
    if pairs:
        return _fill_form(question, pairs)
    if value is not None:
        made = json_or_text("--value", value.encode("utf-8", "surrogateescape"))
    else:
        assert value_file is not None, "one of the two was given"
        made = json_or_text("--value-file", read_file("--value-file", value_file))
    if vote.is_empty:
        return made
    if not is_approval or not is_object(made) or vote.comment or vote.data is not None:
        raise click.UsageError("--comment and --data go with an action; --as and --override with an approval.")
    return {**made, **vote.members()}


def _low_confidence_answer(vote: Vote) -> dict[str, Any]:
    """Whether a decision that somebody is not sure of is carried out."""
    if vote.action not in low_confidence.ACTIONS:
        raise click.UsageError(f"this question does not take {clean(vote.action, 40)}; it takes accept and reject.")
    if not vote.is_empty:
        raise click.UsageError("--comment, --data, --as and --override go with an approval; this is none.")
    return {"action": vote.action}


def _fill_form(question: dict[str, Any], pairs: Sequence[str]) -> Any:
    """The form of the question, filled with names and values."""
    form = build_form(question)
    values: dict[str, Any] = {}
    for text in pairs:
        name, sign, said = text.partition("=")
        if not name or not sign:
            raise click.UsageError(f"--set {clean(text, 60)} must look like NAME=VALUE.")
        try:
            values[name] = form.field(name).parse(said)
        except InvalidAnswer as unfit:
            raise click.UsageError(f"--set {clean(name, 60)}: {unfit}.") from None
    lacking = [clean(each.name, 60) for each in form.fields if each.required and each.name and each.name not in values]
    if lacking:
        raise click.UsageError(f"there is no answer to {', '.join(lacking[:20])}; give it with --set NAME=VALUE.")
    return form.answer(values)
