"""Who may write to a channel."""

from typing import Any

import pytest

from weftwork.protocol.workflow import channels as channel_access
from weftwork.protocol.workflow.channels import Channel, access_denied_details, may_write, parse_channels


def channel(access: Any) -> Channel:
    channels, violations = parse_channels({"c": {"reducer": "append", "access": access}})
    assert violations == []
    return channels["c"]


@pytest.mark.rule("chan-08")
@pytest.mark.parametrize(
    ("access", "node_id", "type_id", "allowed"),
    [
        ("public", "n", "core.noop", True),
        ("private", "n", "core.noop", False),
        ({}, "n", "core.noop", True),
        ({"readers": []}, "n", "core.noop", True),
        ({"writers": []}, "n", "core.noop", False),
        ({"writers": ["n"]}, "n", "core.noop", True),
        ({"writers": ["n"]}, "nn", "core.noop", False),
        ({"writers": ["m", "n"]}, "n", "core.noop", True),
        ({"writers": ["*"]}, "n", "core.noop", True),
        ({"writers": ["core.*"]}, "n", "core.noop", True),
        ({"writers": ["core.*"]}, "n", "core", False),
        ({"writers": ["core.*"]}, "n", "corex.noop", False),
        ({"writers": ["core.*"]}, "core.x", "other.noop", False),
        ({"writers": ["core.ai.*"]}, "n", "core.ai.call.fast", True),
        ({"writers": ["core.ai.*"]}, "n", "core.noop", False),
        ({"writers": ["core.noop"]}, "n", "core.noop", False),
        ({"writers": ["core.noop"]}, "core.noop", "other.x", True),
    ],
)
def test_the_list_decides(access: Any, node_id: str, type_id: str, allowed: bool) -> None:
    assert may_write(channel(access), node_id, type_id) is allowed


@pytest.mark.rule("chan-08")
def test_a_channel_that_nobody_declared_is_open() -> None:
    assert may_write(None, "n", "core.noop")


@pytest.mark.rule("chan-08")
@pytest.mark.parametrize(
    ("access", "allowed"), [("private", []), ({"writers": []}, []), ({"writers": ["a", "core.*"]}, ["a", "core.*"])]
)
def test_a_denial_says_who_asked_and_who_is_let_in(access: Any, allowed: list[str]) -> None:
    requested_by = {"nodeId": "n", "typeId": "x.y"}
    assert access_denied_details(channel(access), "writers", "n", "x.y") == {
        "channel": "c",
        "requestedBy": requested_by,
        "allowed": allowed,
    }


def test_a_looser_reading_of_the_star_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def loose(entry: str, node_id: str, type_id: str) -> bool:
        return type_id.startswith(entry.removesuffix("*").removesuffix("."))

    monkeypatch.setattr(channel_access, "_entry_matches", loose)  # sabotage
    assert may_write(channel({"writers": ["core.*"]}), "n", "corex.noop")
