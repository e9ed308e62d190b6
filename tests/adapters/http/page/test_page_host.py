"""The page as a host sends it."""

import contextlib
import http.client
from typing import Any

import pytest

from tests.live import Host, open_in_process
from tests.live.host import TIMEOUT_SECONDS
from tests.live.steering import cancel, flow, interrupt_node, register
from tests.live.tokens import approval_workflow, created_link
from weftwork.adapters.http.page.layout import CONTENT_TYPE, HEADERS
from weftwork.engine.api.interrupts import Interrupts
from weftwork.ports.storage.event_log import StoreUnavailable


def test_every_page_of_the_host_has_the_headers_once(host: Host) -> None:
    run_id = host.create(register(host, approval_workflow("page-headers")))
    path = created_link(host, run_id)["path"]
    for address, status in ((path, 200), (path + "x", 404)):
        connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=TIMEOUT_SECONDS)
        with contextlib.closing(connection):
            connection.request("GET", address, headers={"Accept": "text/html"})
            answer = connection.getresponse()
            assert answer.status == status
            for name, value in HEADERS:
                assert answer.headers.get_all(name.decode()) == [value.decode()]
    cancel(host, run_id)


async def broken(*_: Any) -> Any:
    raise RuntimeError("broken")


async def away(*_: Any) -> Any:
    raise StoreUnavailable("away")


@pytest.mark.parametrize(("fault", "status", "said"), [(broken, 500, b"went wrong"), (away, 503, b"is busy")])
async def test_a_person_is_told_of_a_fault_of_the_host_on_a_page(
    monkeypatch: pytest.MonkeyPatch, fault: Any, status: int, said: bytes
) -> None:
    async with open_in_process(flow("page-fault", [interrupt_node("ask")])) as inside:
        made = await inside.call("POST", "/v1/runs", {"workflowId": "page-fault"})
        shown = await inside.call("GET", f"/v1/runs/{made.document['runId']}")
        path = f"/v1/interrupts/{shown.document['interrupt']['interruptToken']}"
        monkeypatch.setattr(Interrupts, "inspect", fault)
        form = {"content-type": "application/x-www-form-urlencoded"}
        for method, headers in (("GET", {"accept": "text/html"}), ("POST", form)):
            answer = await inside.call(method, path, headers=headers)
            assert (answer.status, answer.headers["content-type"]) == (status, CONTENT_TYPE.decode())
            assert said in answer.body
        program = await inside.call("GET", path)
        assert (program.status, program.headers["content-type"]) == (status, "application/json")
