"""Snapshots in pieces are to the byte those that are encoded at once: for any state, with tokens and masks."""

import asyncio
import random
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from hypothesis import strategies as st

from tests.harness.cases import fails_without
from tests.harness.definitions import for_all, header_of, node, plan_of, workflow
from weftwork.adapters.http.shared_bodies import MAX_KEPT_TEXTS, LargeBody, SharedBody
from weftwork.engine.api import interrupts as interrupts_module
from weftwork.engine.api import runs
from weftwork.engine.api.interrupts import Interrupts
from weftwork.engine.api.runs import Runs
from weftwork.protocol.json import pieces
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.people.approvals import AUTH_REQUIRED
from weftwork.protocol.privacy.credential_redaction import mask_options
from weftwork.protocol.run import projection
from weftwork.protocol.run.header import STATUSES, Parent
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun, child_members, is_large, run_snapshot

PLAN = plan_of(workflow([node("a")]))
CREDENTIAL = "AKIAIOSFODNN7EXAMPLE"
NAMES = ["a", "b", "ä", '"', CREDENTIAL, "run"]
TEXTS = ["", "x", "\u2028", CREDENTIAL, "y" * 9_000]


def some_value(dice: random.Random, depth: int = 2) -> Any:
    if depth and dice.random() < 0.4:
        return [some_value(dice, depth - 1) for _ in range(dice.randrange(3))]
    return dice.choice([None, 7, 1.5, *TEXTS])


def some_object(dice: random.Random) -> dict[str, Any]:
    return {name: some_value(dice) for name in dice.sample(NAMES, dice.randrange(4))}


def interrupt_row(dice: random.Random, at: int) -> StateRow:
    document = {
        "data": {**some_object(dice), "profile": dice.choice([AUTH_REQUIRED, None])},
        **({"dueAt": "2026-01-31T08:00:00.000Z"} if dice.random() < 0.5 else {}),
        "interruptId": f"n{at}.0",
        "key": dice.choice(TEXTS),
        "kind": dice.choice(["approval", "clarification", "custom"]),
        "nodeId": f"n{at}",
        "requestedAt": "2026-01-31T07:00:00.000Z",
        "status": dice.choice(["open", "open", "resolved"]),
    }
    return StateRow("interrupt", f"n{at}.0", encode_stored(document))


def some_run(dice: random.Random) -> StoredRun:
    rows = [interrupt_row(dice, at) for at in range(dice.choice([0, 1, 4, 2 * MAX_KEPT_TEXTS]))]
    for kind in ("variable", "channel", "node", "artifact", "agent"):
        rows += [StateRow(cast(Any, kind), name, encode_stored(value)) for name, value in some_object(dice).items()]
    dice.shuffle(rows)
    header = header_of(
        PLAN,
        inputs=dice.choice([some_object(dice), {"redacted": True}]),
        configurable=some_object(dice),
        metadata=some_object(dice),
        tags=tuple(dice.sample(TEXTS, dice.randrange(3))),
    )
    current = Projection(
        cast(Any, dice.choice([*STATUSES, "waiting-approval", "waiting-approval", "waiting-input", "waiting-input"])),
        last_sequence=dice.randrange(9),
        current_node=dice.choice([None, "n0", "n0"]),
        outputs=dice.choice([None, encode_stored(some_object(dice))]),
    )
    return StoredRun(header, current, tuple(rows))


def child_run(number: int) -> StoredRun:
    header = header_of(PLAN, parent=Parent("run-1", f"n{number}", "key", "subWorkflow", "run-1"))
    return StoredRun(header, Projection("running", last_sequence=0))


def minted(self: Any, principal: Any, run_id: str, row: dict[str, Any]) -> tuple[str, str, str]:
    """A token from all that a token is made of."""
    text = f"{run_id}/{row['interruptId']}/{row.get('dueAt')}"
    return text, f"/v1/{text}", "inspect" if interrupts_module._needs_key(row) else "resolve"


def at_once(run: StoredRun, children: list[StoredRun], links: Any) -> bytes:
    snapshot = run_snapshot(run, children)
    if runs._may_show_credential(run.header):
        mask_options(snapshot)
    return msgspec.json.encode(Interrupts.with_tokens(links, cast(Any, None), snapshot))


def in_pieces(run: StoredRun, children: list[StoredRun], links: Any) -> LargeBody:
    made = asyncio.run(Runs.snapshot_pieces(cast(Any, None), run, child_members(children)))
    run_id = run.header.run_id

    def insert(place: pieces.Placeholder) -> bytes:
        return Interrupts.token_members(links, cast(Any, None), run_id, place.value)

    return LargeBody(SharedBody(made), lambda: True, insert)


