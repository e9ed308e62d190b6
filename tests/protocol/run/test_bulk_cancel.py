"""Cancelling many runs: how many at once, and what is said of each."""

from typing import Any

import pytest

from weftwork.protocol.errors import ERRORS, ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.limits import Limits
from weftwork.protocol.run import projection
from weftwork.protocol.run.header import STATUSES
from weftwork.protocol.run.projection import MAX_BULK_CANCEL, bulk_cancel_entry, check_bulk_cancel
from weftwork.protocol.wire.capabilities import HostOffer, discovery_document


def refusal(document: Any) -> ClientFault:
    with pytest.raises(ClientFault) as caught:
        check_bulk_cancel(document)
    assert caught.value.code == "validation_error"
    return caught.value


@pytest.mark.rule("run-09")
def test_the_bound_is_the_same_wherever_it_is_said() -> None:
    assert schema.document("bulk-cancel")["properties"]["runIds"]["maxItems"] == MAX_BULK_CANCEL
    assert discovery_document(HostOffer("0", Limits()))["runs"]["bulkCancel"] == {
        "supported": True,
        "maxRunIds": MAX_BULK_CANCEL,
    }
    check_bulk_cancel({"runIds": ["r"] * MAX_BULK_CANCEL})


@pytest.mark.rule("run-09")
@pytest.mark.parametrize("count", [MAX_BULK_CANCEL + 1, 50_000])
def test_a_list_that_is_too_long_is_told_how_long_it_may_be(count: int) -> None:
    for extra in ({}, {"nonsense": 1}):
        found = refusal({"runIds": ["r"] * count, **extra})
        assert found.details == {"pointer": "/runIds", "maxRunIds": MAX_BULK_CANCEL}


@pytest.mark.rule("run-09")
@pytest.mark.parametrize(
    "document",
    [{}, [], "x", None, {"runIds": []}, {"runIds": "r"}, {"runIds": [1]}, {"runIds": [""]}, {"runIds": ["r"], "x": 1}],
)
def test_another_body_is_refused_without_the_bound(document: Any) -> None:
    assert "maxRunIds" not in (refusal(document).details or {})


@pytest.mark.rule("run-09")
def test_without_the_check_nobody_is_told_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage: the schema alone refuses the list, and says less."""
    monkeypatch.setattr(projection, "MAX_BULK_CANCEL", 10**9)
    assert "maxRunIds" not in (refusal({"runIds": ["r"] * 101}).details or {})


@pytest.mark.rule("run-10")
def test_an_entry_says_what_became_of_a_run() -> None:
    for status in STATUSES:
        entry = bulk_cancel_entry("r", status)
        if status in ("cancelling", "cancelled"):
            assert entry == {"runId": "r", "ok": True, "status": status}
        else:
            assert (entry["ok"], entry["error"]["code"]) == (False, "run_terminal")
    entries = [
        bulk_cancel_entry("r", "cancelled"),
        bulk_cancel_entry("r", None),
        bulk_cancel_entry("a b", None, "validation_error"),
    ]
    assert [entry.get("error", {}).get("code") for entry in entries] == [None, "not_found", "validation_error"]
    assert schema.check("bulk-cancel-response", {"results": entries}) == []
    assert {entry["error"]["code"] for entry in entries[1:]} <= set(ERRORS)
