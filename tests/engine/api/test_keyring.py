"""API keys and signing keys: kept as digests, refused for the right reason, renewed without a gap, and never shown."""

import hashlib
import hmac
import re
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import for_all
from weftwork.adapters.memory.store import MemoryStore
from weftwork.adapters.system.clock_and_ids import RandomIds
from weftwork.engine import signer as signer_module
from weftwork.engine.api import keyring as keyring_module
from weftwork.engine.api.administration import Administration
from weftwork.engine.api.keyring import Keyring, Principal, require_scope
from weftwork.engine.api.retention import Retention
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.signer import Signer
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.scopes import new_key_scopes
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.testing.deterministic import ManualClock, SequentialIds


class KeyringHarness:
    def __init__(self, store: MemoryStore | None = None) -> None:
        self.clock = ManualClock()
        self.store = store or MemoryStore()
        self.ring = Keyring(self.store.keys, self.clock, SequentialIds(), SCOPES)
        catalog = WorkflowCatalog(self.store.definitions, {})
        self.signer = Signer(self.store.signing, self.clock, SequentialIds())
        retention = Retention(self.store.retention, self.store.log, self.store.records, self.clock)
        self.office = Administration(self.ring, retention, catalog, self.signer)

    async def opened(self) -> "KeyringHarness":
        await self.store.open()
        await self.ring.load()
        await self.signer.load()
        return self


@pytest.fixture
async def desk() -> KeyringHarness:
    return await KeyringHarness().opened()


def refused(ring: Keyring, key: str | None) -> str:
    with pytest.raises(ClientFault) as caught:
        ring.authenticate(key)
    assert caught.value.status == 401
    assert not key or key not in str(caught.value)
    return caught.value.code


@pytest.mark.rule("auth-02")
async def test_a_key_lets_its_tenant_in_and_nothing_else_does(desk: KeyringHarness) -> None:
    key, row = await desk.ring.create("acme", ["runs:read"], label="ci")
    caller = desk.ring.authenticate(key)
    assert (caller.tenant, caller.mode, caller.scopes) == ("acme", "live", {"runs:read"})
    assert (caller.key_id, caller.partition) == (row.key_id, "live:acme")
    for wrong in (None, "", key[:-1], key + "x", key.upper(), row.key_id, row.digest.hex(), "hk_live_", "\udcff"):
        assert refused(desk.ring, wrong) == "unauthenticated"


async def test_a_known_key_is_found_without_its_stored_digest_and_strangers_leave_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = await KeyringHarness().opened()
    key, _ = await desk.ring.create("acme")
    for number in range(50):
        refused(desk.ring, f"stranger-{number}")
    assert desk.ring._quick_digests == {}
    for _ in range(3):
        desk.ring.authenticate(key)
    (quick,) = desk.ring._quick_digests
    assert quick != hashlib.blake2b(key.encode(), digest_size=32).digest(), "it is keyed"
    assert key.encode() not in quick
    monkeypatch.setattr(desk.ring, "_digest", lambda text: b"")
    desk.ring.authenticate(key)
    assert refused(desk.ring, key + "x") == "unauthenticated"


@pytest.mark.rule("auth-02")
async def test_expired_and_revoked_keys_say_so(desk: KeyringHarness) -> None:
    key, row = await desk.ring.create("acme", expires_at=desk.clock.now() + 10)
    desk.clock.advance(9)
    desk.ring.authenticate(key)
    desk.clock.advance(1)
    assert refused(desk.ring, key) == "key_expired"
    revoked = await desk.ring.revoke(row.key_id)
    assert revoked.revoked_at == desk.clock.now()
    assert refused(desk.ring, key) == "key_revoked"
    desk.clock.advance(5)
    assert await desk.ring.revoke(row.key_id) == revoked
    with pytest.raises(ClientFault, match="not_found"):
        await desk.ring.revoke("key_gone")


@pytest.mark.rule("auth-03")
async def test_a_test_key_lives_in_a_partition_of_its_own(desk: KeyringHarness) -> None:
    live, _ = await desk.ring.create("acme")
    test, row = await desk.ring.create("acme", mode="test")
    assert live.startswith("hk_live_")
    assert test.startswith("hk_test_")
    assert row.mode == "test"
    assert desk.ring.authenticate(live).partition != desk.ring.authenticate(test).partition
    assert desk.ring.authenticate(live).run("r") != desk.ring.authenticate(test).run("r")


@fails_without(keyring_module.Keyring, "_digest", lambda self, key: key.encode())
async def test_keys_survive_a_restart_as_digests_only() -> None:
    desk = await KeyringHarness().opened()
    key, row = await desk.ring.create("acme")
    gone, other = await desk.ring.create("acme")
    await desk.ring.revoke(other.key_id)
    again = await KeyringHarness(desk.store).opened()
    assert again.ring.authenticate(key).key_id == row.key_id
    assert refused(again.ring, gone) == "key_revoked"
    kept = repr(await desk.store.keys.all())
    assert key not in kept
    assert row.digest not in (key.encode(), hashlib.sha256(key.encode()).digest())
    assert row.key_id[4:] not in row.digest.hex()


