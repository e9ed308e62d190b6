"""`weftwork models`: what is listed, and how a model is tried, without a host."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.cli.commands.test_runs import EVIL, harmless
from tests.harness.cases import each_case
from weftwork.cli.commands import models
from weftwork.cli.main import main
from weftwork.ports.models import AnswerEnd, Delta, GeneratedMedia, ModelRequest, ProviderFault
from weftwork.protocol.models.answers import TokenUsage
from weftwork.protocol.models.model_catalogue import ModelInfo, ModelPrice

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
SETTINGS = """
[providers.play]
type = "scripted"
[[providers.play.models]]
name = "org/tiny"
capabilities = ["structured-output", "vision-input"]
max_output_tokens = 4096
price = { input = 1.5, output = 4, cached_input = 0.5 }
[[providers.play.models]]
name = "plain"
"""


class Down:
    name = "down"
    default_model = "d-1"

    async def check(self) -> None:
        raise ProviderFault("provider_unavailable", "The server refused the connection.")

    async def generate(self, request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd]:
        raise ProviderFault("provider_unavailable", "The server refused the connection.", wait_ms=90_000)
        yield AnswerEnd("stop")


class Slow(Down):
    name = "slow"

    async def check(self) -> None:
        await asyncio.Event().wait()


class Rich:
    """An answer with everything that it can have."""

    name = "rich"
    default_model = "r-1"
    models = (ModelInfo("r-1", price=ModelPrice(1000, 2000, 0)),)

    async def generate(self, request: ModelRequest) -> AsyncGenerator[Delta | GeneratedMedia | AnswerEnd]:
        yield Delta("")
        yield Delta(f"two\nlines\t{EVIL}")
        yield GeneratedMedia("image", PNG)
        call = {"id": "c", "name": f"pay{EVIL}", "arguments": "{}"}
        yield AnswerEnd("content-filter", TokenUsage(1200, 3, 200), "", "", f"No.{EVIL}", None, (call,))


class Endless(Rich):
    async def generate(self, request: ModelRequest) -> AsyncGenerator[Delta | GeneratedMedia | AnswerEnd]:
        yield Delta("a")


def run(folder: Path, *args: str, code: int = 0) -> Result:
    (folder / "weftwork.toml").write_text(SETTINGS)
    done = CliRunner().invoke(main, ["models", *args, "--config", str(folder / "weftwork.toml")])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == code, done.output
    return done


def own(name: str) -> tuple[str, str]:
    return "--provider", f"{__name__}:{name}"


def test_models_are_listed_with_what_they_can_and_cost(tmp_path: Path) -> None:
    done = run(tmp_path, "ls", *own("Down"))
    head, *rows = (line.split("  ") for line in done.stdout.splitlines())
    assert [each.strip() for each in head if each] == list(models.MODEL_COLUMNS)
    cells = [[each.strip() for each in row if each.strip()] for row in rows]
    assert cells == [
        ["down/d-1", "fail", "text"],
        ["play/org/tiny", "ok", "text, image", "4,096", "$1.5 in, $4 out", "structured-output, vision-input"],
        ["play/plain", "ok", "text"],
    ]
    assert done.stderr == "down: provider_unavailable: The server refused the connection.\n"


def test_the_list_is_the_default_and_has_a_json_form(tmp_path: Path) -> None:
    (folder := tmp_path / "data").mkdir()
    (folder / "weftwork.toml").write_text(SETTINGS)
    done = CliRunner().invoke(main, ["models", "--data", str(folder), *own("Down"), "--json"])
    down, play = json.loads(done.stdout)["providers"]
    assert (down["status"], down["error"]["code"], down["defaultModel"]) == ("fail", "provider_unavailable", "d-1")
    assert play == {
        "name": "play",
        "defaultModel": "org/tiny",
        "status": "ok",
        "models": [
            {
                "name": "org/tiny",
                "capabilities": ["structured-output", "vision-input"],
                "input": ["text", "image"],
                "maxOutputTokens": 4096,
                "price": {"input": 1.5, "output": 4.0, "cachedInput": 0.5},
            },
            {"name": "plain", "capabilities": [], "input": ["text"]},
        ],
    }
    assert "Usage: " in CliRunner().invoke(main, ["models", "--help"]).output


def test_a_provider_is_asked_only_if_it_can_be_and_not_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = json.loads(run(tmp_path, "ls", "--no-check", "--json", *own("Down"), *own("Rich")).stdout)
    assert [each["status"] for each in found["providers"]] == ["unknown"] * 3
    monkeypatch.setattr(models, "CHECK_SECONDS", 0.01)
    found = json.loads(run(tmp_path, "ls", "--json", *own("Slow"), *own("Rich")).stdout)
    assert [each["status"] for each in found["providers"]] == ["fail", "unknown", "ok"]


def test_without_providers_the_list_says_what_to_read(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["models", "--data", str(tmp_path)])
    assert (done.exit_code, done.stdout) == (0, "")
    assert "docs/how-to/use-your-own-model.md" in done.stderr


def test_an_answer_is_printed_with_tokens_times_and_cost(tmp_path: Path) -> None:
    done = run(tmp_path, "try", "play/org/tiny", "Greet Ada.")
    assert done.stdout.endswith("You said: Greet Ada.\n")
    model, *parts = done.stderr.strip().replace(": ", "; ", 1).split("; ")
    assert model == "play/org/tiny"
    assert parts[0] == "3 tokens in, 17 out"
    assert parts[1].startswith("first token after ")
    assert parts[2].endswith(" in total")
    assert [each[:8] for each in parts[3:]] == ["$0.00007"]


def test_everything_of_an_answer_is_shown_and_is_harmless(tmp_path: Path) -> None:
    done = run(tmp_path, "try", "rich", "Hi", *own("Rich"))
    assert harmless(done.output.replace("\t", " "))
    assert done.stdout.startswith("two\nlines\t")
    assert "1,200 tokens in (200 cached), 3 out" in done.stderr
    assert all(each in done.stderr for each in ("No.", "pay", "media: image", "ended with content-filter", "$1.006"))
    found = json.loads(run(tmp_path, "try", "rich", "Hi", "--json", *own("Rich")).stdout)
    assert found["text"] == f"two\nlines\t{EVIL}"
    assert (found["provider"], found["model"], found["stopReason"]) == ("rich", "r-1", "content-filter")
    assert (found["inputTokens"], found["outputTokens"], found["cachedTokens"]) == (1200, 3, 200)
    assert (found["costUsd"], found["media"], found["toolCalls"][0]["id"]) == (1.006, ["image"], "c")
    assert found["totalMs"] >= found["firstTokenMs"] >= 0


def test_an_image_is_shown_to_a_model_that_accepts_it(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    done = run(tmp_path, "try", "play", "What is this?", "--image", str(tmp_path / "a.png"))
    assert "image/png (24 bytes)" in done.stdout
    done = run(tmp_path, "try", "play/plain", "What is this?", "--image", str(tmp_path / "a.png"), code=1)
    assert "unsupported_modality: The model does not accept images." in done.stderr
    (tmp_path / "a.txt").write_text("x")
    assert "is not an image" in run(tmp_path, "try", "play", "?", "--image", str(tmp_path / "a.txt"), code=2).stderr


@each_case(
    "model, extra, code, hint",
    ("plai", (), "provider_not_supported", "did you mean play?"),
    ("play/plane", (), "model_not_supported", "did you mean plain?"),
    ("down", own("Down"), "provider_unavailable", "Try again in 1 min 30 s."),
    ("rich", own("Endless"), "provider_unavailable", "ended without its last item"),
)
def test_a_call_that_fails_has_a_code_and_a_hint(
    tmp_path: Path, model: str, extra: tuple[str, ...], code: str, hint: str
) -> None:
    done = run(tmp_path, "try", model, "Hi", *extra, code=1)
    assert code in done.stderr
    assert hint in done.stderr
    done = run(tmp_path, "try", model, "Hi", "--json", *extra, code=1)
    assert json.loads(done.stdout)["error"]["code"] == code


def test_bad_settings_are_reported_as_by_serve(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text("[providers.a]\ntype = 'scriptd'\n")
    for args in (["ls"], ["try", "a", "Hi"]):
        done: Any = CliRunner().invoke(main, ["models", *args, "--config", str(tmp_path / "w.toml")])
        assert done.exit_code == 2
        assert "w.toml:2: providers.a.type: unknown type; did you mean scripted?" in done.stderr
