"""Builds the answer from the options of `weftwork answer`, checks which options can be combined, and prompts for
decisions on approvals."""

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
    "refine": "What should change?",
    "ask": "What do you want to know?",
    "accept": "Comment",
    "reject": "Reason for the rejection",
    "edit-accept": "Comment",
}
_COMMENT_REQUIRED: Final = ("refine", "ask")
APPROVAL_ONLY: Final = "--comment, --data, --as and --override are for approvals, and the interrupt is not an approval."


class Vote(msgspec.Struct, frozen=True):
    """The options of `weftwork answer` for an approval."""

    action: str = ""
    comment: str = ""
    data: str | None = None
    """The file with the edited artifact, for edit-accept."""
    voter: str | None = None
    override: bool = False
    reason: str | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.comment or self.voter or self.override) and self.data is None

    def members(self) -> dict[str, Any]:
        """The members of the answer that name the voter and the override."""
        voter = {} if self.voter is None else {"voter": self.voter}
        return {**voter, **({"override": True, "reason": self.reason} if self.override else {})}


def allowed_actions(interrupt: dict[str, Any]) -> list[str]:
    """The actions that the approval lists; accept and reject if it lists none."""
    listed = as_list(as_object(interrupt.get("data")).get("actions"))
    return [each for each in listed if isinstance(each, str)] or ["accept", "reject"]


def approval_from_options(interrupt: dict[str, Any], vote: Vote) -> dict[str, Any]:
    """The answer built from the options. Raises UsageError if the action is not allowed or an option is missing."""
    actions = allowed_actions(interrupt)
    if vote.action not in actions:
        listed = ", ".join(clean(each, 40) for each in actions)
        raise click.UsageError(f"this approval does not accept --action {clean(vote.action, 40)}; choose {listed}.")
    if vote.action in _COMMENT_REQUIRED and not vote.comment.strip():
        raise click.UsageError(f"--action {vote.action} requires --comment TEXT ({_COMMENT_PROMPTS[vote.action]})")
    edited = _edited_file(vote) if vote.action == "edit-accept" else msgspec.UNSET
    return _build_answer(vote, vote.action, vote.comment, edited)


def prompt_for_approval(interrupt: dict[str, Any], vote: Vote, prompt: TerminalPrompt) -> dict[str, Any]:
    """The answer entered at the terminal. Prompts again until it fits the interrupt's resumeSchema."""
    while True:
        action = prompt.choice("Your answer", allowed_actions(interrupt))
        edited: Any = msgspec.UNSET
        artifact = as_object(interrupt.get("data")).get("artifactData")
        if action == "edit-accept":
            edited = _edited_file(vote) if vote.data is not None else _edit(artifact, prompt)
            if edited is msgspec.UNSET:
                say("  nothing was changed; choose an action again.", err=True)
                continue
        label = _COMMENT_PROMPTS.get(action, "Comment")
        comment = vote.comment or prompt.text(label, required=action in _COMMENT_REQUIRED)
        answer = {**_build_answer(vote, action, comment, edited), **_prompt_extra_fields(interrupt, prompt)}
        problems = schema_problems(as_object(interrupt.get("resumeSchema")), answer)
        if not problems:
            return answer
        say(f"  the answer is not valid: {'; '.join(problems)}. Enter it again:", err=True)


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


def _prompt_extra_fields(interrupt: dict[str, Any], prompt: TerminalPrompt) -> dict[str, Any]:
    """Prompts for the required fields of the resumeSchema that are not part of the decision itself."""
    schema = interrupt.get("resumeSchema")
    if not is_object(schema):
        return {}
    decision_fields = {"action", "comment", "feedback", "refineFeedback", "editedArtifactData", "question"}
    decision_fields |= {"voter", "decidedBy", "decidedAt", "override", "reason"}
    form = build_form({"kind": "custom", "resumeSchema": schema})
    fields = tuple(each for each in form.fields if each.name and each.required and each.name not in decision_fields)
    return prompt.form(AnswerForm(fields)) if fields else {}


def _edited_file(vote: Vote) -> Any:
    if vote.data is None:
        raise click.UsageError("--action edit-accept requires --data FILE with the edited artifact, as JSON or text.")
    return json_or_text("--data", read_file("--data", vote.data))


def _edit(artifact: Any, prompt: TerminalPrompt) -> Any:
    """Opens the artifact in an editor. Returns the edited value, or UNSET if it was not changed."""
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
            say(f"  the edited text is not valid JSON: {fault.message}", err=True)
            if not prompt.confirm("  Edit it again?"):
                return msgspec.UNSET
            text = after


