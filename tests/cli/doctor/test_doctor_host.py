"""`weftwork doctor` with hosts of others."""

import time
from email.utils import formatdate

import pytest

from tests.cli.commands.test_runs_foreign import EVIL, harmless
from tests.cli.foreign_host import KEY, NOT_FOUND, CannedResponse, ForeignHost, ReceivedRequest
from weftwork.cli.doctor import host_checks
from weftwork.cli.doctor.host_checks import MAX_CLOCK_SKEW, check_clock, check_host
from weftwork.cli.doctor.machine_checks import Finding


def asked(foreign: ForeignHost) -> dict[str, Finding]:
    return {each.check: each for each in check_host(foreign.url, KEY, named=True)}


def well(foreign: ForeignHost) -> None:
    run = {"runId": "r1", "workflowId": "w", "status": "completed"}
    foreign.replies |= {
        "GET /health": CannedResponse(200, {"status": "ok"}),
        "GET /readiness": CannedResponse(200, {"status": "ready"}),
        "GET /v1/runs": CannedResponse(200, {"runs": [run]}),
        "GET /v1/runs/r1/events": CannedResponse(
            200, raw=b": hello\n\nid: 0\ndata: {}\n\n", headers={"Content-Type": "text/event-stream; charset=utf-8"}
        ),
    }


def test_a_host_of_others_is_well(foreign: ForeignHost) -> None:
    well(foreign)
    found = asked(foreign)
    assert {each.state for each in found.values()} == {"ok"}, found
    assert found["protocol"].said == "OpenWOP 1.0 by elsewhere 7, another host than weftwork"
    assert found["clock"].said == "the host does not say what time it is"
    assert {each.method for each in foreign.requests} == {"GET"}


@pytest.mark.parametrize(
    ("path", "reply", "check", "state", "piece"),
    [
        ("/.well-known/openwop", CannedResponse(200, {"protocolVersion": "2.0"}), "protocol", "fail", "OpenWOP 2.0"),
        ("/.well-known/openwop", CannedResponse(200, [EVIL]), "protocol", "fail", "OpenWOP null"),
        ("/.well-known/openwop", CannedResponse(200, raw=b"<html>"), "host", "fail", "cannot be read"),
        ("/.well-known/openwop", NOT_FOUND, "host", "fail", "Nothing here"),
        ("/health", NOT_FOUND, "health", "warn", "no /health"),
        (
            "/readiness",
            CannedResponse(503, {"error": "service_unavailable", "message": "full"}),
            "readiness",
            "fail",
            "full",
        ),
        ("/v1/runs", NOT_FOUND, "events", "ok", "does not list"),
        ("/v1/runs", CannedResponse(200, {"runs": []}), "events", "ok", "no run yet"),
        ("/v1/runs", CannedResponse(500, {"error": "x", "message": EVIL}), "events", "fail", "evil"),
        ("/v1/runs/r1/events", CannedResponse(200, []), "events", "fail", "come as application/json"),
        (
            "/v1/runs/r1/events",
            CannedResponse(200, raw=b": x\n", headers={"Content-Type": "text/event-stream"}),
            "events",
            "fail",
            "ended before",
        ),
        (
            "/.well-known/openwop",
            CannedResponse(
                200, {"protocolVersion": "1.1"}, headers={"Date": formatdate(time.time() + 3600, usegmt=True)}
            ),
            "clock",
            "warn",
            "ahead of this one",
        ),
    ],
)
def test_what_is_not_well_with_a_host_of_others(
    foreign: ForeignHost, path: str, reply: CannedResponse, check: str, state: str, piece: str
) -> None:
    well(foreign)
    foreign.replies[f"GET {path}"] = reply
    found = asked(foreign)
    assert (found[check].state, piece in found[check].said) == (state, True), found[check]
    assert all(harmless(each.said) for each in found.values())


def test_scopes_are_seen_by_what_is_refused(foreign: ForeignHost) -> None:
    well(foreign)

    def reply(request: ReceivedRequest) -> CannedResponse:
        return (
            CannedResponse(403, {"error": "forbidden", "message": "no"}) if "/artifacts/" in request.path else NOT_FOUND
        )

    foreign.replies["GET /v1/runs/weftwork-doctor-no-such-run/artifacts/none"] = reply
    found = asked(foreign)
    assert (found["key"].state, found["key"].said) == ("warn", "is accepted, without artifacts:read")
    assert found["events"].state == "ok"
    refused = CannedResponse(401, {"error": "unauthenticated", "message": "no"})
    foreign.replies["GET /v1/runs/weftwork-doctor-no-such-run"] = refused
    assert asked(foreign)["key"].state == "fail"


def test_clocks_are_compared() -> None:
    now = 1_800_000_000.0
    for ahead, words in ((60, "60 s ahead of"), (-60, "60 s behind")):
        (found,) = check_clock(formatdate(now + ahead, usegmt=True), now)
        assert (found.state, words in found.said) == ("warn", True)
    (found,) = check_clock(formatdate(now + MAX_CLOCK_SKEW / 2, usegmt=True), now)
    assert found.state == "ok"
    assert [each.state for each in check_clock("soon", now)] == ["ok"]


@pytest.mark.parametrize(
    ("url", "clear"),
    [
        ("http://127.0.0.1:1", False),
        ("http://localhost", False),
        ("http://[::1]:5", False),
        ("https://host.example", False),
        ("http://host.example", True),
        ("http://10.0.0.1", True),
    ],
)
def test_a_key_in_the_clear_is_seen(url: str, clear: bool) -> None:
    assert host_checks._is_plaintext(url) is clear
