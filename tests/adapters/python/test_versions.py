"""Ranges of versions that a node knows."""

from typing import Any

import pytest

import weftwork
from tests.adapters.python.fake_node_host import FakeNodeHost
from weftwork.ports.node_outcome import Failed
from weftwork.protocol.run.header import version_error


@pytest.mark.rule("ver-02")
@pytest.mark.parametrize(
    ("change_id", "least", "most", "pinned", "code"),
    [
        ("c", 1, 2, None, None),
        ("c", -1, -1, -1, None),
        ("c", 1, 2, 1, None),
        ("c", 1, 2, 0, "version_out_of_range"),
        ("c", 1, 2, 3, "version_out_of_range"),
        ("c", -2, 1, None, "validation_error"),
        ("c", 2, 1, None, "validation_error"),
        ("c", True, 2, None, "validation_error"),
        ("c", 1, 2.0, None, "validation_error"),
        ("c", "1", 2, None, "validation_error"),
        ("c", 1, 2**53, None, "validation_error"),
        ("", 1, 2, None, "validation_error"),
        ("c" * 257, 1, 2, None, "validation_error"),
    ],
)
def test_a_range_and_what_is_pinned(change_id: str, least: Any, most: Any, pinned: Any, code: str | None) -> None:
    found = version_error(change_id, least, most, pinned)
    assert (found and found[0]) == code


@pytest.mark.parametrize("change_id", ["a\0", "a\ud800", b"xy", ["x"], None])
def test_the_id_of_a_change_is_text_that_can_be_stored(change_id: Any) -> None:
    @weftwork.node("acme.changed")
    async def changed(ctx: weftwork.Context) -> int:
        return await ctx.get_version(change_id, min=1, max=2)

    @weftwork.node("acme.changed-plain")
    def changed_plain(ctx: weftwork.PlainContext) -> int:
        return ctx.get_version(change_id, min=1, max=2)

    for function in (changed, changed_plain):
        stage = FakeNodeHost()
        found = stage.run(function)
        assert isinstance(found, Failed)
        assert (found.code, found.retryable) == ("node_misused", False)
        assert stage.versions == {}
