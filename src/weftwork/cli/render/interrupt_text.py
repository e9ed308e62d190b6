"""An open interrupt as text: its question, votes and deadline, and the command that answers it."""

import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, TypeGuard

from weftwork.cli.client.options import DEFAULT_URL
from weftwork.cli.client.surfaces import title_and_trust
from weftwork.cli.console.documents import as_list, as_object, objects
from weftwork.cli.console.text import clean
from weftwork.cli.console.units import format_duration, format_time, parse_time
from weftwork.cli.render.form_text import visible
from weftwork.cli.render.schema_text import SchemaText, schema_problems
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND
from weftwork.protocol.wire.v1.paths import path_for

FORM_KIND: Final = "ui.a2ui-surface"
"""The kind of the envelope of a form. `protocol/envelopes/kinds` has it too, but loads the JSON Schema validator."""
LOW_CONFIDENCE: Final = "low-confidence"
"""The interrupt kind for a decision with low confidence, which a person confirms or rejects."""
LOW_CONFIDENCE_ACTIONS: Final = ("accept", "reject")
_ACCEPT: Final[dict[str, Any]] = {"action": "accept"}
_MAX_SHORT: Final = 200
_SUMMARIZED_MEMBERS: Final = ("agentId", "threshold", "observed")


def summarize_decision(interrupt: dict[str, Any]) -> str:
    """The decision of a low-confidence interrupt and its confidence; empty for other kinds. May be unprintable."""
    data = interrupt.get("data")
    if interrupt.get("kind") != LOW_CONFIDENCE or not is_object(data):
        return ""
    # Imported late: it loads the rules of definitions, which few commands need.
    from weftwork.protocol.workflow.orchestration import HOST_SUPERVISOR

    agent, threshold, observed = (data.get(name) for name in _SUMMARIZED_MEMBERS)
    is_number = [isinstance(each, int | float) and not isinstance(each, bool) for each in (threshold, observed)]
    if not isinstance(agent, str) or not all(is_number):
        return ""
    actor = "The supervisor" if agent == HOST_SUPERVISOR else f"The agent {agent}"
    if "decision" not in data:
        return f"{actor} made a decision with confidence {observed:g}; {threshold:g} is required"
    return f"{actor} {_decision_text(data['decision'])} with confidence {observed:g}; {threshold:g} is required"


def accepts_actions(interrupt: dict[str, Any]) -> bool:
    """Whether the resumeSchema of a low-confidence interrupt allows accept and reject; False without a schema."""
    schema = interrupt.get("resumeSchema")
    if interrupt.get("kind") != LOW_CONFIDENCE or not is_object(schema) or not schema:
        return False
    return not any(schema_problems(schema, {"action": action}) for action in LOW_CONFIDENCE_ACTIONS)


def _decision_text(decision: Any) -> str:
    members = as_object(decision)
    match members:
        case {"kind": "next-worker", "nextWorkerIds": workers} if is_array(workers):
            return f"wants to run {', '.join(map(str, workers))}"
        case {"kind": "ask-user", "prompt": str(prompt)}:
            return f"wants to ask: {prompt}"
        case {"kind": "terminate"}:
            reason = members.get("reason")
            return "wants to end the work" + (f" ({reason})" if isinstance(reason, str) else "")
        case _:
            text = json.dumps(decision, ensure_ascii=False)
            return f"decided {text if len(text) <= _MAX_SHORT else text[:_MAX_SHORT] + '…'}"


MAX_VOTERS: Final = 10
"""Maximum number of voters shown by name."""
_MAX_NAME: Final = 60


def vote_progress(interrupt: dict[str, Any]) -> str:
    """Approvals granted and required, as `1 of 3`; empty if one answer is enough."""
    progress = interrupt.get("progress")
    if is_object(progress) and _is_count(progress.get("granted")) and _is_count(progress.get("required")):
        # From an approval.granted event.
        return f"{progress['granted']} of {progress['required']}" if progress["required"] > 1 else ""
    required = as_object(interrupt.get("data")).get("requiredApprovals")
    if not _is_count(required) or required < 2:
        return ""
    # Imported late: it loads the JSON Schema validator.
    from weftwork.protocol.people.approvals import GRANTING_ACTIONS

    return f"{sum(action in GRANTING_ACTIONS for _, action in _votes(interrupt))} of {required}"


def takes_votes(interrupt: dict[str, Any]) -> bool:
    """Whether the interrupt requires more than one answer."""
    return vote_progress(interrupt) != ""