async def test_a_digest_depends_on_the_store_and_the_key() -> None:
    one, other = await KeyringHarness().opened(), await KeyringHarness().opened()
    first, second = (each.ring.accept_for_process("same", "acme", None) for each in (one, other))
    assert first.digest != second.digest
    assert one.ring.accept_for_process("same", "acme", None).digest == first.digest
    assert one.ring.accept_for_process("Same", "acme", None).digest != first.digest


async def test_an_admitted_key_is_not_stored_and_a_revoked_one_stays_revoked(desk: KeyringHarness) -> None:
    row = desk.ring.accept_for_process("a-key", "acme", ["runs:read"])
    assert desk.ring.authenticate("a-key").scopes == {"runs:read"}
    assert await desk.store.keys.all() == []
    await desk.ring.revoke(row.key_id)
    with pytest.raises(ClientFault, match="key_revoked"):
        desk.ring.accept_for_process("a-key", "acme", None)
    assert refused(desk.ring, "a-key") == "key_revoked"
    later = await KeyringHarness(desk.store).opened()
    with pytest.raises(ClientFault, match="revoked"):
        later.ring.accept_for_process("a-key", "acme", None)
    assert refused(later.ring, "a-key") == "key_revoked"


@pytest.mark.rule("auth-01")
def test_an_operation_needs_its_own_scope() -> None:
    for held in SCOPES:
        caller = Principal.of("key_1", "acme", "live", frozenset({held}))
        require_scope(caller, held)
        for wanted in set(SCOPES) - {held}:
            with pytest.raises(ClientFault) as caught:
                require_scope(caller, wanted)
            assert (caught.value.code, caught.value.details) == ("forbidden", {"scopeRequired": wanted})
            assert "`weftwork keys create --tenant acme --scope " in caught.value.message
            assert caught.value.message.endswith(f"--scope {wanted}`.")


@pytest.mark.rule("auth-04")
@pytest.mark.parametrize("scopes", [["runs:write"], ["runs:read", "*"], [""], ["RUNS:READ"]])
async def test_a_scope_outside_the_vocabulary_is_refused(desk: KeyringHarness, scopes: list[str]) -> None:
    with pytest.raises(ClientFault, match="Unknown scope"):
        await desk.ring.create("acme", scopes)
    assert desk.ring.all() == []


async def asked(desk: KeyringHarness, operation: Any, **arguments: Any) -> dict[str, Any]:
    return await desk.office.handle({"operation": operation, "arguments": arguments})


async def test_the_office_creates_lists_and_revokes(desk: KeyringHarness) -> None:
    expires = desk.clock.now() + 1000
    made = await asked(desk, "keys.create", tenant="acme", scopes=["runs:read"], label="ci", expires_at=expires)
    key = made.pop("key")
    assert made["scopes"] == ["runs:read"]
    assert (made["tenant"], made["mode"], made["label"]) == ("acme", "live", "ci")
    assert made["expiresAt"] == "2026-01-01T00:00:01.000Z"
    everything = await asked(desk, "keys.create", tenant="other", mode="test")
    assert everything["scopes"] == list(new_key_scopes(SCOPES))
    desk.clock.advance(1)
    revoked = await asked(desk, "keys.revoke", key_id=made["keyId"])
    assert revoked["revokedAt"] == "2026-01-01T00:00:00.001Z"
    listed = await asked(desk, "keys.list")
    assert {each["keyId"] for each in listed["keys"]} == {made["keyId"], everything["keyId"]}
    digests = [row.digest.hex() for row in desk.ring.all()]
    assert not re.search("|".join([key, everything["key"], *digests]), repr(listed))


@each_case(
    "request_",
    *(None, [], "keys.list", {}),
    *({"operation": wrong} for wrong in (None, "keys.drop", ["keys.list"], "keys.create")),
    *({"operation": "keys.create", "arguments": wrong} for wrong in ([], *({"tenant": no} for no in ("a b", "", 1)))),
    {"operation": "keys.create", "arguments": {"tenant": "acme", "scopes": ["nope"]}},
    {"operation": "keys.create", "arguments": {"tenant": "acme", "mode": "dead"}},
    {"operation": "keys.create", "arguments": {"tenant": "acme", "more": 1}},
    *({"operation": "keys.revoke", "arguments": wrong} for wrong in ({}, {"key_id": "key_gone"})),
)
async def test_a_bad_request_is_answered_and_changes_nothing(desk: KeyringHarness, request_: Any) -> None:
    answer = await desk.office.handle(request_)
    assert answer["error"] in ("validation_error", "not_found")
    assert set(answer) <= {"error", "message", "details"}
    assert desk.ring.all() == []


async def test_a_store_that_is_away_is_said_so_and_not_raised(desk: KeyringHarness) -> None:
    await desk.store.close()
    answer = await desk.office.handle({"operation": "keys.create", "arguments": {"tenant": "acme"}})
    assert answer["error"] == "service_unavailable"


TEXT = b"what is signed"


