"""Requests for a name that the host does not serve, over real connections."""

from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import fails_without
from tests.live import KEY, open_in_process, start_host, weftwork
from weftwork.adapters.http import app
from weftwork.protocol.wire.v1.paths import path_for

PUBLIC = "https://flows.example.org"


@pytest.mark.rule("wire-05")
@fails_without(app, "is_served", lambda names, header: True, errors=(KeyError,))
async def test_a_request_for_another_name_is_refused_and_a_probe_is_not() -> None:
    async with open_in_process(public_url=PUBLIC, allowed_hosts=("proxy.internal",)) as host:

        async def status(path: str, name: str, method: str = "GET", document: Any = None) -> int:
            return (await host.call(method, path, document, headers={"host": name})).status

        runs = path_for("listRuns")
        for name in (
            "flows.example.org",
            "flows.example.org:443",
            "proxy.internal:8787",
            "localhost:8787",
            "127.0.0.1",
        ):
            assert await status(runs, name) == 200
        for name in ("evil.example", "flows.example.org.evil.example", ""):
            refused = await host.call("GET", runs, headers={"host": name})
            assert (refused.status, refused.document["error"]) == (400, "validation_error")
            assert refused.document["details"]["parameter"] == "Host"
            assert "evil" not in refused.document["message"]
            assert await status(path_for("createRun"), name, "POST", {"workflowId": "x"}) == 400
            assert await status(path_for("getCapabilities"), name) == 400
            assert [await status(path_for(each), name) for each in ("getHealth", "getReadiness")] == [200, 200]


@pytest.mark.rule("wire-05")
async def test_without_a_public_url_every_name_is_served() -> None:
    async with open_in_process() as host:
        assert (await host.call("GET", path_for("listRuns"), headers={"host": "any.example"})).status == 200
    async with open_in_process(public_url=PUBLIC, allowed_hosts=("*",)) as host:
        assert (await host.call("GET", path_for("listRuns"), headers={"host": "any.example"})).status == 200
    async with open_in_process(media_url="https://media.example") as host:
        assert (await host.call("GET", path_for("listRuns"), headers={"host": "any.example"})).status == 400


def test_the_setting_is_checked_and_clients_on_the_machine_need_no_entry(tmp_path: Path) -> None:
    wrong = weftwork(tmp_path, "serve", "--port", "0", env={"WEFTWORK_ALLOWED_HOSTS": "https://flows.example.org"})
    assert wrong.returncode == 2
    assert "WEFTWORK_ALLOWED_HOSTS must be a list of host names without scheme and port" in wrong.stderr
    with start_host(tmp_path, store="memory", env={"WEFTWORK_PUBLIC_URL": PUBLIC}) as host:
        assert host.call("GET", path_for("listRuns")).status == 200
        assert weftwork(tmp_path, "runs", "ls", "--url", host.address, "--key", KEY).returncode == 0
