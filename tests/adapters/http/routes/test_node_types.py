"""Node types over HTTP: all of them, by id, and who may ask."""

from pathlib import Path

from tests.live import Host, start_host
from weftwork.protocol.json import schema
from weftwork.wiring.node_types import builtin_node_types

PATH = "/v1/host/weftwork/node-types"


def test_every_type_is_listed_by_id(host: Host) -> None:
    answer = host.call("GET", PATH)
    assert answer.status == 200
    assert schema.check("node-type-list", answer.document) == []
    rows = answer.document["nodeTypes"]
    assert [row["typeId"] for row in rows] == sorted(builtin_node_types())
    delay = next(row for row in rows if row["typeId"] == "core.delay")
    declared = builtin_node_types()["core.delay"].declaration
    assert (delay["title"], delay["description"]) == (declared.title, declared.notes)
    assert (delay["effect"], delay["instant"], delay["source"], delay["requires"]) == ("pure", False, "", [])
    assert (delay["inputs"], delay["outputs"], delay["config"]) == (declared.inputs, declared.outputs, declared.config)
    assert host.call("GET", f"{PATH}/core.delay").document == delay


def test_what_is_not_there_is_not_found(host: Host) -> None:
    for name in ("core.nothing", "a%2Fb", "%00", "x" * 200):
        answer = host.call("GET", f"{PATH}/{name}")
        assert (answer.status, answer.document["error"]) == (404, "not_found")
    assert host.call("GET", f"{PATH}/core.nothing", key=None).status == 401
    assert host.call("POST", PATH, {}).status == 405


def test_a_key_needs_the_scope(tmp_path: Path) -> None:
    keys = ("--api-key", "reader=acme:manifest:read", "--api-key", "runner=acme:runs:read")
    with start_host(tmp_path, *keys, store="memory") as host:
        assert host.call("GET", PATH, key="reader").status == 200
        for path in (PATH, f"{PATH}/core.noop", f"{PATH}/core.nothing"):
            assert host.call("GET", path, key="runner").status == 403
