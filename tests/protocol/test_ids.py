"""Grammars of ids, the partition, and idempotency keys."""

import hashlib
import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.ids import TEST_KEY_PREFIX, is_idempotency_key, is_path_id, is_tenant, mode_of_key, partition
from weftwork.protocol.json.canonical import digest
from weftwork.protocol.wire import idempotency


@pytest.mark.parametrize(
    ("text", "fits"),
    [("a", True), ("Acme-1.x_y", True), ("9", True), ("a" * 64, True), ("a" * 65, False), ("", False)]
    + [(text, False) for text in (".a", "-a", "_a", "a:b", "a/b", "a b", "a\n", "ä", "a\0")],
)
def test_a_tenant_is_a_short_plain_name(text: str, fits: bool) -> None:
    assert is_tenant(text) is fits


@pytest.mark.parametrize(
    ("text", "fits"),
    [("run-1", True), ("A~.z", True), ("x" * 128, True), ("x" * 129, False), ("", False)]
    + [(text, False) for text in ("a:b", "a/b", "a b", "a\n", "ä", "a%20")],
)
def test_a_path_id_needs_no_escaping(text: str, fits: bool) -> None:
    assert is_path_id(text) is fits


@pytest.mark.rule("idem-04")
@settings(max_examples=example_count(200), deadline=None)
@given(st.text(max_size=300) | st.text("!a~ \x7f\n", max_size=300))
def test_an_idempotency_key_is_printable_ascii_without_spaces(text: str) -> None:
    fits = 1 <= len(text) <= 255 and all("!" <= each <= "~" for each in text)
    assert is_idempotency_key(text) is fits
    if fits:
        idempotency.check_key(text)
    else:
        with pytest.raises(ClientFault) as caught:
            idempotency.check_key(text)
        assert caught.value.code == "validation_error"
        assert len(text) < 20 or text not in str(caught.value)


@pytest.mark.rule("idem-04")
@pytest.mark.parametrize(("text", "fits"), [("k" * 255, True), ("k" * 256, False), ("k\n", False), ("\u00e9", False)])
def test_the_edges_of_an_idempotency_key(text: str, fits: bool) -> None:
    assert is_idempotency_key(text) is fits


@pytest.mark.rule("auth-03")
def test_the_mode_of_a_key_is_part_of_the_partition() -> None:
    assert TEST_KEY_PREFIX == "hk_test_"
    assert [mode_of_key(key) for key in ("hk_test_x", "hk_live_x", "xhk_test_", "HK_TEST_x", "")] == [
        "test",
        "live",
        "live",
        "live",
        "live",
    ]
    assert partition("acme", "live") != partition("acme", "test")


@pytest.mark.rule("auth-03")
@settings(max_examples=example_count(100), deadline=None)
@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,8}", fullmatch=True), st.from_regex(r"[a-z.-]{1,5}", fullmatch=True))
def test_no_two_tenants_share_a_partition(one: str, other: str) -> None:
    partitions = {partition(tenant, mode) for tenant, mode in product({one, other}, ("live", "test"))}
    assert len(partitions) == 2 * len({one, other})


@pytest.mark.rule("idem-01")
def test_records_are_kept_for_a_day() -> None:
    assert idempotency.RETENTION_SECONDS == 24 * 60 * 60


@pytest.mark.rule("idem-02")
def test_a_slot_is_a_digest_that_differs_by_tenant_operation_and_key() -> None:
    places = list(product(("live:a", "test:a", "live:b"), ("createRun", "cancelRun/run-1"), ("k", "k2")))
    slots = {place: idempotency.record_key(*place) for place in places}
    assert len(set(slots.values())) == len(places)
    assert all(re.fullmatch("[0-9a-f]{64}", slot) for slot in slots.values())
    assert slots["live:a", "createRun", "k"] == hashlib.sha256(b"live:a:createRun:k").hexdigest()


@pytest.mark.rule("idem-03")
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": [1.0]}, {"b": [1], "a": 1}, True),
        ({"a": 1}, {"a": "1"}, False),
        ({"a": None}, {}, False),
        ([1, 2], [2, 1], False),
    ],
)
def test_the_same_key_with_another_body_is_a_conflict(one: Any, other: Any, same: bool) -> None:
    recorded, offered = digest(one), digest(other)
    if same:
        idempotency.check_fingerprint(recorded, offered)
    else:
        with pytest.raises(ClientFault) as caught:
            idempotency.check_fingerprint(recorded, offered)
        assert (caught.value.code, caught.value.status) == ("idempotency_key_mismatch", 409)
