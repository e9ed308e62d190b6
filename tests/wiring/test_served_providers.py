"""Model providers of a real host: from a class, from the settings file, and none at all."""

import json
from pathlib import Path
from typing import Any

from tests.docs.pages import ROOT, blocks
from tests.live import Host, start_host
from weftwork.protocol.envelopes.kinds import UNIVERSAL_KINDS

TABLES = """
[providers.play]
type = "scripted"
script = "script.toml"
[[providers.play.models]]
name = "tiny"
input = ["text", "audio"]
[providers.other]
type = "scripted"
"""


def ask(**config: Any) -> dict[str, Any]:
    node = {
        "id": "ask",
        "typeId": "core.ai.callPrompt",
        "name": "Ask",
        "position": {"x": 0, "y": 0},
        "config": {"prompt": "Ada", **config},
        "inputs": {},
    }
    empty: dict[str, Any] = {"edges": [], "triggers": [], "variables": [], "metadata": {}, "settings": {}}
    return {"id": "ask", "name": "Ask", "version": "1.0", "nodes": [node], **empty}


def end_of_run(host: Host, **configurable: Any) -> dict[str, Any]:
    return host.log(host.create("ask", configurable=configurable))[-1]["payload"]


def folder_with(tmp_path: Path, **config: Any) -> Path:
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "ask.json").write_text(json.dumps(ask(**config)))
    return tmp_path / "flows"


def discovery(host: Host) -> dict[str, Any]:
    return host.call("GET", "/.well-known/openwop").document


def test_the_provider_of_the_guide_answers_under_serve(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "write-a-provider.md").read_text("utf-8")
    first = next(block.code for block in blocks(page) if "spelling.py" in block.code)
    (tmp_path / "spelling.py").write_text(first.partition("<<'END'\n")[2].partition("END\n")[0])
    with start_host(
        tmp_path, "--provider", "spelling:Spelling", "--workflows", folder_with(tmp_path), cwd=tmp_path
    ) as host:
        assert "  models     spelling/spelling-1\n" in host.output
        assert end_of_run(host)["outputs"]["ask"]["content"] == "Ada"
        assert discovery(host)["aiProviders"]["supported"] == ["spelling"]


def test_without_a_provider_a_run_fails_and_says_what_to_write(tmp_path: Path) -> None:
    with start_host(tmp_path, "--workflows", folder_with(tmp_path), cwd=tmp_path) as host:
        assert "  models     none; nodes that call a model fail (docs/how-to/use-your-own-model.md)\n" in host.output
        failed = end_of_run(host)
        assert failed["error"]["code"] == "provider_not_supported"
        assert "[providers.NAME]" in failed["error"]["message"]
        found = discovery(host)
        assert set(UNIVERSAL_KINDS) <= set(found["supportedEnvelopes"])
        assert found["aiProviders"]["supported"] == []
        assert "input" not in found["aiProviders"]


def test_the_models_of_the_settings_are_listed_and_chosen(tmp_path: Path) -> None:
    (tmp_path / "script.toml").write_text('default = "hi"')
    (tmp_path / "w.toml").write_text(TABLES)
    flows = folder_with(tmp_path)
    with start_host(tmp_path, "--config", tmp_path / "w.toml", "--workflows", flows, cwd=tmp_path) as host:
        assert "  models     play/tiny (accepts text, audio)\n" in host.output
        assert "             other/scripted-1 (accepts text, image, audio, document)\n" in host.output
        assert discovery(host)["aiProviders"]["supported"] == ["play", "other"]
        assert discovery(host)["aiProviders"]["input"]["modalities"] == ["text", "image", "audio", "document"]
        assert end_of_run(host)["outputs"]["ask"]["content"] == "hi"
        other = end_of_run(host, ai={"provider": "other", "model": "any"})
        assert other["outputs"]["ask"]["content"].endswith("You said: Ada")
        assert end_of_run(host, model="tinny")["error"]["code"] == "model_not_supported"


def test_a_host_for_conformance_tests_says_that_it_has_a_mock(tmp_path: Path) -> None:
    with start_host(tmp_path, "--conformance") as host:
        text = "mock/mock-mini (accepts text, image, audio, document), a mock for conformance tests"
        assert f"  models     {text}\n" in host.output
