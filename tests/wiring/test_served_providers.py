"""Model providers of a real host: from a class, from the settings file, and none at all."""

import json
from pathlib import Path
from typing import Any

from tests.docs.pages import ROOT, blocks
from tests.live import Host, start_host, until
from weftwork.protocol.envelopes.kinds import UNIVERSAL_KINDS
from weftwork.testing.model_server import ModelReply, ModelServer

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


KEY = "sk-canary-of-the-acme-provider"
SERVER = """
[providers.acme]
type = "openai-compatible"
base_url = "{url}"
credential = "env:ACME_KEY"
allow_private_network = true
[[providers.acme.models]]
name = "tiny"
price = {{ input = 1.0, output = 2.0 }}
"""


def test_a_model_server_of_the_settings_answers_and_a_node_waits_while_it_is_down(tmp_path: Path) -> None:
    reply = ModelReply("Hello.", input_tokens=100, output_tokens=50)
    server, flows = ModelServer(default=reply, key=KEY), folder_with(tmp_path)
    with server:
        # Now the server has a port, which it keeps.
        (tmp_path / "w.toml").write_text(SERVER.format(url=server.base_url))
    arguments = ("--config", tmp_path / "w.toml", "--workflows", flows)
    with start_host(tmp_path, *arguments, env={"ACME_KEY": KEY}, cwd=tmp_path) as host:
        with server:
            events = host.log(host.create("ask"))
        assert events[-1]["payload"]["outputs"]["ask"]["content"] == "Hello."
        (usage,) = [event["payload"] for event in events if event["type"] == "provider.usage"]
        assert usage["costEstimateUsd"] == 0.0002
        run_id = host.create("ask")
        waits = until(lambda: host.snapshot(run_id)["nodeStates"]["ask"].get("waitsFor"), "the node to wait")
        assert (waits["provider"], waits["code"]) == ("acme", "provider_unavailable")
        with server:
            assert host.log(run_id)[-1]["payload"]["outputs"]["ask"]["content"] == "Hello."
        assert len(server.calls) == 2
        assert KEY not in host.errors + host.output + json.dumps([events, host.log(run_id)])
