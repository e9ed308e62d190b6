"""The answer that the command line gives, and which options go together; also approvals that are asked for."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
import msgspec

from weftwork.cli.answer.form import AnswerForm, InvalidAnswer, build_form
from weftwork.cli.answer.prompt import TerminalPrompt
from weftwork.cli.console.documents import as_list, as_object
from weftwork.cli.console.option_values import json_or_text, read_file
from weftwork.cli.console.text import clean, say
from weftwork.cli.render.interrupt_text import LOW_CONFIDENCE, LOW_CONFIDENCE_ACTIONS
from weftwork.cli.render.schema_text import schema_problems
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.values import is_object

_COMMENT_PROMPTS: Final = {
    "refine": "What is to be changed?",
    "ask": "What do you want to know?",
    "accept": "A comment",
    "reject": "Why? A comment",
    "edit-accept": "A comment",
}
_COMMENT_REQUIRED: Final = ("refine", "ask")


class Vote(msgspec.Struct, frozen=True):
    """What the command line says about an approval."""

    action: str = ""
    comment: str = ""
    data: str | None = None
    """The file that holds what is accepted instead of the artifact."""
    voter: str | None = None
    override: bool = False
    reason: str | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.comment or self.voter or self.override) and self.data is None

    def members(self) -> dict[str, Any]:
        """Who answers, and in whose place."""
        named = {} if self.voter is None else {"voter": self.voter}
        return {**named, **({"override": True, "reason": self.reason} if self.override else {})}


def allowed_actions(question: dict[str, Any]) -> list[str]:
    """What the gate takes, as far as it says so."""
    listed = as_list(as_object(question.get("data")).get("actions"))
    return [each for each in listed if isinstance(each, str)] or ["accept", "reject"]


def approval_from_options(question: dict[str, Any], vote: Vote) -> dict[str, Any]:
    """The answer that the command line gives. Raises UsageError for one that lacks something."""
    actions = allowed_actions(question)
    if vote.action not in actions:
        listed = ", ".join(clean(each, 40) for each in actions)
        raise click.UsageError(f"this gate does not take {clean(vote.action, 40)}; it takes {listed}.")
    if vote.action in _COMMENT_REQUIRED and not vote.comment.strip():
        raise click.UsageError(f"{vote.action} needs --comment TEXT: {_COMMENT_PROMPTS[vote.action].lower()}")
    edited = _edited_file(vote) if vote.action == "edit-accept" else msgspec.UNSET
    return _build_answer(vote, vote.action, vote.comment, edited)


def prompt_for_approval(question: dict[str, Any], vote: Vote, prompt: TerminalPrompt) -> dict[str, Any]:
    """The answer entered at the terminal."""
    while True:
        action = prompt.choice("Your answer", allowed_actions(question))
        edited: Any = msgspec.UNSET
        artifact = as_object(question.get("data")).get("artifactData")
        if action == "edit-accept":
            edited = _edited_file(vote) if vote.data is not None else _edit(artifact, prompt)
            if edited is msgspec.UNSET:
                say("  nothing was changed.", err=True)
                continue
        about = _COMMENT_PROMPTS.get(action, "A comment")
        comment = vote.comment or prompt.text(about, required=action in _COMMENT_REQUIRED)
        answer = {**_build_answer(vote, action, comment, edited), **_prompt_extra_fields(question, prompt)}
        wrong = schema_problems(as_object(question.get("resumeSchema")), answer)
        if not wrong:
            return answer
        say(f"  that does not fit together: {'; '.join(wrong)}. Once more:", err=True)


def _build_answer(vote: Vote, action: str, comment: str, edited: Any) -> dict[str, Any]:
    answer: dict[str, Any] = {"action": action, **vote.members()}
    if action == "refine":
        answer["refineFeedback"] = {"scope": "whole", "text": comment}
    elif action == "ask":
        answer["question"] = comment
    elif comment:
        answer["comment"] = comment
    if edited is not msgspec.UNSET:
        answer["editedArtifactData"] = edited
    return answer


def _prompt_extra_fields(question: dict[str, Any], prompt: TerminalPrompt) -> dict[str, Any]:
    """The fields that the gate asks for in addition to the decision."""
    schema = question.get("resumeSchema")
    if not is_object(schema):
        return {}
    known = {"action", "comment", "feedback", "voter", "decidedBy", "decidedAt", "override", "reason", "question"}
    known |= {"refineFeedback", "editedArtifactData"}
    form = build_form({"kind": "custom", "resumeSchema": schema})
    wanted = tuple(each for each in form.fields if each.name and each.required and each.name not in known)
    return prompt.form(AnswerForm(wanted)) if wanted else {}


def _edited_file(vote: Vote) -> Any:
    if vote.data is None:
        raise click.UsageError("edit-accept needs --data FILE: what is accepted instead, as JSON or text.")
    return json_or_text("--data", read_file("--data", vote.data))


def _edit(artifact: Any, prompt: TerminalPrompt) -> Any:
    """The value as edited in an editor; UNSET if it was not changed."""
    is_text = isinstance(artifact, str) and all(each.isprintable() or each in "\n\t" for each in artifact)
    before = artifact if is_text else _editable_json(artifact)
    text = before
    while True:
        after = click.edit(text, extension=".txt" if is_text else ".json", require_save=False)
        if after is None or after.rstrip("\n") == before.rstrip("\n"):
            return msgspec.UNSET
        if is_text:
            return after if before.endswith("\n") else after.removesuffix("\n")
        try:
            return decode(after.encode("utf-8", "surrogatepass"))
        except ClientFault as fault:
            say(f"  what you wrote is no JSON: {fault.message}", err=True)
            if not prompt.confirm("  Edit it again?"):
                return msgspec.UNSET
            text = after


def _editable_json(value: Any) -> str:
    """JSON to edit, in which nothing can move a cursor."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return "".join(each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text) + "\n"


_APPROVAL_OPTIONS: Final = {"--comment": "comment", "--data": "data", "--as": "voter", "--override": "override"}


def build_vote(options: Mapping[str, Any]) -> Vote:
    return Vote(**{name: value for name, value in options.items() if value is not None})


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
        if question.get("kind") == LOW_CONFIDENCE:
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
    if vote.action not in LOW_CONFIDENCE_ACTIONS:
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
