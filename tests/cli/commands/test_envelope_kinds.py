"""`weftwork kinds`: the kinds of envelopes of a host, and of hosts that answer oddly."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.commands.test_runs_foreign import EVIL, harmless
from tests.cli.foreign_host import CannedResponse, ForeignHost, run_command
from tests.live import Host, start_host
from weftwork.cli.commands import kinds
from weftwork.protocol.envelopes.kinds import MEDIA_KINDS, UNIVERSAL_KINDS

PLAN = {
    "description": "What is to be done.",
    "type": "object",
    "properties": {"steps": {"type": "array", "items": {"type": "string"}, "minItems": 1}},
    "required": ["steps"],
    "x-version": 2,
}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder: Path = tmp_path_factory.mktemp("kinds")
    file = folder / "vendor.acme.plan.schema.json"
    file.write_text(json.dumps(PLAN))
    with start_host(folder, "--envelope-kinds", str(file)) as running:
        yield running


def asked(host: Host, *args: str) -> Result:
    """Without a key: whoever can reach the host may ask."""
    return run_command(host.address, *args, key=None)


@pytest.mark.rule("env-44")
def test_the_kinds_of_a_host(host: Host) -> None:
    discovery = host.call("GET", "/.well-known/openwop").document
    assert discovery["supportedEnvelopes"] == [*UNIVERSAL_KINDS, *MEDIA_KINDS, "vendor.acme.plan"]
    assert discovery["schemaVersions"] == {**dict.fromkeys((*UNIVERSAL_KINDS, *MEDIA_KINDS), 1), "vendor.acme.plan": 2}
    listed = asked(host, "kinds", "ls")
    assert [line.split() for line in listed.stdout.splitlines()] == [
        ["kind", "version", "from"],
        *([name, "1", "the", "protocol"] for name in (*UNIVERSAL_KINDS, *MEDIA_KINDS)),
        ["vendor.acme.plan", "2", "the", "host"],
    ]
    rows = json.loads(asked(host, "kinds", "ls", "--json").stdout)["kinds"]
    assert rows[-1] == {"kind": "vendor.acme.plan", "version": 2, "from": "the host"}


def test_one_kind(host: Host) -> None:
    told = asked(host, "kinds", "show", "vendor.acme.plan").stdout
    for said in ("version  2", "What is to be done.", "steps  array of string", "required", "others may be there too"):
        assert said in told
    served = json.loads(asked(host, "kinds", "show", "vendor.acme.plan", "--json").stdout)
    assert served["properties"] == PLAN["properties"]
    assert "questions" in asked(host, "kinds", "show", "clarification.request").stdout
    assert "not advertised" in asked(host, "kinds", "show", "ui.a2ui-surface").stdout


def test_a_kind_that_is_not_there(host: Host) -> None:
    missed = asked(host, "kinds", "show", "vendor.acme.pla")
    assert missed.exit_code == 1
    assert "no schema of a kind vendor.acme.pla; there is vendor.acme.plan" in missed.stderr
    other = asked(host, "kinds", "show", "../x")
    assert "`weftwork kinds ls` lists what there is" in other.stderr


@pytest.mark.parametrize("answer", [{}, [], {"supportedEnvelopes": 7}, None])
def test_a_host_that_lists_none(foreign: ForeignHost, answer: Any) -> None:
    foreign.replies["GET /.well-known/openwop"] = CannedResponse(200, answer)
    result = foreign.run_command("kinds", "ls")
    assert result.exit_code == 1
    assert "does not list kinds of envelopes" in result.stderr


@pytest.mark.parametrize("value", [None, 7, EVIL, [EVIL], {EVIL: EVIL}, {"$ref": "#/$defs/x"}, True, {"enum": [EVIL]}])
def test_whatever_a_host_says_is_harmless(foreign: ForeignHost, value: Any) -> None:
    foreign.replies["GET /.well-known/openwop"] = CannedResponse(
        200, {"supportedEnvelopes": [EVIL, value], "schemaVersions": {EVIL: value}}
    )
    foreign.replies["GET /schemas/envelopes/x.schema.json"] = CannedResponse(
        200, {"description": EVIL, "properties": {EVIL: value, "y": {"enum": [EVIL], "description": value}}}
    )
    for args in (("ls",), ("ls", "--json"), ("show", "x"), ("show", "x", "--json")):
        done = foreign.run_command("kinds", *args)
        assert (done.exit_code, harmless(done.stdout)) == (0, True), args


def test_without_the_guard_it_would_not_be(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage."""
    monkeypatch.setattr(kinds, "clean", lambda text, most=0: str(text))
    foreign.replies["GET /.well-known/openwop"] = CannedResponse(200, {"supportedEnvelopes": []})
    foreign.replies["GET /schemas/envelopes/x.schema.json"] = CannedResponse(200, {"description": EVIL})
    assert not harmless(foreign.run_command("kinds", "show", "x").stdout)
