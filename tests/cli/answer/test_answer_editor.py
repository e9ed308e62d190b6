"""An approval at a terminal where what is approved is changed in an editor."""

import json
import sys
from pathlib import Path

from tests.cli.answer.test_answer import GATE, asks, sent
from tests.cli.answer.test_answer_terminal import sit_down, talk
from tests.cli.foreign_host import ForeignHost


def editor(folder: Path, *texts: str) -> str:
    """An editor that writes these texts, one each time it is opened, and keeps what it was given."""
    script = folder / "editor.py"
    script.write_text(
        "import sys, pathlib\n"
        f"here, texts = pathlib.Path({str(folder)!r}), {list(texts)!r}\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "seen = sorted(here.glob('seen*'))\n"
        "(here / f'seen{len(seen)}').write_bytes(file.read_bytes())\n"
        "file.write_text(texts[len(seen)], 'utf-8')\n",
        "utf-8",
    )
    return f"{sys.executable} {script}"


def test_an_artifact_is_changed_in_an_editor(foreign: ForeignHost, tmp_path: Path) -> None:
    artifact = {"text": "Dear Ada\x9b1m\u202e", "who": "Zoë"}
    asks(foreign, {**GATE, "data": {**GATE["data"], "artifactData": artifact}})
    program = editor(tmp_path, '{"text": oops', '{"text": "Dear Grace"}')
    code = talk(
        sit_down(foreign, tmp_path, EDITOR=program, VISUAL=""),
        ("5) ask", "edit-accept\n"),
        ("Edit it again? [y/N]", "y\n"),
        ("comment (may be left out) > ", "\n"),
        ("[y/N] > ", "y\n"),
    )
    assert code == 0
    assert sent(foreign) == {"action": "edit-accept", "editedArtifactData": {"text": "Dear Grace"}}
    first = (tmp_path / "seen0").read_text("utf-8")
    assert json.loads(first) == artifact
    assert "Zoë" in first
    assert all(each.isprintable() or each == "\n" for each in first)


def test_an_artifact_that_is_not_changed_is_not_sent(foreign: ForeignHost, tmp_path: Path) -> None:
    asks(foreign, {**GATE, "data": {**GATE["data"], "artifactData": "Dear Ada"}})
    terminal = sit_down(foreign, tmp_path, EDITOR=editor(tmp_path, "Dear Ada\n", "Dear Bob\n"), VISUAL="")
    code = talk(
        terminal,
        ("5) ask", "edit-accept\n"),
        ("nothing was changed", "edit-accept\n"),
        ("comment (may be left out) > ", "\n"),
        ("[y/N] > ", "y\n"),
    )
    assert code == 0
    assert sent(foreign)["editedArtifactData"] == "Dear Bob"
