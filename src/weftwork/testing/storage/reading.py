"""Checks of `read`, `stored` and `hidden`."""

import asyncio
from typing import Final

from weftwork.ports.eventlog import Created, Hidden, StateRow
from weftwork.testing.storage.sample import batch, header, make_run
from weftwork.testing.storage.store import Check, Store


async def a_page_of_events_starts_after_its_cursor(store: Store) -> None:
    """`read` gives the events after the cursor, ascending, at most `limit`, for any cursor and limit."""
    runs = [await make_run(store, f"run-{number}") for number in range(3)]
    for run in runs:
        await store.log.append(run, -1, batch(run, -1, 12))
    for run in runs:
        for after in (-(2**70), -(2**31), -2, -1, 0, 5, 10, 11, 12, 2**31, 2**70):
            for limit in (0, 1, 5, 12, 100):
                found = await store.log.read(run, after, limit)
                wanted = [at for at in range(12) if at > after][:limit]
                assert [(item.run_id, item.sequence) for item in found] == [(run.run_id, at) for at in wanted]


async def a_row_is_the_last_one_written(store: Store) -> None:
    """`stored` has each row once, as written last; kinds with the same names do not mix; rows of other runs
    stay out."""
    run = await make_run(store)
    other = await make_run(store, "run-b")
    first = (StateRow("variable", "a", b"1"), StateRow("node", "a", b"2"), StateRow("channel", "a", b"[3]"))
    second = (StateRow("variable", "a", b'"new"'), StateRow("variable", "b", b"4" * 5000))
    await store.log.append(run, -1, batch(run, -1, rows=first))
    await store.log.append(other, -1, batch(other, -1, rows=(StateRow("variable", "c", b"5"),)))
    await store.log.append(run, 0, batch(run, 0, rows=second))
    found = await store.log.stored(run)
    assert found is not None
    assert len(found.rows) == 4
    assert set(found.rows) == {second[0], second[1], first[1], first[2]}


async def hidden_values_come_back(store: Store) -> None:
    """`hidden` gives the values of the header and of every event, in order of their sequence, of that run
    only; nothing else shows them."""
    of_header = (Hidden(-1, "/token", b'"s3cret"'), Hidden(-1, "/deep/0", b'{"s3cret":1}'))
    assert await store.log.create(header(), of_header) == Created()
    run = header().key
    other = await make_run(store, "run-b")
    await store.log.append(other, -1, batch(other, -1, hidden=(Hidden(0, "/x", b"0"),)))
    later: list[Hidden] = []
    for sequence in range(3):
        values = (Hidden(sequence, "/a", b'"s3cret"'), Hidden(sequence, "", b"\x00"))
        later += values
        await store.log.append(run, sequence - 1, batch(run, sequence - 1, hidden=values))
    assert await store.log.hidden(run) == [*of_header, *later]
    shown = repr((await store.log.stored(run), await store.log.read(run, -1, 10)))
    assert "s3cret" not in shown


async def an_acknowledged_write_is_seen(store: Store) -> None:
    """A read that starts after a write returned sees it, on whichever connection it runs."""
    run = await make_run(store)
    for expected in range(-1, 40):
        await store.log.append(run, expected, batch(run, expected))
        found = await store.log.stored(run)
        assert found is not None
        assert found.projection.last_sequence == expected + 1
        pages = await asyncio.gather(*(store.log.read(run, expected, 10) for _ in range(4)))
        assert [[item.sequence for item in page] for page in pages] == [[expected + 1]] * 4


async def a_stored_run_is_one_view(store: Store) -> None:
    """The projection and the rows that `stored` gives belong to the same append, even while others commit."""
    run = await make_run(store)

    async def fill() -> None:
        for expected in range(-1, 80):
            row = StateRow("variable", "last", b"%d" % (expected + 1))
            await store.log.append(run, expected, batch(run, expected, rows=(row,)))
            await asyncio.sleep(0)

    filling = asyncio.ensure_future(fill())
    while not filling.done():
        for found in await asyncio.gather(*(store.log.stored(run) for _ in range(4))):
            assert found is not None
            wanted = [b"%d" % found.projection.last_sequence] if found.projection.last_sequence >= 0 else []
            assert [row.value for row in found.rows] == wanted
    await filling


CHECKS: Final[tuple[Check, ...]] = (
    a_page_of_events_starts_after_its_cursor,
    a_row_is_the_last_one_written,
    hidden_values_come_back,
    an_acknowledged_write_is_seen,
    a_stored_run_is_one_view,
)
