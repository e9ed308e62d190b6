"""`weftwork envelope`: the gate explained, without a host and without a word of the payload."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.cli.commands.test_runs import EVIL, harmless
from tests.cli.foreign_host import CannedResponse, ForeignHost, run_command
from tests.harness.cases import each_case
from tests.live import Host, start_host, weftwork
from tests.live.envelopes import PAYLOADS, UNIVERSAL, VENDOR, envelope
from weftwork.cli.commands import envelope as kinds
from weftwork.cli.main import main
from weftwork.protocol.envelopes import gate as acceptor
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, DISPLAY_KINDS, UNIVERSAL_KINDS

STEPS = [name for name, _ in acceptor.STEPS]
SECRET = "sk-canary-4711"
PLAN = {"x-version": 2, "type": "object", "required": ["steps"], "properties": {"steps": {"type": "array"}}}


def run(*args: str, given: Any = None, **env: str) -> Result:
    text = given if isinstance(given, str) else json.dumps(given)
    done = CliRunner(env=env).invoke(main, ["envelope", *args], input=text)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def accept(document: Any, *args: str, **env: str) -> Result:
    return run("accept", "-", *args, given=document, **env)


@each_case("kind", *([kind for kind in PAYLOADS if kind != VENDOR]))
def test_an_accepted_one_passes_every_step(kind: str) -> None:
    done = accept(envelope(kind))
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines[:-1]] == [["ok", step] for step in STEPS]
    assert lines[-1] == "accepted"


REFUSED: list[tuple[str, dict[str, Any], tuple[str, ...], str]] = [
    ("shape", {**envelope("error"), "more": SECRET}, (), "invalid"),
    ("shape", envelope("error", meta={"ts": SECRET}), (), "invalid"),
    ("kind", envelope(VENDOR, SECRET), ("--supported", "vendor.acme.other"), "gated"),
    ("payload", envelope("error", {"code": SECRET}), (), "invalid"),
    ("payload", envelope("error", schemaVersion=0), ("--strict",), "invalid"),
    ("contract", envelope(VENDOR, SECRET), ("--node-accepts", "vendor.acme.other"), "gated"),
    ("trust", envelope(VENDOR, SECRET), ("--approval", "--untrusted"), "invalid"),
]


@each_case("step, document, args, status", *REFUSED)
def test_a_refused_one_says_where_and_why(
    step: str, document: dict[str, Any], args: tuple[str, ...], status: str
) -> None:
    done = accept(document, *args)
    lines = done.stdout.splitlines()
    at = STEPS.index(step)
    assert done.exit_code == 1
    assert [line.split()[:2] for line in lines[:at]] == [["ok", each] for each in STEPS[:at]]
    assert lines[at].split()[:2] == ["fail", step]
    assert len(lines[at].split()) > 2
    assert lines[-1] == status
    assert f"skipped steps: {', '.join(STEPS[at + 1 :])}" in lines
    assert SECRET not in done.output
    told = accept(document, *args, "--json")
    found = json.loads(told.stdout)
    assert (told.exit_code, found["outcome"]["status"]) == (1, status)
    assert [each["passed"] for each in found["steps"]] == [True] * at + [False]
    assert SECRET not in told.output


def test_the_same_is_accepted_without_the_rule_that_refused_it() -> None:
    for step, document, args, _ in REFUSED:
        if args:
            assert accept(document).exit_code == 0, step
    for kind in UNIVERSAL:
        args = ("--supported", VENDOR, "--node-accepts", VENDOR)
        assert accept(envelope(kind), *args).exit_code == 0
    assert accept(envelope(VENDOR), "--supported", VENDOR, "--node-accepts", VENDOR).exit_code == 0
    assert accept(envelope(VENDOR), "--untrusted").exit_code == 0
    assert accept(envelope(VENDOR), "--approval").exit_code == 0


def test_every_broken_rule_is_listed() -> None:
    done = accept(envelope("clarification.request", {"questions": [{"id": "", "question": ""}]}))
    assert "/payload/questions/0/id" in done.stdout
    assert "/payload/questions/0/question" in done.stdout


@pytest.mark.rule("env-16")
def test_a_malformed_piece_is_refused_at_its_place() -> None:
    for partial, place in ((False, "/partial"), ({"isPartial": True, "index": "0", "total": 2}, "/partial/index")):
        done = accept({**envelope("error"), "partial": partial})
        assert (done.exit_code != 0, f"invalid_envelope_shape: {place} must be of type" in done.stdout) == (True, True)


def test_what_a_run_fills_in_is_filled_in_on_request() -> None:
    bare = {"type": "error", "payload": PAYLOADS["error"]}
    done = accept(bare)
    assert done.exit_code == 1
    assert "--fill" in done.stderr
    assert accept(bare, "--fill").exit_code == 0
    outcome = json.loads(accept(bare, "--fill", "--untrusted", "--json").stdout)["outcome"]
    assert outcome["normalizedMeta"] == {"contentTrust": "untrusted"}
    assert accept([], "--fill").exit_code == 1


def test_a_payload_is_printed_only_on_request_and_without_secrets() -> None:
    document = envelope("error", {"code": "the-code", "message": f"it is {SECRET}"})
    env, args = {"ACME": SECRET}, ("--secret", "acme=ACME")
    assert "the-code" not in accept(document, *args, **env).output
    assert "redactedPayload" not in accept(document, *args, "--json", **env).stdout
    for more in (("--payload",), ("--payload", "--json")):
        said = accept(document, *args, *more, **env).stdout
        assert "the-code" in said
        assert "it is [REDACTED:acme]" in said
        assert SECRET not in said
    assert json.loads(accept(document, *args, "--json", **env).stdout)["outcome"]["redactionCount"] == 1
    assert "Secrets replaced in the payload: 1" in accept(document, *args, **env).stdout
    refused = accept(envelope("error", {"code": SECRET}), "--payload", *args, **env)
    assert (refused.exit_code, SECRET in refused.output) == (1, False)


@each_case("secret", "acme", "acme=", "=ACME", "acme=NOBODY_HAS_SET_THIS")
def test_a_secret_that_cannot_be_had_is_said(secret: str) -> None:
    done = accept(envelope("error"), "--secret", secret, ACME="x")
    assert (done.exit_code, "--secret" in done.stderr) == (2, True)


def test_kinds_of_files_are_known_too(tmp_path: Path) -> None:
    (tmp_path / f"{VENDOR}.schema.json").write_text(json.dumps(PLAN), "utf-8")
    known = ("--envelope-kinds", str(tmp_path))
    bad = envelope(VENDOR, {"steps": 5}, schemaVersion=2)
    assert accept(bad).exit_code == 0
    assert "/payload/steps" in accept(bad, *known).stdout
    assert accept(bad, *known).exit_code == 1
    assert accept(envelope(VENDOR, schemaVersion=3), *known).exit_code == 1
    assert f"{VENDOR}       2        custom" in run("kinds", *known).stdout
    assert json.loads(run("schema", VENDOR, *known).stdout)["required"] == ["steps"]
    assert run("kinds", "--envelope-kinds", str(tmp_path / "nothing")).exit_code == 2


def test_the_kinds_of_the_package_need_no_host() -> None:
    rows = [line.split()[0] for line in run("kinds").stdout.splitlines()]
    assert rows == ["kind", *BUILTIN_KINDS.names]
    words = [line.split(maxsplit=2)[2] for line in run("kinds").stdout.splitlines()[1:]]
    assert set(words) == {"universal, always accepted", "protocol"}
    listed = json.loads(run("kinds", "--json").stdout)["kinds"]
    assert [each["kind"] for each in listed if each["universal"]] == list(UNIVERSAL)
    for name in BUILTIN_KINDS.names:
        kind = BUILTIN_KINDS.find(name)
        assert kind is not None
        assert json.loads(run("schema", name).stdout) == kind.schema
    none = run("schema", EVIL)
    assert (none.exit_code, harmless(none.stderr)) == (1, True)
    assert "weftwork envelope kinds" in none.stderr


@each_case("text", "", "{", "[1,]", '{"a":1,"a":2}', '{"a":NaN}', "\x00")
def test_what_is_no_json_is_placed(text: str) -> None:
    done = accept(text)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "-:1:" in done.stderr


def test_files_are_read_and_missed(tmp_path: Path) -> None:
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(envelope("error")), "utf-8")
    done = weftwork(tmp_path, "envelope", "accept", file)
    assert (done.returncode, done.stdout.splitlines()[-1], done.stderr) == (0, "accepted", "")
    for unreadable in (tmp_path / "other.json", tmp_path):
        missing = weftwork(tmp_path, "envelope", "accept", unreadable)
        assert (missing.returncode, missing.stdout, "cannot be read" in missing.stderr) == (2, "", True)


def test_names_that_a_model_chose_move_no_cursor() -> None:
    document = envelope(VENDOR, {EVIL: EVIL}, type=EVIL, envelopeId=EVIL, correlationId=EVIL, meta={"label": EVIL})
    for args in ((), ("--node-accepts", "x"), ("--supported", "x"), ("--payload",), ("--json", "--payload")):
        assert harmless(accept(document, *args).output)


def test_the_command_shows_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    document = envelope(VENDOR)
    assert accept(document, "--node-accepts", "x").exit_code == 1
    monkeypatch.setattr(acceptor, "STEPS", tuple(each for each in acceptor.STEPS if each[0] != "contract"))
    done = accept(document, "--node-accepts", "x")
    assert (done.exit_code, "contract" in done.stdout) == (0, False)


PLAN_SCHEMA = {
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
    file.write_text(json.dumps(PLAN_SCHEMA))
    with start_host(folder, "--envelope-kinds", str(file)) as running:
        yield running


def asked(host: Host, *args: str) -> Result:
    """Without a key: whoever can reach the host may ask."""
    return run_command(host.address, *args, key=None)


@pytest.mark.rule("env-44")
def test_the_kinds_of_a_host(host: Host) -> None:
    discovery = host.call("GET", "/.well-known/openwop").document
    assert discovery["supportedEnvelopes"] == [*UNIVERSAL_KINDS, *DISPLAY_KINDS, "vendor.acme.plan"]
    assert discovery["schemaVersions"] == {
        **dict.fromkeys((*UNIVERSAL_KINDS, *DISPLAY_KINDS), 1),
        "vendor.acme.plan": 2,
    }
    listed = asked(host, "kinds", "ls")
    assert [line.split() for line in listed.stdout.splitlines()] == [
        ["kind", "version", "origin"],
        *([name, "1", "protocol"] for name in (*UNIVERSAL_KINDS, *DISPLAY_KINDS)),
        ["vendor.acme.plan", "2", "host"],
    ]
    rows = json.loads(asked(host, "kinds", "ls", "--json").stdout)["kinds"]
    assert rows[-1] == {"kind": "vendor.acme.plan", "version": 2, "origin": "host"}


def test_one_kind(host: Host) -> None:
    told = asked(host, "kinds", "show", "vendor.acme.plan").stdout
    for said in (
        "version  2",
        "What is to be done.",
        "steps  array of string",
        "required",
        "other members are allowed",
    ):
        assert said in told
    served = json.loads(asked(host, "kinds", "show", "vendor.acme.plan", "--json").stdout)
    assert served["properties"] == PLAN_SCHEMA["properties"]
    assert "questions" in asked(host, "kinds", "show", "clarification.request").stdout
    assert "version  1" in asked(host, "kinds", "show", "ui.a2ui-surface").stdout


def test_a_kind_that_is_not_there(host: Host) -> None:
    missed = asked(host, "kinds", "show", "vendor.acme.pla")
    assert missed.exit_code == 1
    assert "no schema for the envelope kind vendor.acme.pla; did you mean vendor.acme.plan?" in missed.stderr
    other = asked(host, "kinds", "show", "../x")
    assert "`weftwork kinds ls` lists the kinds of the host" in other.stderr


@pytest.mark.parametrize("answer", [{}, [], {"supportedEnvelopes": 7}, None])
def test_a_host_that_lists_none(foreign: ForeignHost, answer: Any) -> None:
    foreign.replies["GET /.well-known/openwop"] = CannedResponse(200, answer)
    result = foreign.run_command("kinds", "ls")
    assert result.exit_code == 1
    assert "without `supportedEnvelopes`" in result.stderr


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
