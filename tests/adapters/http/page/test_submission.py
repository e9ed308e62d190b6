"""Forms that another site posts to a link are refused."""

import pytest

from tests.harness.cases import each_case
from tests.live import Host
from tests.live.steering import cancel, register
from tests.live.tokens import approval_workflow, created_link
from weftwork.adapters.http.page.submission import check_origin
from weftwork.protocol.errors import ClientFault

HOST = "flows.example.org"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.rule("surf-69")
@each_case(
    "site, origin",
    ("same-origin", "null"),
    ("none", None),
    ("Same-Origin", None),
    (None, None),
    (None, "null"),
    (None, f"https://{HOST}"),
    (None, f"https://{HOST.upper()}"),
)
def test_a_form_of_the_page_itself_is_taken(site: str | None, origin: str | None) -> None:
    check_origin(site, origin, HOST)


@pytest.mark.rule("surf-69")
@each_case(
    "site, origin",
    ("cross-site", "null"),
    ("same-site", f"https://www.{HOST}"),
    ("cross-site", None),
    ("", None),
    (None, "https://evil.example"),
    (None, f"https://{HOST}.evil.example"),
    (None, f"https://{HOST}:8443"),
    (None, ""),
    (None, f"https://evil.example/{HOST}"),
)
def test_a_form_of_another_site_is_refused(site: str | None, origin: str | None) -> None:
    with pytest.raises(ClientFault) as refused:
        check_origin(site, origin, HOST)
    assert refused.value.code == "forbidden"


@pytest.mark.rule("surf-69")
@each_case("headers", {"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"})
def test_another_site_records_no_answer(host: Host, headers: dict[str, str]) -> None:
    run_id = host.create(register(host, approval_workflow(f"foreign-{len(headers)}-{sorted(headers)[0].lower()}")))
    path = created_link(host, run_id)["path"]
    refused = host.call("POST", path, key=None, headers={**FORM, **headers}, body=b"action=accept")
    assert refused.status == 403
    assert b"another site" in refused.body
    assert host.snapshot(run_id)["status"] == "waiting-approval"
    taken = host.call("POST", path, key=None, headers={**FORM, "Sec-Fetch-Site": "same-origin"}, body=b"action=accept")
    assert taken.status == 200
    assert host.snapshot(run_id)["status"] == "completed"


@each_case("kind", "text/plain", "multipart/form-data; boundary=x", "")
def test_the_other_types_of_form_are_no_answer(host: Host, kind: str) -> None:
    run_id = host.create(register(host, approval_workflow("other-types")))
    path = created_link(host, run_id)["path"]
    body = b'{"resumeValue": {"action": "accept"}}'
    answer = host.call("POST", path, key=None, headers={"Content-Type": kind} if kind else {}, body=body)
    assert answer.status in (400, 415), answer.body
    assert host.snapshot(run_id)["status"] == "waiting-approval"
    cancel(host, run_id)
