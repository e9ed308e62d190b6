"""What the engine fills in: the same for the same place in a run, and never more trust than went into the turn."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.envelopes.gate import accept
from weftwork.protocol.envelopes.gate_rules import GateRules
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS
from weftwork.protocol.envelopes.outcome import Accepted
from weftwork.protocol.envelopes.reassembly import MAX_ID, EnvelopeOrigin, derive_correlation_id, fill_defaults

ORIGIN = EnvelopeOrigin("run-1", "plan", "0.0.0", 0, 1_700_000_000_000, "trusted")
UNTRUSTED = msgspec.structs.replace(ORIGIN, trust="untrusted")
BARE = {"type": "error", "payload": {"code": "c", "message": "m"}}


@pytest.mark.rule("env-20")
def test_a_bare_envelope_is_made_whole() -> None:
    whole = fill_defaults(BARE, ORIGIN)
    assert whole["meta"] == {"source": "ai-generation", "ts": "2023-11-14T22:13:20.000Z"}
    assert whole["nodeId"] == "plan"
    assert isinstance(accept(whole, GateRules(BUILTIN_KINDS)).outcome, Accepted)
    assert fill_defaults(BARE, ORIGIN) == whole


@pytest.mark.rule("env-20")
def test_what_the_model_says_of_itself_stays_but_for_its_trust() -> None:
    said: dict[str, Any] = {**BARE, "envelopeId": "mine", "correlationId": "c-1", "meta": {"contentTrust": "trusted"}}
    trusted, untrusted = fill_defaults(said, ORIGIN), fill_defaults(said, UNTRUSTED)
    assert trusted["correlationId"] != fill_defaults({**said, "correlationId": "c-2"}, ORIGIN)["correlationId"]
    assert (
        trusted["correlationId"] != fill_defaults(said, msgspec.structs.replace(ORIGIN, turn="0.0.1"))["correlationId"]
    )
    assert trusted["correlationId"] == fill_defaults(said, msgspec.structs.replace(ORIGIN, index=1))["correlationId"]
    assert trusted["envelopeId"] not in (
        "mine",
        fill_defaults(said, msgspec.structs.replace(ORIGIN, turn="9"))["envelopeId"],
    )
    assert (trusted["meta"]["contentTrust"], untrusted["meta"]["contentTrust"]) == ("trusted", "untrusted")


@pytest.mark.rule("env-20")
@pytest.mark.parametrize("document", [None, 1, "x", [BARE], {"meta": 1}, {"type": 1, "correlationId": None}])
def test_what_is_no_envelope_stays_none(document: Any) -> None:
    assert not isinstance(accept(fill_defaults(document, UNTRUSTED), GateRules(BUILTIN_KINDS)).outcome, Accepted)


@pytest.mark.rule("env-21")
@settings(max_examples=example_count(100), deadline=None)
@given(st.text(min_size=1, max_size=200), st.text(min_size=1, max_size=200), st.sampled_from(["error", "a.b"]))
def test_an_id_fits_and_tells_places_apart(one: str, other: str, kind: str) -> None:
    here, there = (msgspec.structs.replace(ORIGIN, node_id=node_id) for node_id in (one, other))
    assert 0 < len(derive_correlation_id(here, kind)) <= MAX_ID
    assert (derive_correlation_id(here, kind) == derive_correlation_id(there, kind)) is (one == other)
    assert derive_correlation_id(here, kind) != derive_correlation_id(here, f"{kind}x")
