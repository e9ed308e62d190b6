"""What the contexts of async and plain functions have in common: how a node asks somebody outside."""

from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, Generic, TypeVar, cast

from weftwork.adapters.python.bearings import Bearings
from weftwork.adapters.python.question import MISSING, Question, Seconds, wire_key

Answer = TypeVar("Answer")
"""Any JSON, or in an async function what gives it when it is awaited."""
Record = TypeVar("Record")
"""An object, or in an async function what gives it when it is awaited."""

Texts = Collection[str]


class Asks(Bearings, Generic[Answer, Record]):
    """The node ends where it asks, and is entered again from its start once there is an answer.

    Asked again under the same key, a question gets the answer that is recorded. To be awaited in an async function.
    """

    __slots__ = ()

    @abstractmethod
    def _ask(self, name: str, asked: Question) -> Any:
        """Ask it in the way of the function; `name` is the call that the author made."""

    def interrupt(
        self,
        key: str,
        data: Any = None,
        *,
        kind: str = "custom",
        custom_kind: str | None = None,
        resume_schema: Mapping[str, Any] | None = None,
        timeout: Seconds | None = None,
        default: Any = MISSING,
        remind_after: Collection[Seconds] = (),
    ) -> Answer:
        """Ask somebody outside, and get their answer. One of a kind that nobody answers gives None at once.

        When `timeout` is over the answer is `default`; without one InterruptTimeout is raised. `remind_after` says
        when those who follow the run are reminded.
        """
        asked = Question(
            key=key,
            kind=kind,
            data=data,
            custom_kind=custom_kind,
            resume_schema=resume_schema,
            timeout=timeout,
            default=default,
            remind_after=remind_after,
        )
        return self._ask("ctx.interrupt", asked)

    def approve(
        self,
        key: str,
        title: str,
        *,
        artifact: Any = None,
        artifact_id: str | None = None,
        artifact_type: str = "value",
        description: str | None = None,
        actions: Texts = ("accept", "reject"),
        approvers: Texts = (),
        required: int = 1,
        rejection_policy: str = "single-veto",
        override: bool = False,
        timeout: Seconds | None = None,
        remind_after: Collection[Seconds] = (),
    ) -> Record:
        """Ask for an approval, and get the decision: `action`, `decidedBy` and what belongs to the action.

        A rejection is a decision too. When `timeout` is over it is one with the reason `timeout`.
        """
        data = {
            "artifactId": wire_key(self._entry.call, key) if artifact_id is None else artifact_id,
            "artifactType": artifact_type,
            "title": title,
            "description": description,
            "artifactData": artifact,
            "actions": actions,
            "requiredApprovals": None if required == 1 else required,
            "approversList": approvers or None,
            "rejectionPolicy": None if rejection_policy == "single-veto" else rejection_policy,
            "override": override or None,
        }
        given = {name: value for name, value in data.items() if value is not None}
        asked = Question(key=key, kind="approval", data=given, timeout=timeout, remind_after=remind_after)
        return self._ask("ctx.approve", asked)

    def clarify(
        self,
        key: str,
        questions: Mapping[str, str] | Collection[Mapping[str, Any]],
        *,
        context_type: str | None = None,
        timeout: Seconds | None = None,
        default: Any = MISSING,
        remind_after: Collection[Seconds] = (),
    ) -> Record:
        """Ask several things at once, and get the answers by id.

        `questions` are texts by id, or objects with `id`, `question` and perhaps the `schema` of the answer.
        """
        listed: Any = questions
        if isinstance(questions, Mapping):
            texts = cast("Mapping[str, str]", questions)
            listed = [{"id": name, "question": text} for name, text in texts.items()]
        data = {"questions": listed} | ({} if context_type is None else {"contextType": context_type})
        asked = Question(
            key=key,
            kind="clarification",
            data=data,
            timeout=timeout,
            default=default,
            remind_after=remind_after,
            member="answers",
        )
        return self._ask("ctx.clarify", asked)

    def wait_for_event(
        self,
        key: str,
        event_type: str,
        correlation: Mapping[str, Any],
        *,
        resume_schema: Mapping[str, Any] | None = None,
        timeout: Seconds | None = None,
        default: Any = MISSING,
        remind_after: Collection[Seconds] = (),
    ) -> Answer:
        """Wait for something that another system tells, and get what it told. It has to name the `correlation`."""
        asked = Question(
            key=key,
            kind="external-event",
            data={"eventType": event_type, "correlation": correlation},
            resume_schema=resume_schema,
            timeout=timeout,
            default=default,
            remind_after=remind_after,
        )
        return self._ask("ctx.wait_for_event", asked)
