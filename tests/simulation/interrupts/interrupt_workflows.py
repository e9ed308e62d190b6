"""Random workflows that wait for people, nodes that ask again and again, and what people say to all of them."""

import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.external_system import effect_node_type
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND
from weftwork.protocol.run.interrupts import Interrupt, InterruptState, Resolution

SECRET = "secret-text"
HOUR = 3_600_000
NAMES = ("ada", "bob", "eve")
PEOPLE = tuple(Answerer(f"key_{name}", frozenset({name})) for name in NAMES)
DEPUTY = Answerer("key_deputy", may_delegate=True)
OWNER = Answerer("key_owner", may_override=True)
LINK = Answerer("link:1", frozenset({"ada"}), bound_person="ada", has_key=False)
MODEL = Answerer("agent", trust="untrusted", may_delegate=True, may_override=True)
ANSWERERS = (*PEOPLE, DEPUTY, OWNER, LINK, MODEL)
RECEIPT = {"receipt": "seen"}
REPEAT_ONCE = "nodes.{}.outputs.round < 1.0"


class AskingNodes:
    """Outlives every process: what nodes have heard and done."""

    def __init__(self) -> None:
        self.received_answers: dict[str, Resolution] = {}
        self.effect_counts: Counter[str] = Counter()
        self.violations: list[str] = []
        self._failed: Counter[str] = Counter()

    def types(self) -> list[WaitingNode]:
        more: dict[str, Any] = {"config": {"type": "object"}, "inputs": {"type": "object"}}
        return [
            effect_node_type(f"test.{effect}", self._ask_repeatedly, effect, **more)  # pyright: ignore[reportArgumentType]
            for effect in ("pure", "idempotent", "once")
        ]

    async def _ask_repeatedly(self, call: NodeCall, context: NodeContext) -> NodeOutcome:
        """Asks, does something, asks again. What it hears under a key never changes."""
        values: list[Any] = []
        for index, wanted in enumerate(call.config["asks"]):
            key = f"{call.node_id}:{call.visit}:{index}"
            data = {"customKind": "test.ask", "payload": call.inputs.get("hidden")}
            found = await context.ask(
                Interrupt("custom", key, data, None, wanted.get("timeoutMs"), tuple(wanted.get("remindAfterMs", ())))
            )
            place = context.effect_key(f"s{index}")
            effect = call.config["step"]
            await context.step(
                f"s{index}", effect, lambda place=place, effect=effect: self._perform_effect(place, effect)
            )
            # After the step: a pure node may hear of an answer before that is durable, but it does nothing then.
            if self.received_answers.setdefault(key, found) != found:
                self.violations.append(f"{key} was {self.received_answers[key]} and is {found} now")
            values.append(found.value)
        key = context.effect_key()
        self._failed[key] += 1
        if self._failed[key] <= call.config.get("busy", 0):
            return Failed("busy", "Not now.")
        return Completed({"round": call.visit, "heard": values})

    async def _perform_effect(self, key: str, effect: str) -> Any:
        self.effect_counts[key] += 1
        if effect == "once" and self.effect_counts[key] > 1:
            self.violations.append("a step happened twice")
        return RECEIPT