@pytest.mark.rule("run-06", "tok-05", "hide-09")
@for_all(150, st.integers(0, 2**32))
def test_a_snapshot_in_pieces_has_the_bytes_of_one_that_is_encoded_at_once(seed: int) -> None:
    dice = random.Random(seed)
    run, count = some_run(dice), dice.randrange(3)
    links = SimpleNamespace()
    links._mint_token = lambda *arguments: minted(links, *arguments)
    children = [child_run(number) for number in range(count)]
    body = in_pieces(run, children, links)
    expected = at_once(run, children, links)
    assert b"".join(body.chunks()) == expected
    assert body.length in (len(expected), None)
    # The interrupt of the current node is in the snapshot twice.
    opened = expected.count(b'"interruptToken"') - 1
    assert (body.length is None) == (opened > MAX_KEPT_TEXTS)


@pytest.mark.parametrize(
    ("place", "name", "broken"),
    [
        (runs, "mask_options", lambda document: document),
        (runs, "child_members", lambda children: {}),
        (runs, "open_interrupt", lambda row: None),
        (projection, "_decode_profile", lambda data: SimpleNamespace(profile=None)),
    ],
)
def test_the_comparison_sees_a_part_that_is_left_out(
    place: Any, name: str, broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"data": {"profile": AUTH_REQUIRED}, "interruptId": "n0.0", "kind": "approval", "nodeId": "n0"}
    rows = (
        StateRow("interrupt", "n0.0", encode_stored({**row, "status": "open"})),
        StateRow("variable", CREDENTIAL, b"1"),
        StateRow("kin", "children", b"1"),
    )
    header = header_of(PLAN, metadata={"a": CREDENTIAL})
    run = StoredRun(header, Projection("waiting-approval", last_sequence=1, current_node="n0"), rows)
    links = SimpleNamespace()
    links._mint_token = lambda *arguments: minted(links, *arguments)
    children = [child_run(0)]
    expected = at_once(run, children, links)
    assert b"".join(in_pieces(run, children, links).chunks()) == expected
    monkeypatch.setattr(place, name, broken)
    monkeypatch.setitem(in_pieces.__globals__, "child_members", runs.child_members)
    assert b"".join(in_pieces(run, children, links).chunks()) != expected


@fails_without(runs, "SLICE_BYTES", 2**40)
def test_encoding_yields_to_the_loop_after_each_slice() -> None:
    """Work is counted in bytes: those that are encoded or searched, but not those that a piece refers to."""
    spans: list[int] = []

    async def work() -> None:
        row = StateRow("interrupt", "n0.0", b"")
        rows = [StateRow("variable", f"v{at}", b'"%b"' % (b"x" * 5_000)) for at in range(600)]
        document = {"interruptId": "n0.0", "kind": "custom", "nodeId": "n0", "status": "open", "data": "x" * 900_000}
        rows += [StateRow("interrupt", row.name, encode_stored(document))] * 3
        rows += [StateRow("channel", f"c{at}", b'"%b"' % (b"x" * 900_000)) for at in range(30)]
        run = StoredRun(header_of(PLAN), Projection("waiting-input", 1, current_node="n0"), tuple(rows))
        making = asyncio.create_task(Runs.snapshot_pieces(cast(Any, None), run, {}))
        while not making.done():
            spans.append(1)
            await asyncio.sleep(0)

    asyncio.run(work())
    # 3 MB of small values, and 2.7 MB of interrupts that are searched and then encoded without their status.
    assert 25 <= len(spans) <= 35


@fails_without(runs, "SLICE_BYTES", 1_048_576)
def test_small_values_that_are_encoded_one_by_one_have_short_slices() -> None:
    """A slice of 1 MiB of them took 100 ms."""
    spans: list[int] = []

    async def work() -> None:
        run = StoredRun(header_of(PLAN, inputs={"x": [0.1234567] * 90_000}), Projection("running"))
        making = asyncio.create_task(Runs.snapshot_pieces(cast(Any, None), run, {}))
        while not making.done():
            spans.append(1)
            await asyncio.sleep(0)

    asyncio.run(work())
    assert len(spans) >= 6


@pytest.mark.parametrize(("size", "large"), [(projection.LARGE_STATE_BYTES, False), (10**6, True)])
@pytest.mark.parametrize("place", ["row", "outputs", "configurable"])
def test_a_run_is_large_by_its_rows_outputs_or_options(size: int, large: bool, place: str) -> None:
    text = b'"%b"' % (b"x" * (size - 2))
    if place == "configurable":
        run = StoredRun(header_of(PLAN, configurable={"x": "x" * (size - 8)}), Projection("running"))
    elif place == "outputs":
        run = StoredRun(header_of(PLAN), Projection("completed", outputs=text))
    else:
        run = StoredRun(header_of(PLAN), Projection("running"), (StateRow("variable", "x", text),))
    assert is_large(run) == large