def due_text(interrupt: dict[str, Any], now: datetime) -> str:
    """`in 2 h 10 min` or `overdue`; empty for an interrupt without a timeout."""
    end = parse_time(interrupt.get("dueAt"))
    if end is None:
        return ""
    remaining = (end - now).total_seconds() * 1000
    return f"in {format_duration(remaining)}" if remaining > 0 else "overdue"


def status_lines(interrupt: dict[str, Any], now: datetime) -> Iterator[str]:
    """Lines with the votes and the deadline, to print below the question."""
    progress = vote_progress(interrupt)
    if progress:
        cast = [(clean(name, _MAX_NAME), clean(action, _MAX_NAME)) for name, action in _votes(interrupt)]
        voters = ", ".join(f"{name} {action}" for name, action in cast[:MAX_VOTERS])
        omitted = f" and {len(cast) - MAX_VOTERS} more" if len(cast) > MAX_VOTERS else ""
        yield f"  approvals: {progress}" + (f" ({voters}{omitted})" if voters else "")
    if due := due_text(interrupt, now):
        yield f"  answer by {format_time(interrupt.get('dueAt'))} UTC, {due}"


def _votes(interrupt: dict[str, Any]) -> list[tuple[str, str]]:
    return [(str(each.get("voter", "?")), str(each.get("action", "?"))) for each in objects(interrupt.get("votes"))]


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


MAX_MESSAGE: Final = 8000
"""Maximum number of characters of a question: long enough to read in full, short enough not to flood the screen."""
MAX_DETAIL_LINES: Final = 40
"""Maximum number of lines for the other members of an interrupt."""
_MAX_BODY: Final = 4000
_INDENT: Final = "  "
_TEXT_MEMBERS: Final = ("title", "description", "prompt", "message", "eventType")
_FORM_NOUN: Final = "an answer to a form"
_KEY: Final = re.compile(r"[A-Za-z0-9._:~-]{1,255}")
_OUTCOME_HINT: Final = "outcome is one of these words; with done, output may have the result of the effect"
_LOW_CONFIDENCE_HINT: Final = (
    'action in the answer: "accept" or "reject"; with accept, decision may contain a different decision'
)
_NOUNS: Final = {
    "approval": "approval",
    "clarification": "clarification",
    "external-event": "an external event",
    LOW_CONFIDENCE: f"confirmation ({LOW_CONFIDENCE})",
}
"""What an interrupt of a kind requests, to follow `NODE requests`."""


def describe_interrupt(interrupt: dict[str, Any], in_parts: bool = False) -> list[str]:
    """Printable lines: what the interrupt requests and its question in full, then its other members.

    With `in_parts` the fields are prompted for one by one, so their schemas are omitted here.
    """
    kind = interrupt.get("kind")
    note = form_note(interrupt)
    notes = [f"{_INDENT}form of an agent: {note}; `weftwork answer` shows it"] if note and not in_parts else []
    if is_form_only(interrupt):
        title = as_object(as_object(interrupt.get("data")).get("payload")).get("title")
        return [f"{_FORM_NOUN}: {clean(title, _MAX_SHORT)}" if isinstance(title, str) else _FORM_NOUN, *notes]
    head = _NOUNS.get(kind) or f"an answer ({clean(kind, _MAX_SHORT)})" if isinstance(kind, str) else "an answer"
    data = interrupt.get("data")
    texts, rest = _split_texts(as_object(data))
    if (summary := summarize_decision(interrupt)) and is_object(data):
        # The members that the summary leaves out or shortens.
        texts, rest = [summary], {name: value for name, value in data.items() if name not in _SUMMARIZED_MEMBERS}
    # With a form, the prompts follow the form and not the schema of the answer.
    choices = [] if note and in_parts else [*_choice_lines(interrupt, in_parts), *notes]
    if not texts and data not in (None, {}):
        text = json.dumps(data, ensure_ascii=False)
        if len(text) <= _MAX_SHORT:
            return [clean(f"{head}: {text}"), *choices]
        return [f"{head}:", *_limit_lines(json.dumps(data, ensure_ascii=False, indent=2).split("\n")), *choices]
    lines = [clean(line.rstrip("\r"), MAX_MESSAGE) for text in texts for line in text[:MAX_MESSAGE].split("\n")]
    first = f"{head}: {lines[0]}" if lines else head
    return [first, *(_INDENT + line for line in lines[1:]), *_limit_lines(_member_lines(rest)), *choices]


