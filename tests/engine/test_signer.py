"""The signer: keys of its own for each purpose, renewed without a gap, and gone when dropped."""

import hmac
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.definitions import for_all
from tests.harness.engine_harness import run
from weftwork.adapters.memory.store import MemoryStore
from weftwork.adapters.system.clock_and_ids import RandomIds
from weftwork.engine import signer as module
from weftwork.engine.signer import Signer
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault
from weftwork.testing.deterministic import ManualClock

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
def test_a_signature_for_one_purpose_is_none_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> bool:
        desk = SignerHarness()
        signer = await desk.opened()
        return signer.verify("asset", signer.kid, TEXT, signer.sign("interrupt", TEXT))

    assert run(work) is False
    monkeypatch.setattr(Signer, "_derive_key", lambda self, row, purpose: row.secret)
    assert run(work) is True


@pytest.mark.rule("tok-02")
async def test_a_key_that_is_not_there_takes_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison is made for it, too, and even a signature of the stand-in does not count."""
    compared: list[Any] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return True

    signer = await SignerHarness().opened()
    monkeypatch.setattr(hmac, "compare_digest", compare)
    assert module.hmac is hmac
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
        made = await signer.rotate()
        assert made.kid == signer.kid != signed[-1][0]
    for each in (signer, await desk.opened()):
        assert each.kid == signer.kid
        assert all(each.verify("interrupt", kid, TEXT, signature) for kid, signature in signed)
        assert [row.retired_at is None for row in each.all()] == [False] * 3 + [True]
        assert len({row.secret for row in each.all()}) == 4


@pytest.mark.rule("tok-06")
async def test_a_key_may_be_renewed_within_one_millisecond() -> None:
    desk = SignerHarness()
    signer = await desk.opened()
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
    with pytest.raises(ClientFault) as caught:
        await signer.drop(old)
    assert caught.value.code == "not_found"


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
