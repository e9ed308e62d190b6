"""Names of envelope kinds: which ones somebody may register, and that those which almost are one are none."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weftwork.protocol.envelopes import kinds as module
from weftwork.protocol.envelopes.gate import accept
from weftwork.protocol.envelopes.gate_rules import GateRules
from weftwork.protocol.envelopes.kinds import (
    BUILTIN_KINDS,
    DISPLAY_KINDS,
    LEGACY_KINDS,
    MAX_NAME,
    UNIVERSAL_KINDS,
    KindDefinition,
    KindRefused,
    KindRegistration,
    KindSet,
    check_kind_name,
    register_kinds,
)
from weftwork.protocol.envelopes.outcome import Accepted, EnvelopeOutcome, Gated, Invalid

GOOD = [
    *("vendor.acme.plan", "vendor.acme-2.plan_v2", "vendor.a.b.c.d", "vendor.acme.planOfRecord"),
    *("community.ada.plan", "private.intranet.plan", "local.plan", "local.team.plan"),
    f"local.{'a' * (MAX_NAME - 6)}",
]


def near_misses() -> list[str]:
    """Names that are one step away from a good one, or from one of the protocol."""
    found: set[str] = set()
    for name in (*UNIVERSAL_KINDS, *DISPLAY_KINDS):
        found |= {name, f"{name}.", f".{name}", f"{name} ", f" {name}", f"{name}\n", name.upper(), name.title()}
        found |= {name.replace(".", ".."), name.replace("e", "\u0435"), f"{name}\u200b"}
        found |= {f"{name}.v2", f"openwop.{name}", f"core.{name}", f"vendor.weftwork.{name}"}
    for name in ("vendor.acme.plan", "community.ada.plan", "private.host.plan", "local.plan"):
        prefix, _, rest = name.partition(".")
        found |= {
            prefix,
            f"{prefix}.",
            f"{prefix}..{rest}",
            f"{name}.",
            f".{name}",
            f"{name}\n",
            f"\n{name}",
            f"{name}\0",
        }
        found |= {
            name.upper(),
            prefix.title() + "." + rest,
            name.replace(".", "/"),
            name.replace(".", ":"),
            f"{name} x",
        }
        found |= {f"{prefix}s.{rest}", f"{prefix[:-1]}.{rest}", f"x{name}", f"{prefix}.1{rest}", f"{prefix}.-{rest}"}
        found |= {
            f"{name}/../x",
            f"{name}%2e",
            f"{name}.schema.json/x",
            f"{name}.é",
            f"{name}.\uff41",
            f"{name}#1",
            f"{name}?x",
        }
    found |= {
        f"{taken}{rest}" for taken, rest in product(module.RESERVED_PREFIXES, ("plan", "acme.plan", "a2ui-surface"))
    }
    found |= {"vendor.acme", "community.ada", "private.host", "local", "", ".", "..", "vendor.Acme.plan", "plan"}
    found |= {
        *LEGACY_KINDS,
        "prd.creates",
        "prd",
        "prd.create.v2",
        f"local.{'a' * (MAX_NAME - 5)}",
        "vendor.acme.plan.1",
    }
    return sorted(found - {"vendor.acme.plan.v2"})


@pytest.mark.rule("env-40")
@pytest.mark.parametrize("name", GOOD)
def test_good_names(name: str) -> None:
    assert check_kind_name(name) is None


@pytest.mark.rule("env-40")
def test_names_that_almost_are_one() -> None:
    names = near_misses()
    assert len(names) >= 200
    assert [name for name in names if check_kind_name(name) is None] == []
    nothing = KindSet({})
    for name in names:
        with pytest.raises(KindRefused, match="cannot be registered"):
            register_kinds(nothing, [KindRegistration(KindDefinition(name, 1, {}), "here")])


@pytest.mark.rule("env-40")
def test_names_that_almost_are_one_do_not_pass_the_gate() -> None:
    """A host that takes the kinds that they are near to takes none of them."""
    known = BUILTIN_KINDS.with_kinds(
        KindDefinition(name, 1, {}) for name in ("vendor.acme.plan", "community.ada.plan", "local.plan")
    )
    rules = GateRules(known, frozenset(known.advertised))
    meta = {"source": "ai-generation", "ts": "2026-01-01T00:00:00Z"}

    def outcome(name: str) -> EnvelopeOutcome:
        sent = {"type": name, "schemaVersion": 1, "envelopeId": "e", "correlationId": "c", "payload": {}, "meta": meta}
        return accept(sent, rules).outcome

    assert isinstance(outcome("vendor.acme.plan"), Accepted)
    near = [name for name in near_misses() if name not in UNIVERSAL_KINDS]
    assert len(near) >= 200
    assert [name for name in near if not isinstance(outcome(name), Gated | Invalid)] == []
    assert sum(isinstance(outcome(name), Gated) for name in near) >= 200


def test_without_the_check_they_would_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: a pattern that takes anything, and a name that is not compared."""
    monkeypatch.setattr(module, "_KIND_NAME", re.compile(".*", re.DOTALL))
    monkeypatch.setattr(module, "RESERVED_PREFIXES", ())
    assert len([name for name in near_misses() if check_kind_name(name) is None]) >= 150


@pytest.mark.rule("env-40")
def test_old_names_are_for_operators() -> None:
    for name in LEGACY_KINDS:
        assert check_kind_name(name) is not None
        assert check_kind_name(name, legacy=True) is None
    assert check_kind_name("prd.delete", legacy=True) is not None
    assert check_kind_name("clarification.request", legacy=True) is not None


@given(st.text(max_size=40))
def test_no_text_raises_and_what_passes_can_stand_in_a_path(name: str) -> None:
    if check_kind_name(name) is None:
        assert re.fullmatch("[A-Za-z0-9._-]+", name)
        assert ".." not in name


@given(st.sampled_from(("vendor", "community", "private")), st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True))
def test_every_organisation_has_its_own(prefix: str, organisation: str) -> None:
    expected = prefix == "vendor" and organisation == "weftwork"
    assert (check_kind_name(f"{prefix}.{organisation}.plan") is not None) is expected