def is_form_only(interrupt: dict[str, Any]) -> bool:
    """Whether the interrupt has no question of its own: the form that an agent wrote is the question."""
    return as_object(interrupt.get("data")).get("customKind") == FORM_KIND


def form_note(interrupt: dict[str, Any]) -> str:
    """Whether the form of the interrupt is trusted, and its title, printable. Empty if no agent wrote a form."""
    found = title_and_trust(interrupt)
    if found is None:
        return ""
    title, is_trusted = found
    trust = "trusted" if is_trusted else "untrusted"
    return f"{trust}, {visible(title[:_MAX_SHORT])}" if title.strip() and not is_form_only(interrupt) else trust


def question_lines(actor: str, interrupt: dict[str, Any], in_parts: bool = False) -> list[str]:
    """The description of an interrupt after `actor`, its votes and its deadline. `actor` must be printable."""
    first, *rest = describe_interrupt(interrupt, in_parts)
    return [f"{actor} {first}", *rest, *status_lines(interrupt, datetime.now(UTC))]


def quote_id(text: str) -> str:
    """An id from a host as one shell word, safe to paste."""
    return shlex.quote(clean(text))


def headline(interrupt: dict[str, Any]) -> str:
    """The question in one line, without its kind. May be unprintable."""
    data = interrupt.get("data")
    members = as_object(data)
    texts, _ = _split_texts(members)
    if summary := summarize_decision(interrupt):
        texts = [summary]
    if is_form_only(interrupt):
        title = as_object(members.get("payload")).get("title")
        return title.strip().partition("\n")[0] if isinstance(title, str) and title.strip() else "a form"
    if isinstance(custom := members.get("customKind"), str) and custom and not _is_unknown_outcome(interrupt):
        title = as_object(members.get("payload")).get("title")
        texts = [": ".join([custom, *([title] if isinstance(title, str) and title.strip() else texts)[:1]])]
    if texts:
        return texts[0].strip().partition("\n")[0]
    return json.dumps(data, ensure_ascii=False)[:_MAX_SHORT] if data not in (None, {}) else ""


def answer_command(url: str, run_id: str, node_id: str) -> str:
    """The command that answers the interrupt, for a shell. It has --url unless the host is the default one.

    Without a node, the command answers the only open interrupt of the run.
    """
    url_option = "" if url == os.environ.get("WEFTWORK_URL", DEFAULT_URL).rstrip("/") else f" --url {shlex.quote(url)}"
    return f"weftwork answer {quote_id(f'{run_id}/{node_id}' if node_id else run_id)}{url_option}"


def curl_lines(url: str, run_id: str, node_id: str, interrupt: dict[str, Any]) -> list[str]:
    """The curl command that answers the interrupt, one argument per line.

    Its Idempotency-Key belongs to this interrupt, so sending it twice answers once. Texts from the host are quoted, and
    the user's API key is not included.
    """
    target = url + path_for("resolveInterruptByRun", runId=run_id, nodeId=node_id)
    # ASCII JSON cannot contain control characters.
    body = json.dumps({"resumeValue": _example_answer(interrupt)})
    if len(body) > _MAX_BODY:
        body = json.dumps({"resumeValue": "..."})
    authorization = '-H "Authorization: Bearer $WEFTWORK_KEY"'
    content_type = "-H 'Content-Type: application/json'"
    idempotency = _idempotency_header(run_id, interrupt)
    return [f"curl -d {shlex.quote(body)}", authorization, content_type, *idempotency, shlex.quote(target)]