def _editable_json(value: Any) -> str:
    """Indented JSON for an editor; non-printable characters are escaped, so that none can move the cursor."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return "".join(each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text) + "\n"


_APPROVAL_OPTIONS: Final = {"--comment": "comment", "--data": "data", "--as": "voter", "--override": "override"}


def build_vote(options: Mapping[str, Any]) -> Vote:
    return Vote(**{name: value for name, value in options.items() if value is not None})


def check_options(
    vote: Mapping[str, Any], pairs: Sequence[str], whole: Sequence[str], link: bool, options_of_link: Mapping[str, Any]
) -> None:
    """Raises UsageError for options that cannot be combined."""
    answers = [bool(vote["action"] or pairs), *(True for _ in whole)]
    if sum(answers) > 1:
        raise click.UsageError(
            "--value and --value-file have the whole answer; pass one of them, without other values."
        )
    if vote["override"] != (vote["reason"] is not None):
        raise click.UsageError("--override and --reason must be used together.")
    approval_options = [option for option, name in _APPROVAL_OPTIONS.items() if vote[name]]
    if pairs and approval_options:
        raise click.UsageError(f"{approval_options[0]} is for approvals and cannot be combined with --set.")
    if vote["data"] is not None and vote["action"] not in (None, "edit-accept"):
        raise click.UsageError("--data requires --action edit-accept.")
    if link and (any(answers) or approval_options):
        raise click.UsageError("--link creates a link instead of answering; remove the options for the answer.")
    link_options = [option for option, value in options_of_link.items() if value]
    if link_options and not link:
        raise click.UsageError(f"{link_options[0]} requires --link.")


def answers_with_form(interrupt: dict[str, Any], action: str | None, pairs: Sequence[str]) -> bool:
    """Whether these options press a button of the interrupt's form, rather than answer the interrupt itself.

    An action alone is an action of an approval, and values alone answer a clarification. `--set action=BUTTON` is the
    answer as the interrupt's own schema has it.
    """
    if any(text.startswith("action=") for text in pairs):
        return False
    match interrupt.get("kind"):
        case "approval":
            return bool(pairs)
        case "clarification":
            return bool(action)
        case _:
            return bool(action or pairs)


def check_all_options(name: str | None, every: bool, all_options: Mapping[str, Any], others: Mapping[str, Any]) -> str:
    """The name of the interrupt, empty with --all. Raises UsageError for `all_options` without --all, and for `others`
    with it."""
    if not every:
        used = [option for option, value in all_options.items() if value]
        if used:
            raise click.UsageError(f"{used[0]} requires --all.")
        if name is None:
            raise click.UsageError(
                "name the run, as RUN or RUN/NODE. `weftwork inbox` lists the runs; --all answers many interrupts."
            )
        return name
    if name is not None:
        raise click.UsageError(f"--all answers many interrupts; remove {clean(name, 60)}, or remove --all.")
    if all_options["--code"] is None:
        raise click.UsageError("--all requires --code effect-unknown: other interrupts are answered one by one.")
    if any(others.values()):
        raise click.UsageError("--all cannot be combined with options for approvals, --link or --follow.")
    return ""


def answer_from_options(
    interrupt: dict[str, Any],
    options: Mapping[str, Any],
    pairs: Sequence[str],
    value: str | None,
    value_file: str | None,
) -> Any:
    """The value to send. Raises UsageError if the options cannot answer an interrupt of this kind."""
    vote = build_vote(options)
    is_approval = interrupt.get("kind") == "approval"
    if vote.action and pairs:
        raise click.UsageError(
            "an action together with --set presses a button of a form that an agent wrote, and this interrupt has no "
            "such form; pass one of them."
        )
    if vote.action:
        if interrupt.get("kind") == LOW_CONFIDENCE:
            return _low_confidence_answer(vote)
        if not is_approval:
            kind = clean(interrupt.get("kind", "custom"), 60)
            raise click.UsageError(
                f"the interrupt is not an approval but of kind {kind}; answer it with --set NAME=VALUE or --value."
            )
        return approval_from_options(interrupt, vote)
    if pairs and is_approval:
        raise click.UsageError(
            "the interrupt is an approval; answer it with --approve, --reject, --action or --value, not with --set."
        )
    if pairs:
        return _fill_form(interrupt, pairs)
    if value is not None:
        answer = json_or_text("--value", value.encode("utf-8", "surrogateescape"))
    else:
        assert value_file is not None, "--value or --value-file was given"
        answer = json_or_text("--value-file", read_file("--value-file", value_file))
    if vote.is_empty:
        return answer
    if not is_approval or not is_object(answer) or vote.comment or vote.data is not None:
        raise click.UsageError("--comment and --data require an action; --as and --override require an approval.")
    return {**answer, **vote.members()}


def _low_confidence_answer(vote: Vote) -> dict[str, Any]:
    """The answer to a low-confidence interrupt: carry out the uncertain decision, or not."""
    if vote.action not in LOW_CONFIDENCE_ACTIONS:
        raise click.UsageError(
            f"a low-confidence interrupt does not accept --action {clean(vote.action, 40)}; choose accept or reject."
        )
    if not vote.is_empty:
        raise click.UsageError(APPROVAL_ONLY)
    return {"action": vote.action}


def _fill_form(interrupt: dict[str, Any], pairs: Sequence[str]) -> Any:
    """The answer made of NAME=VALUE pairs, each parsed by the schema of its field."""
    form = build_form(interrupt)
    values: dict[str, Any] = {}
    for text in pairs:
        name, equals, typed = text.partition("=")
        if not name or not equals:
            raise click.UsageError(f"--set {clean(text, 60)} must have the form NAME=VALUE.")
        try:
            values[name] = form.field(name).parse(typed)
        except InvalidAnswer as error:
            raise click.UsageError(f"--set {clean(name, 60)}: {error}.") from None
    missing = [clean(each.name, 60) for each in form.fields if each.required and each.name and each.name not in values]
    if missing:
        raise click.UsageError(f"no value for {', '.join(missing[:20])}; add it with --set NAME=VALUE.")
    return form.answer(values)
