"""`weftwork surface`: forms as A2UI messages and back, what is lost, and what each problem exits with."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from tests.harness.cases import each_case
from tests.protocol.envelopes.sample_envelopes import COMPONENTS
from weftwork import a2ui
from weftwork.cli.commands import surface
from weftwork.cli.main import main

PAYLOAD: dict[str, Any] = {"catalogVersion": "0.9.1", "surface": {"title": "Trip", "components": COMPONENTS}}
EVIL = "\x1b[31mred\x1b]0;title\x07"


def run(*args: str, given: Any = None) -> Result:
    data = given if isinstance(given, bytes) else (given if isinstance(given, str) else json.dumps(given)).encode()
    done = CliRunner().invoke(main, ["surface", *args], input=data)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def lines(*messages: Any) -> bytes:
    return a2ui.encode_messages(messages)


MESSAGES = a2ui.to_messages(PAYLOAD, surface_id="surface-1")
REFUSED = [{"version": "v1.0", "createSurface": {"surfaceId": "s", "catalogId": "x"}}]


def test_a_form_is_exported_and_imported_again() -> None:
    done = run("export", "-", given=PAYLOAD)
    assert done.exit_code == 0
    assert [json.loads(line) for line in done.stdout.splitlines()] == MESSAGES
    assert done.stderr.splitlines() == [
        "-: /surface/components/2/placeholder: loss: The basic catalogue has no placeholder; "
        "it became the accessible description."
    ]
    assert json.loads(run("export", "-", "--json", given=PAYLOAD).stdout) == MESSAGES
    back = run("import", "-", given=done.stdout)
    assert (back.exit_code, back.stderr, json.loads(back.stdout)) == (0, "", PAYLOAD)


@each_case(
    "given",
    {"payload": PAYLOAD},
    {"type": "ui.a2ui-surface", "schemaVersion": 1, "payload": PAYLOAD},
    json.dumps(PAYLOAD, indent=2),
    [PAYLOAD],
)
def test_a_form_is_found_in_the_document_around_it(given: Any) -> None:
    assert run("export", "-", given=given).stdout.encode() == lines(*MESSAGES)


def test_the_options_of_the_export_arrive() -> None:
    done = run(
        "export", "-", "--surface-id", "s7", "--catalog", "openwop", "--a2ui-version", "0.9", "--agent-name", "Planner",
        "--untrusted", "--partial", given=PAYLOAD,
    )  # fmt: skip
    assert (done.exit_code, done.stderr) == (0, "")
    assert [json.loads(line) for line in done.stdout.splitlines()] == a2ui.to_messages(
        PAYLOAD, surface_id="s7", catalog="openwop", version="0.9", agent_display_name="Planner",
        content_trust="untrusted", partial=True,
    )  # fmt: skip
    starred = {"catalogVersion": "0.9.1", "surface": {"components": [{"component": "text", "text": "*"}]}}
    assert '"*"' in run("export", "-", "--escape", "none", given=starred).stdout


@each_case("given", MESSAGES, {"messages": MESSAGES}, lines(*MESSAGES), b"\n\n" + lines(*MESSAGES) + b"\n")
def test_messages_are_read_in_each_form(given: Any) -> None:
    done = run("import", "-", "--json", given=given)
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {"payload": PAYLOAD, "diagnostics": []}


def test_a_refused_stream_says_where_and_why() -> None:
    done = run("import", "-", given=lines(*REFUSED))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("-: /0/version: error: The version must be v0.9 or v0.9.1.")
    told = run("import", "-", "--json", given=REFUSED)
    document = json.loads(told.stdout)
    assert (told.exit_code, document["payload"]) == (1, None)
    first = document["diagnostics"][0]
    assert (first["code"], first["path"], first["loss"]) == ("VALIDATION_FAILED", "/0/version", False)


def test_one_of_several_surfaces_is_imported() -> None:
    both = [*MESSAGES, *a2ui.to_messages(PAYLOAD, surface_id="s2")]
    assert "name one of them" in run("import", "-", given=both).stderr
    assert json.loads(run("import", "-", "--surface-id", "s2", given=both).stdout) == PAYLOAD


def test_lint_reads_forms_and_messages(tmp_path: Path) -> None:
    form, stream, broken = tmp_path / "form.json", tmp_path / "stream.jsonl", tmp_path / "broken.jsonl"
    form.write_text(json.dumps({"payload": PAYLOAD}))
    stream.write_bytes(lines(*MESSAGES))
    broken.write_bytes(lines(*MESSAGES)[:-20])
    done = run("lint", str(form), str(stream))
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0].startswith(f"{form}: /surface/components/2/placeholder: loss: ")
    assert done.stdout.splitlines()[1] == f"{stream}: ok"
    assert run("lint", "--strict", str(form)).exit_code == 1
    assert run("lint", "--strict", str(stream)).exit_code == 0
    done = run("lint", "--json", str(broken), str(stream))
    assert done.exit_code == 1
    (row,) = json.loads(done.stdout)
    assert row["file"] == str(broken)
    assert row["message"].startswith("Line 3: The document is not valid JSON")
    assert row["loss"] is False


@each_case(
    "document, path",
    ({"surface": {"components": []}}, "/"),
    (
        {"catalogVersion": "0.9.1", "surface": {"components": [{"component": "image"}]}},
        "/surface/components/0",
    ),
    ({"payload": {"catalogVersion": "1.0", "surface": {"components": []}}}, "/payload/catalogVersion"),
    (
        {"catalogVersion": "0.9.1", "surface": {"components": [COMPONENTS[-1], COMPONENTS[-1]]}},
        "/surface/components/1/id",
    ),
)
def test_a_form_that_no_host_accepts_is_an_error(document: Any, path: str) -> None:
    done = run("lint", "-", given=document)
    assert done.exit_code == 1
    assert any(line.startswith(f"-: {path}: error: must ") for line in done.stdout.splitlines()), done.stdout
    refused = run("export", "-", given=document)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "`weftwork surface lint` lists all problems" in refused.stderr


@each_case(
    "command, given, text",
    ("export", "{", "not valid JSON"),
    ("import", "{", "not valid JSON"),
    ("import", lines({}, {}) + b"{", "Line 3: The document is not valid JSON"),
    ("export", [PAYLOAD, PAYLOAD], "expected one surface"),
    ("export", 7, "/ must be"),
    ("import", 7, "A message must be an object"),
    ("import", "x" * (surface.MAX_FILE + 1), "more than 1048576 bytes"),
    ("import", b'\xff{"a": 1}', "not valid UTF-8"),
)
def test_what_is_not_read_says_why(command: str, given: Any, text: str) -> None:
    done = run(command, "-", given=given)
    assert (done.exit_code, done.stdout) == (1, "")
    assert text in done.stderr


def test_a_file_that_is_not_there_exits_with_2(tmp_path: Path) -> None:
    for command in ("export", "import", "lint"):
        done = run(command, str(tmp_path / "none.json"))
        assert done.exit_code == 2
        assert "cannot be read: No such file or directory" in done.stderr


def test_no_text_of_a_file_reaches_the_terminal_unchanged() -> None:
    hostile = [{"version": "v0.9", "createSurface": {"surfaceId": EVIL, "catalogId": EVIL, EVIL: 1}}, {EVIL: EVIL}]
    for command in ("import", "lint"):
        done = run(command, "-", given=hostile)
        assert "\x1b" not in done.output
        assert "\x07" not in done.output
    text = {"catalogVersion": "0.9.1", "surface": {"components": [{"component": "text", "text": EVIL}]}}
    assert "\x1b" not in run("export", "-", given=text).output


def test_each_command_says_how_it_is_used() -> None:
    for command in ("export", "import", "lint"):
        done = run(command, "--help")
        assert done.exit_code == 0
        assert f"weftwork surface {command}" in done.stdout