def _idempotency_header(run_id: str, interrupt: dict[str, Any]) -> list[str]:
    """The Idempotency-Key header for the answer; none if the interrupt has no id.

    Also none if several people vote: the same answer from another person must count as a separate vote.
    """
    if takes_votes(interrupt):
        return []
    name = next(
        (each for member in ("key", "interruptId") if isinstance(each := interrupt.get(member), str) and each), ""
    )
    if not name:
        return []
    key = f"{run_id}-{name}"
    if _KEY.fullmatch(key) is None:
        key = hashlib.sha256(f"{run_id}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()
    return [f'-H "Idempotency-Key: {key}"']


def _split_texts(data: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """The texts for the person who answers, and the other members."""
    payload = data.get("payload")
    inner = as_object(payload)
    if isinstance(message := inner.get("message"), str) and message:
        return [message], {name: value for name, value in inner.items() if name != "message"}
    if isinstance(payload, str) and payload:
        return [payload], {}
    texts = [text for name in _TEXT_MEMBERS if isinstance(text := data.get(name), str) and text]
    texts += [text for each in objects(data.get("questions")) if isinstance(text := each.get("question"), str)]
    return texts, {name: value for name, value in data.items() if name not in (*_TEXT_MEMBERS, "questions")}


def _member_lines(rest: dict[str, Any]) -> Iterator[str]:
    """One line per member; `answers`, in which the author explains each answer, becomes one line per answer."""
    for name, value in rest.items():
        if name == "answers" and is_object(value):
            yield from (
                f"{each}: {meaning if isinstance(meaning, str) else json.dumps(meaning)}"
                for each, meaning in value.items()
            )
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if len(text) <= _MAX_SHORT or isinstance(value, str):
            yield f"{name}: {text}"
            continue
        yield f"{name}:"
        yield from (_INDENT + line for line in json.dumps(value, ensure_ascii=False, indent=2).split("\n"))


def _choice_lines(interrupt: dict[str, Any], in_parts: bool) -> Iterator[str]:
    """Lines about the allowed answers, if the interrupt describes them."""
    if _is_unknown_outcome(interrupt):
        yield _INDENT + _OUTCOME_HINT
        return
    if accepts_actions(interrupt):
        yield _INDENT + _LOW_CONFIDENCE_HINT
        return
    # The schema of each question of a clarification.
    for each in islice(objects(as_object(interrupt.get("data")).get("questions")), MAX_DETAIL_LINES):
        if not in_parts and is_object(shape := each.get("schema")) and shape:
            name = clean(each.get("id", "?"), _MAX_SHORT)
            yield f"{_INDENT}{name} in the answer: {clean(SchemaText(shape).type_text(), _MAX_SHORT)}"
    shape = interrupt.get("resumeSchema")
    if not is_object(shape) or not shape:
        return
    schema = SchemaText(shape)
    rows = list(islice(schema.rows(), MAX_DETAIL_LINES))
    if not rows:
        yield f"{_INDENT}the answer: {clean(schema.type_text(), _MAX_SHORT)}"
    for name, type_text, default, meaning in rows:
        notes = ", ".join(each for each in (type_text, default, meaning) if each)
        yield clean(f"{_INDENT}{name} in the answer: {notes}")


def _limit_lines(lines: Iterator[str] | list[str]) -> Iterator[str]:
    at = -1
    for at, line in enumerate(lines):
        if at < MAX_DETAIL_LINES:
            yield _INDENT + clean(line)
    if at >= MAX_DETAIL_LINES:
        yield f"{_INDENT}and {at + 1 - MAX_DETAIL_LINES} more lines; `weftwork runs show RUN --json` shows all"


def _example_answer(interrupt: dict[str, Any]) -> Any:
    """A sample answer that matches the interrupt."""
    data, kind = as_object(interrupt.get("data")), interrupt.get("kind")
    shape = as_object(interrupt.get("resumeSchema"))
    if _is_unknown_outcome(interrupt):
        # The key ties the answer to this interrupt; omitted if the host's schema does not allow it.
        key, members = interrupt.get("key"), shape.get("properties")
        has_key = isinstance(key, str) and (members is None or "key" in members)
        return {"outcome": "done", **({"key": key} if has_key else {})}
    if accepts_actions(interrupt):
        return _ACCEPT
    if shape:
        return SchemaText(shape).sample()
    if kind == LOW_CONFIDENCE:
        is_shown = "decision" in data and "[REDACTED:" not in json.dumps(data["decision"])
        return data["decision"] if is_shown else _ACCEPT
    if kind == "approval":
        return {"action": next((each for each in as_list(data.get("actions")) if isinstance(each, str)), "accept")}
    if kind == "clarification":
        questions = [each for each in objects(data.get("questions")) if isinstance(each.get("id"), str)]
        shapes = {each["id"]: as_object(each.get("schema")) for each in questions}
        return {"answers": {name: SchemaText(schema).sample() if schema else "..." for name, schema in shapes.items()}}
    if kind == "external-event" and is_object(data.get("correlation")):
        return data["correlation"]
    return "..."


def _is_unknown_outcome(interrupt: dict[str, Any]) -> bool:
    """Whether a person must report the outcome of an effect that may or may not have happened."""
    return as_object(interrupt.get("data")).get("customKind") == UNKNOWN_OUTCOME_KIND