def _random_timeouts(dice: random.Random) -> dict[str, Any]:
    """Some wait for ever, some are reminded, some are given up."""
    found: dict[str, Any] = {}
    if dice.random() < 0.5:
        found["timeoutMs"] = dice.choice([1, 50, HOUR, 30 * 24 * HOUR])
    if dice.random() < 0.4:
        most = found.get("timeoutMs", 50 * HOUR)
        found["remindAfterMs"] = sorted({after for after in (20, 40, HOUR // 2, 26 * HOUR) if after < most})
    return {name: value for name, value in found.items() if value}


def random_node(dice: random.Random, name: str, times: bool) -> dict[str, Any]:
    kind = dice.choice(["asks", "asks", "approval", "approval", "clarification", "custom", "event", "talk", "delay"])
    more: dict[str, Any] = _random_timeouts(dice) if times else {}
    hidden = {"type": "variable", "variableName": "hidden"}
    secret = dice.random() < 0.3
    text = "Is {{variables.hidden}} fine?" if secret else "Is it?"
    if kind == "approval":
        named = {"artifactId": hidden} if secret and dice.random() < 0.3 else {}
        return node(name, "core.approvalGate", config={**_random_approval(dice), "title": text, **more}, inputs=named)
    if kind == "clarification":
        questions = [{"id": "a", "question": text}, {"id": "b", "question": "Two?", "schema": {"type": "string"}}]
        return node(name, "core.clarificationGate", config={"questions": questions, **more})
    if kind == "custom":
        if "timeoutMs" in more and dice.random() < 0.5:
            more["defaultValue"] = {"nobody": True}
        if dice.random() < 0.5:
            # Who asks under one key asks the same.
            more = {"key": "shared", "timeoutMs": HOUR} if times else {"key": "shared"}
        config = {"kind": "custom", "data": {"customKind": "pick"}, "resumeSchema": {"type": "object"}, **more}
        return node(name, "core.interrupt", config=config, inputs={"payload": hidden} if secret else {})
    if kind == "event":
        data = {"eventType": "paid", "correlation": {"order": name}}
        return node(name, "core.interrupt", config={"kind": "external-event", "data": data, **more})
    if kind == "talk":
        config = {"turnCount": dice.randint(1, 2), "prompt": text, "mockAutoResume": dice.random() < 0.2, **more}
        return node(name, "core.conversationGate", config=config)
    if kind == "delay":
        return node(name, "core.delay", config={"ms": dice.choice([1, 50, HOUR])})
    asks = [_random_timeouts(dice) if times else {} for _ in range(dice.randint(1, 3))]
    config = {"asks": asks, "step": dice.choice(["once", "idempotent"]), "busy": dice.choice([0, 0, 1])}
    # A run is parked before a retry that is more than a second away.
    settings = {"maxRetries": 90, "retryDelayMs": dice.choice([1, 1, 1, 5_000])}
    type_id = f"test.{dice.choice(['pure', 'idempotent', 'once'])}"
    return node(name, type_id, config=config, settings=settings, inputs={"hidden": hidden} if secret else {})


def _random_approval(dice: random.Random) -> dict[str, Any]:
    config: dict[str, Any] = {"actions": [*dice.sample(["reject", "refine", "ask"], dice.randint(0, 3)), "accept"]}
    if dice.random() < 0.6:
        config["requiredApprovals"] = dice.randint(1, 3)
        config["rejectionPolicy"] = dice.choice(["single-veto", "majority"])
    if dice.random() < 0.4:
        config["approversList"] = list(NAMES)
    if dice.random() < 0.4:
        config |= {"override": True, "overrideBypassesQuorum": dice.random() < 0.5}
    if config.get("requiredApprovals", 1) == 1 and dice.random() < 0.3:
        config["actions"].append("edit-accept")
    return config


def random_workflow(dice: random.Random, times: bool = True) -> dict[str, Any]:
    """A small graph. With `times` questions may be given up; without them its end depends on what people say alone."""
    names = [f"n{index}" for index in range(dice.randint(1, 4))]
    nodes = [random_node(dice, name, times) for name in names]
    rules = ["all_success", "all_complete", "any_failed"]
    edges = [edge(a, b, dice.choice(rules)) for a, b in pairwise(names) if dice.random() < 0.5]
    for each in nodes:
        if each["typeId"].startswith("test.") and dice.random() < 0.3:
            again = {"type": "expression", "expression": REPEAT_ONCE.format(each["id"])}
            edges.append(edge(each["id"], each["id"], condition=again))
    channels = {"messages": {"reducer": "message"}} if dice.random() < 0.5 else {}
    return workflow(nodes, edges, [variable("hidden", "string", sensitive=True)], channels=channels)


def random_answer(
    dice: random.Random, asked: InterruptState, tag: str, happened: Callable[[str], bool]
) -> tuple[Any, Answerer]:
    """What somebody who means well says; `happened` knows of the steps of the node."""
    if asked.kind == "approval":
        return _random_decision(dice, asked, tag)
    if asked.kind == "clarification":
        answers = {each["id"]: tag for each in asked.data["questions"]}
        listed = [{"id": name, "answer": text} for name, text in answers.items()]
        return {"answers": dice.choice([answers, listed])}, PEOPLE[0]
    if asked.kind == "external-event":
        return {**asked.data["correlation"], "tag": tag}, PEOPLE[0]
    if asked.data.get("customKind") == UNKNOWN_OUTCOME_KIND:
        # Outside of its steps a node does nothing, so there is no harm in it.
        step = asked.data["payload"].get("step")
        known = step is not None and happened(step)
        return ({"outcome": "done", "output": RECEIPT} if known else {"outcome": "again"}), PEOPLE[0]
    return {"tag": tag}, PEOPLE[0]


def _random_decision(dice: random.Random, asked: InterruptState, tag: str) -> tuple[Any, Answerer]:
    action = dice.choice(asked.data["actions"])
    said: dict[str, Any] = {"action": action, "comment": tag}
    if action == "refine":
        said["refineFeedback"] = {"scope": "whole", "text": tag}
    elif action == "edit-accept":
        said["editedArtifactData"] = {"edited": tag}
    elif action == "ask":
        said["question"] = tag
    by = dice.choice(PEOPLE)
    if dice.random() < 0.2:
        by, said["voter"] = DEPUTY, dice.choice(NAMES)
    elif asked.data.get("override") and dice.random() < 0.3:
        by = OWNER
        said |= {"override": True, "reason": tag}
    return said, by


def deterministic_answer(
    dice: random.Random, asked: InterruptState, tag: str, happened: Callable[[str], bool]
) -> tuple[Any, Answerer]:
    """The same for the same question, whoever asks and whenever. Of several who vote the next in line is next."""
    own = random.Random(asked.key)
    if asked.kind != "approval":
        return random_answer(own, asked, f"{asked.key}.", happened)
    action = own.choice([each for each in asked.data["actions"] if each != "ask"])
    said: dict[str, Any] = {"action": action, "comment": f"{asked.key}."}
    said |= {"refine": {"refineFeedback": {"scope": "whole"}}, "edit-accept": {"editedArtifactData": 1}}.get(action, {})
    by = next(each for each in PEOPLE if not each.aliases & asked.votes.keys() and each.principal not in asked.votes)
    return said, by


def random_value(dice: random.Random, tag: str) -> Any:
    """What somebody says who does not listen."""
    found: list[Any] = [
        None,
        tag,
        {},
        {"tag": tag},
        {"action": "maybe", "comment": tag},
        {"action": "accept", "comment": tag},
        {"action": "reject", "comment": tag, "voter": "mallory"},
        {"action": "accept", "override": True, "comment": tag},
        {"answers": {"a": tag}},
        {"answers": [{"id": "a", "answer": tag}, {"id": "a", "answer": tag}]},
        {"order": "other", "tag": tag},
        {"outcome": "again", "tag": tag},
        [tag] * 3,
    ]
    return dice.choice(found)