class SignerHarness:
    """Signers over one store in memory, one after the other."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore()

    async def opened(self) -> Signer:
        await self.store.open()
        made = Signer(self.store.signing, self.clock, RandomIds())
        await made.load()
        return made


@pytest.mark.rule("tok-02")
async def test_a_signature_is_known_again_even_after_a_restart() -> None:
    desk = SignerHarness()
    first = await desk.opened()
    signature = first.sign("interrupt", TEXT)
    assert len(signature) == 32
    assert first.verify("interrupt", first.kid, TEXT, signature)
    again = await desk.opened()
    assert again.kid == first.kid
    assert again.verify("interrupt", first.kid, TEXT, signature)
    assert again.sign("interrupt", TEXT) == signature
    assert len(again.all()) == 1


@pytest.mark.rule("tok-02")
@for_all(100, st.binary(max_size=64), st.binary(max_size=64), st.integers(0, 255))
async def test_nothing_else_is(text: bytes, other: bytes, bit: int) -> None:
    desk = SignerHarness()
    mine, theirs = await desk.opened(), await SignerHarness().opened()
    signature = mine.sign("interrupt", text)
    flipped = bytearray(signature)
    flipped[bit // 8] ^= 1 << bit % 8
    assert not mine.verify("interrupt", mine.kid, text, bytes(flipped))
    assert not mine.verify("interrupt", mine.kid, text, signature[:-1])
    assert not mine.verify("interrupt", mine.kid, text, b"")
    assert mine.verify("interrupt", mine.kid, other, signature) is (text == other)
    assert not theirs.verify("interrupt", theirs.kid, text, signature)
    for kid in ("", mine.kid[:-1], mine.kid + "0", "nobody"):
        assert not mine.verify("interrupt", kid, text, signature)


@pytest.mark.rule("tok-02")
@fails_without(Signer, "_derive_key", lambda self, row, purpose: row.secret)
async def test_a_signature_for_one_purpose_is_none_for_another() -> None:
    signer = await SignerHarness().opened()
    assert not signer.verify("asset", signer.kid, TEXT, signer.sign("interrupt", TEXT))


@pytest.mark.rule("tok-02")
async def test_a_key_that_is_not_there_takes_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison is made for it, too, and even a signature of the stand-in does not count."""
    compared: list[Any] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return True

    signer = await SignerHarness().opened()
    monkeypatch.setattr(hmac, "compare_digest", compare)
    assert signer_module.hmac is hmac
    assert not signer.verify("interrupt", "nobody", TEXT, b"x" * 32)
    assert not signer.verify("interrupt", "", TEXT, b"x" * 32)
    assert signer.verify("interrupt", signer.kid, TEXT, b"x" * 32)
    assert [len(one) for one, _ in compared] == [32] * 3


@pytest.mark.rule("tok-06")
async def test_a_new_key_signs_and_the_old_ones_verify() -> None:
    desk = SignerHarness()
    signer = await desk.opened()
    signed: list[tuple[str, bytes]] = []
    for _ in range(3):
        signed.append((signer.kid, signer.sign("interrupt", TEXT)))
        desk.clock.advance(1000)
        assert (await signer.rotate()).kid == signer.kid != signed[-1][0]
    for each in (signer, await desk.opened()):
        assert each.kid == signer.kid
        assert all(each.verify("interrupt", kid, TEXT, signature) for kid, signature in signed)
        assert [row.retired_at is None for row in each.all()] == [False] * 3 + [True]
        assert len({row.secret for row in each.all()}) == 4
    # Also twice within one millisecond.
    await signer.rotate()
    newest = await signer.rotate()
    assert (await desk.opened()).kid == newest.kid


@pytest.mark.rule("tok-06")
async def test_what_a_dropped_key_has_signed_counts_no_more() -> None:
    desk = SignerHarness()
    signer = await desk.opened()
    old, signature = signer.kid, signer.sign("interrupt", TEXT)
    await signer.rotate()
    kept, later = signer.kid, signer.sign("interrupt", TEXT)
    await signer.drop(old)
    for each in (signer, await desk.opened()):
        assert not each.verify("interrupt", old, TEXT, signature)
        assert each.verify("interrupt", kept, TEXT, later)
    await signer.drop(kept)
    assert signer.kid not in (old, kept)
    for each in (signer, await desk.opened()):
        assert not each.verify("interrupt", kept, TEXT, later)
        assert each.verify("interrupt", signer.kid, TEXT, signer.sign("interrupt", TEXT))
        assert len(each.all()) == 1
    with pytest.raises(ClientFault, match=r"^not_found: "):
        await signer.drop(old)


@pytest.mark.rule("tok-06")
async def test_a_key_that_could_not_be_stored_does_not_sign() -> None:
    desk = SignerHarness()
    signer = await desk.opened()
    kid = signer.kid
    await desk.store.close()
    for change in (signer.rotate(), signer.drop(kid)):
        with pytest.raises(StoreUnavailable):
            await change
    assert signer.kid == kid
    assert [row.kid for row in signer.all()] == [kid]
