"""An open interrupt in text: what it asks, its votes and deadline, and a command that answers it."""

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
from weftwork.cli.console.documents import as_list, as_object, objects
from weftwork.cli.console.text import clean
from weftwork.cli.console.units import format_duration, format_time, parse_time
from weftwork.cli.render.schema_text import SchemaText, schema_problems
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND
from weftwork.protocol.wire.v1.paths import path_for

LOW_CONFIDENCE: Final = "low-confidence"
"""The interrupt kind for a decision with low confidence, which a person confirms or rejects."""
LOW_CONFIDENCE_ACTIONS: Final = ("accept", "reject")
_ACCEPT: Final[dict[str, Any]] = {"action": "accept"}
_MAX_SHORT: Final = 200
_SUMMARIZED_MEMBERS: Final = ("agentId", "threshold", "observed")


def summarize_decision(question: dict[str, Any]) -> str:
    """Who wants what, and how sure it is; nothing for other questions. Not made safe to print."""
    data = question.get("data")
    if question.get("kind") != LOW_CONFIDENCE or not is_object(data):
        return ""
    # Imported late: it loads the rules of definitions, which few commands need.
    from weftwork.protocol.workflow.orchestration import HOST_SUPERVISOR

    agent, least, observed = (data.get(name) for name in _SUMMARIZED_MEMBERS)
    is_number = [isinstance(each, int | float) and not isinstance(each, bool) for each in (least, observed)]
    if not isinstance(agent, str) or not all(is_number):
        return ""
    who = "The supervisor" if agent == HOST_SUPERVISOR else f"The agent {agent}"
    if "decision" not in data:
        return f"{who} is {observed:g} sure of a decision; {least:g} is asked for"
    return f"{who} {_decision_text(data['decision'])}; it is {observed:g} sure, {least:g} is asked for"


def accepts_actions(question: dict[str, Any]) -> bool:
    """Whether accept and reject are answers by the question's own schema. One without a schema does not say."""
    schema = question.get("resumeSchema")
    if question.get("kind") != LOW_CONFIDENCE or not is_object(schema) or not schema:
        return False
    return not any(schema_problems(schema, {"action": action}) for action in LOW_CONFIDENCE_ACTIONS)


def _decision_text(decision: Any) -> str:
    known = as_object(decision)
    match known:
        case {"kind": "next-worker", "nextWorkerIds": workers} if is_array(workers):
            return f"wants to run {', '.join(map(str, workers))}"
        case {"kind": "ask-user", "prompt": str(prompt)}:
            return f"wants to ask: {prompt}"
        case {"kind": "terminate"}:
            reason = known.get("reason")
            return "wants to end the work" + (f" ({reason})" if isinstance(reason, str) else "")
        case _:
            text = json.dumps(decision, ensure_ascii=False)
            return f"decides {text if len(text) <= _MAX_SHORT else text[:_MAX_SHORT] + '…'}"


MAX_VOTERS: Final = 10
"""Of so many the names are shown."""
_MAX_NAME: Final = 60


def vote_progress(question: dict[str, Any]) -> str:
    """`1 of 3`: how many of the approvals that are needed are there; nothing where one answer is enough."""
    told = question.get("progress")
    if is_object(told) and _is_count(told.get("granted")) and _is_count(told.get("required")):
        # An event said so.
        return f"{told['granted']} of {told['required']}" if told["required"] > 1 else ""
    required = as_object(question.get("data")).get("requiredApprovals")
    if not _is_count(required) or required < 2:
        return ""
    # Imported late: it loads the JSON Schema validator.
    from weftwork.protocol.people.approvals import GRANTING_ACTIONS

    return f"{sum(action in GRANTING_ACTIONS for _, action in _votes(question))} of {required}"


def takes_votes(question: dict[str, Any]) -> bool:
    """Whether more than one answer is waited for."""
    return vote_progress(question) != ""


def due_text(question: dict[str, Any], now: datetime) -> str:
    """`in 2 h 10 min` or `overdue`; nothing for a question that waits for ever."""
    end = parse_time(question.get("dueAt"))
    if end is None:
        return ""
    left = (end - now).total_seconds() * 1000
    return f"in {format_duration(left)}" if left > 0 else "overdue"


def status_lines(question: dict[str, Any], now: datetime) -> Iterator[str]:
    """Lines to print below what is asked."""
    so_far = vote_progress(question)
    if so_far:
        cast = [(clean(name, _MAX_NAME), clean(action, _MAX_NAME)) for name, action in _votes(question)]
        named = ", ".join(f"{name} {action}" for name, action in cast[:MAX_VOTERS])
        more = f" and {len(cast) - MAX_VOTERS} more" if len(cast) > MAX_VOTERS else ""
        yield f"  approvals: {so_far}" + (f" ({named}{more})" if named else "")
    if when := due_text(question, now):
        yield f"  answer by {format_time(question.get('dueAt'))} UTC, {when}"


