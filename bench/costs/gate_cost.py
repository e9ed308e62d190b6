"""The cost of the envelope gate: CPU time of one decision, compared with two checks by the plain validator."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.plan import BenchError, Plan
from weftwork.protocol.envelopes.gate import accept
from weftwork.protocol.envelopes.gate_rules import Counter, Counters, GateRules
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS
from weftwork.protocol.envelopes.outcome import Accepted, Invalid
from weftwork.protocol.json import schema
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.privacy.secret_matcher import SecretMatcher

SECRETS: Final = 8
ROUNDS: Final = 25
SURFACE: Final = "ui.a2ui-surface"

Json = dict[str, Any]
Progress = Callable[[str], None]


def gate_costs(plan: Plan, folder: Path, say: Progress) -> dict[str, float]:
    """A surface of 1.2 KB, already decoded, with eight secrets known of which none is in it."""
    # Only the bench needs it, and only here.
    import jsonschema

    text = json.dumps(_surface("arrival")).encode()
    good, bad = decode(text), decode(json.dumps(_surface(7)).encode())
    rules = _rules()
    if not isinstance(accept(good, rules).outcome, Accepted) or not isinstance(accept(bad, rules).outcome, Invalid):
        raise BenchError("the gate does not say what it should of the envelopes that are measured")
    plain = [jsonschema.Draft202012Validator(schema.document(name)) for name in ("ai-envelope", f"envelopes/{SURFACE}")]

    def checks() -> bool:
        return plain[0].is_valid(good) and plain[1].is_valid(good["payload"])

    found = {
        "accept_us": _cpu_us(plan.judgements, lambda: accept(good, rules)),
        "accept_invalid_us": _cpu_us(plan.judgements, lambda: accept(bad, rules)),
        "accept_decode_us": _cpu_us(plan.judgements, lambda: decode(text)),
        "accept_plain_us": _cpu_us(max(plan.judgements // 50, 1), checks),
    }
    found["accept_ratio"] = found["accept_plain_us"] / found["accept_us"]
    say(
        f"an envelope of {len(text)} bytes is judged in {found['accept_us']:.1f} µs, a bad one in "
        f"{found['accept_invalid_us']:.1f} µs; two plain checks take {found['accept_ratio']:.0f} times as long"
    )
    return found


def _cpu_us(count: int, call: Callable[[], object]) -> float:
    """CPU time of one call in microseconds, median over rounds."""
    times: list[float] = []
    call()
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(count):
            call()
        times.append((time.process_time() - began) * 1e6 / count)
    return median(times)


def _rules() -> GateRules:
    secrets = SecretMatcher()
    for number in range(SECRETS):
        secrets.learn_secret(f"key-{number}", f"sk-{number}f3b2a1908c7d6e5f4a3b2c1d0")
    return GateRules(
        kinds=BUILTIN_KINDS,
        supported=frozenset({SURFACE}),
        counters=Counters(Counter(0, 32), Counter(0, 3), Counter(0, 3)),
        secrets=secrets,
    )


def _surface(date_id: str | int) -> Json:
    """A surface; with a number as id it is invalid."""
    rooms = [{"value": f"r{number}", "label": f"Room {number}, by the river"} for number in range(3)]
    components: list[Json] = [
        {"component": "heading", "text": "Your stay in Lisbon", "level": 2},
        {"component": "text", "text": "Three rooms are free on these days. Choose one, and say when you will come."},
        {"component": "field.text", "id": "guest", "label": "Name of the guest", "required": True},
        {"component": "field.date", "id": date_id, "label": "First night", "required": True},
        {"component": "field.select", "id": "room", "label": "Room", "options": rooms, "required": True},
        {"component": "field.checkbox", "id": "breakfast", "label": "With breakfast", "default": True},
        {"component": "action.button", "id": "book", "label": "Book", "action": {"target": "resume"}},
        {"component": "action.button", "id": "ask", "label": "Ask", "action": {"target": "exchange"}},
    ]
    return {
        "type": SURFACE,
        "schemaVersion": 1,
        "envelopeId": "env-2f6c1a9e",
        "correlationId": "run-7d1e:ask:0:5c1b",
        "nodeId": "ask",
        "payload": {"catalogVersion": "0.9.1", "surface": {"title": "Booking", "components": components}},
        "meta": {"source": "ai-generation", "ts": "2026-01-31T08:05:09.042Z", "contentTrust": "trusted"},
    }
