"""Schemas over HTTP: for everybody, with the right type, and the very ones that the host checks with."""

from pathlib import Path

import jsonschema_rs
import pytest

from tests.live import Host, start_host
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS
from weftwork.protocol.json import schema
from weftwork.protocol.wire.v1.test_endpoints import SERVED_SCHEMAS

KINDS = sorted(BUILTIN_KINDS.names)


@pytest.mark.rule("env-30")
@pytest.mark.parametrize("path", [*SERVED_SCHEMAS, *(f"envelopes/{kind}" for kind in KINDS)])
def test_a_schema_is_served_to_everybody(host: Host, path: str) -> None:
    for key in (None, "wrong"):
        answer = host.call("GET", f"/schemas/{path}.schema.json", key=key)
        assert answer.status == 200
    assert answer.headers["content-type"] == "application/schema+json"
    assert answer.headers["cache-control"] == "public, max-age=300"
    assert answer.document == schema.document(path)
    if path != "create-run":  # not published under a name of its own
        assert answer.document["$id"] == f"https://openwop.dev/spec/v1/{path}.schema.json"
    jsonschema_rs.meta.validate(answer.document)


def test_a_known_schema_is_not_sent_again(host: Host) -> None:
    path = "/schemas/envelopes/error.schema.json"
    tag = host.call("GET", path, key=None).headers["etag"]
    again = host.call("GET", path, key=None, headers={"If-None-Match": tag})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert host.call("GET", path, key=None, headers={"If-None-Match": '"other"'}).status == 200
    head = host.call("HEAD", path, key=None)
    assert (head.status, head.body, head.headers["content-type"]) == (200, b"", "application/schema+json")
    assert head.headers["content-length"] == str(len(host.call("GET", path).body))


@pytest.mark.rule("env-30", "wire-01")
@pytest.mark.parametrize(
    "path",
    """
    /schemas /schemas/ /schemas/envelopes /schemas/envelopes/ /schemas/error /schemas/error.schema.json
    /schemas/error-envelope /schemas/health.schema.json /schemas/envelopes/nothing.schema.json
    /schemas/envelopes/vendor.acme.plan.schema.json /schemas/envelopes/error /schemas/envelopes/error.schema.json/x
    /schemas/..%2Frules.schema.json /schemas/%00.schema.json /schemas/%ff.schema.json /schemas/.schema.json
    /schemas/envelopes/..%2F..%2Frules.toml
    """.split(),
)
def test_what_is_no_schema_is_not_found(host: Host, path: str) -> None:
    for key in (None, "wrong"):
        answer = host.call("GET", path, key=key)
        assert (answer.status, answer.document["error"]) == (404, "not_found")


def test_a_schema_is_only_read(host: Host) -> None:
    for path in ("/schemas/run-event.schema.json", "/schemas/envelopes/error.schema.json"):
        answer = host.call("POST", path, {}, key=None)
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.rule("env-30")
def test_kinds_of_the_host_are_served_beside_those_of_the_protocol(tmp_path: Path) -> None:
    long = "vendor.acme." + "x" * 100 + "." + "y" * 100
    folder = tmp_path / "kinds"
    folder.mkdir()
    for kind in ("vendor.acme.plan", long):
        shape = '{"x-version": 3, "type": "object", "required": ["steps"], "properties": {"steps": {"type": "array"}}}'
        (folder / f"{kind}.schema.json").write_text(shape, "utf-8")
    with start_host(tmp_path, "--envelope-kinds", folder, store="memory") as host:
        for kind in ("vendor.acme.plan", long):
            answer = host.call("GET", f"/schemas/envelopes/{kind}.schema.json", key=None)
            assert (answer.status, answer.document["required"]) == (200, ["steps"])