def _votes(question: dict[str, Any]) -> list[tuple[str, str]]:
    return [(str(each.get("voter", "?")), str(each.get("action", "?"))) for each in objects(question.get("votes"))]


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


MAX_MESSAGE: Final = 8000
"""Characters of what somebody wrote for the one who answers: more than anybody reads, less than floods a screen."""
MAX_DETAIL_LINES: Final = 40
"""Lines of what goes with it."""
_MAX_BODY: Final = 4000
_INDENT: Final = "  "
_TEXT_MEMBERS: Final = ("title", "description", "prompt", "message", "eventType")
_KEY: Final = re.compile(r"[A-Za-z0-9._:~-]{1,255}")
_OUTCOME_HINT: Final = "outcome is one of these words; output goes with done: what it gave, if it gave something"
_LOW_CONFIDENCE_HINT: Final = (
    'action in the answer: "accept" or "reject"; decision goes with accept: another one in its place'
)


def describe_interrupt(question: dict[str, Any], in_parts: bool = False) -> list[str]:
    """What is asked: the words for whoever answers first and whole, then what goes with them. Lines can be printed.

    `in_parts`: its parts are asked one by one, and each says then what it takes.
    """
    kind = question.get("kind")
    head = clean(kind, _MAX_SHORT) if isinstance(kind, str) else "question"
    data = question.get("data")
    texts, rest = _split_texts(as_object(data))
    if (said := summarize_decision(question)) and is_object(data):
        # What no sentence says, or not in full.
        texts, rest = [said], {name: value for name, value in data.items() if name not in _SUMMARIZED_MEMBERS}
    choices = list(_choice_lines(question, in_parts))
    if not texts and data not in (None, {}):
        small = json.dumps(data, ensure_ascii=False)
        if len(small) <= _MAX_SHORT:
            return [clean(f"{head}: {small}"), *choices]
        return [f"{head}:", *_limit_lines(json.dumps(data, ensure_ascii=False, indent=2).split("\n")), *choices]
    said = [clean(line.rstrip("\r"), MAX_MESSAGE) for text in texts for line in text[:MAX_MESSAGE].split("\n")]
    first = f"{head}: {said[0]}" if said else head
    return [first, *(_INDENT + line for line in said[1:]), *_limit_lines(_member_lines(rest)), *choices]


def question_lines(who: str, question: dict[str, Any], in_parts: bool = False) -> list[str]:
    """What is asked and by whom, who has voted, and until when there is time. Lines can be printed if `who` can."""
    first, *more = describe_interrupt(question, in_parts)
    return [f"{who} {first}", *more, *status_lines(question, datetime.now(UTC))]


def quote_id(text: str) -> str:
    """An id of the host as one word of a command that somebody may paste into a shell."""
    return shlex.quote(clean(text))


def headline(question: dict[str, Any]) -> str:
    """What is asked, in one line and without its kind. Not made safe to print."""
    data = question.get("data")
    known = as_object(data)
    texts, _ = _split_texts(known)
    if said := summarize_decision(question):
        texts = [said]
    if isinstance(custom := known.get("customKind"), str) and custom and not _is_unknown_outcome(question):
        title = as_object(known.get("payload")).get("title")
        texts = [": ".join([custom, *([title] if isinstance(title, str) and title.strip() else texts)[:1]])]
    if texts:
        return texts[0].strip().partition("\n")[0]
    return json.dumps(data, ensure_ascii=False)[:_MAX_SHORT] if data not in (None, {}) else ""


def answer_command(url: str, run_id: str, node_id: str) -> str:
    """The command that answers, to be pasted into a shell. It names the host unless it would find it by itself.

    Without a node it answers what the run asks, if that is one thing.
    """
    where = "" if url == os.environ.get("WEFTWORK_URL", DEFAULT_URL).rstrip("/") else f" --url {shlex.quote(url)}"
    return f"weftwork answer {quote_id(f'{run_id}/{node_id}' if node_id else run_id)}{where}"


def curl_lines(url: str, run_id: str, node_id: str, question: dict[str, Any]) -> list[str]:
    """A command that answers, in pieces for lines of their own.

    Sent twice, it answers once: it has an Idempotency-Key that belongs to this question. Nothing of the host can leave
    its quotes, and the key of the user is not in it.
    """
    where = url + path_for("resolveInterruptByRun", runId=run_id, nodeId=node_id)
    # Spelled in ASCII, so that nothing in it can move a cursor.
    body = json.dumps({"resumeValue": _example_answer(question)})
    if len(body) > _MAX_BODY:
        body = json.dumps({"resumeValue": "..."})
    key = '-H "Authorization: Bearer $WEFTWORK_KEY"'
    kind = "-H 'Content-Type: application/json'"
    once = _idempotency_header(run_id, question)
    return [f"curl -d {shlex.quote(body)}", key, kind, *once, shlex.quote(where)]


def _idempotency_header(run_id: str, question: dict[str, Any]) -> list[str]:
    """What makes a repeated answer the same answer; nothing where the question has no name of its own.

    Nor where several are to answer: the same words of another person would count as a repetition, and not as a vote.
    """
    if takes_votes(question):
        return []
    named = next((each for name in ("key", "interruptId") if isinstance(each := question.get(name), str) and each), "")
    if not named:
        return []
    key = f"{run_id}-{named}"
    if _KEY.fullmatch(key) is None:
        key = hashlib.sha256(f"{run_id}\0{named}".encode("utf-8", "surrogatepass")).hexdigest()
    return [f'-H "Idempotency-Key: {key}"']


def _split_texts(data: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """The words that somebody wrote for the one who answers, and the other members."""
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
    """A line for each member; the answers that the author explains, one by one."""
    for name, value in rest.items():
        if name == "answers" and is_object(value):
            yield from (
                f"{each}: {text if isinstance(text, str) else json.dumps(text)}" for each, text in value.items()
            )
            continue
        small = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if len(small) <= _MAX_SHORT or isinstance(value, str):
            yield f"{name}: {small}"
            continue
        yield f"{name}:"
        yield from (_INDENT + line for line in json.dumps(value, ensure_ascii=False, indent=2).split("\n"))


def _choice_lines(question: dict[str, Any], in_parts: bool) -> Iterator[str]:
    """What may be answered, as far as the question says so."""
    if _is_unknown_outcome(question):
        yield _INDENT + _OUTCOME_HINT
        return
    if accepts_actions(question):
        yield _INDENT + _LOW_CONFIDENCE_HINT
        return
    # What each of several questions takes, where it says so itself.
    for each in islice(objects(as_object(question.get("data")).get("questions")), MAX_DETAIL_LINES):
        if not in_parts and is_object(shape := each.get("schema")) and shape:
            name = clean(each.get("id", "?"), _MAX_SHORT)
            yield f"{_INDENT}{name} in the answer: {clean(SchemaText(shape).type_text(), _MAX_SHORT)}"
    shape = question.get("resumeSchema")
    if not is_object(shape) or not shape:
        return
    schema = SchemaText(shape)
    rows = list(islice(schema.rows(), MAX_DETAIL_LINES))
    if not rows:
        yield f"{_INDENT}the answer: {clean(schema.type_text(), _MAX_SHORT)}"
    for name, words, default, meaning in rows:
        yield clean(f"{_INDENT}{name} in the answer: {', '.join(each for each in (words, default, meaning) if each)}")


def _limit_lines(lines: Iterator[str] | list[str]) -> Iterator[str]:
    at = -1
    for at, line in enumerate(lines):
        if at < MAX_DETAIL_LINES:
            yield _INDENT + clean(line)
    if at >= MAX_DETAIL_LINES:
        yield f"{_INDENT}and {at + 1 - MAX_DETAIL_LINES} more lines; `weftwork runs show --json` has all of it"


def _example_answer(question: dict[str, Any]) -> Any:
    """A value of the shape that the question wants."""
    known, kind = as_object(question.get("data")), question.get("kind")
    shape = as_object(question.get("resumeSchema"))
    if _is_unknown_outcome(question):
        # With the key of the question, so that it is taken for no other; unless the host takes no such member.
        key, members = question.get("key"), shape.get("properties")
        named = isinstance(key, str) and (members is None or "key" in members)
        return {"outcome": "done", **({"key": key} if named else {})}
    if accepts_actions(question):
        return _ACCEPT
    if shape:
        return SchemaText(shape).sample()
    if kind == LOW_CONFIDENCE:
        is_shown = "decision" in known and "[REDACTED:" not in json.dumps(known["decision"])
        return known["decision"] if is_shown else _ACCEPT
    if kind == "approval":
        return {"action": next((each for each in as_list(known.get("actions")) if isinstance(each, str)), "accept")}
    if kind == "clarification":
        named = [each for each in objects(known.get("questions")) if isinstance(each.get("id"), str)]
        shapes = {each["id"]: as_object(each.get("schema")) for each in named}
        return {"answers": {name: SchemaText(own).sample() if own else "..." for name, own in shapes.items()}}
    if kind == "external-event" and is_object(known.get("correlation")):
        return known["correlation"]
    return "..."


def _is_unknown_outcome(question: dict[str, Any]) -> bool:
    """Whether somebody has to find out what became of an effect."""
    return as_object(question.get("data")).get("customKind") == UNKNOWN_OUTCOME_KIND
