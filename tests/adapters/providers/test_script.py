"""Scripts: files that say what is answered, and what is answered without one."""

from pathlib import Path

import msgspec
import pytest

from tests.adapters.providers.provider_calls import generate_text, model_request, run
from weftwork.adapters.providers.script import Script, ScriptError, read_script
from weftwork.adapters.providers.scripted import ScriptedProvider, ScriptPlayer
from weftwork.ports.models import Message, ModelRequest
from weftwork.settings import Settings, SettingsError
from weftwork.testing import ManualClock
from weftwork.wiring.models import build_providers

JSON = '{"default": "Nothing to add.", "nodes": {"n": ["one", {"content": "two", "stopReason": "length"}]}}'
TOML = 'default = "Nothing to add."\n[nodes]\nn = ["one", {content = "two", stopReason = "length"}]\n'


@pytest.mark.parametrize(("name", "text"), [("a.json", JSON), ("a.toml", TOML), ("script", JSON)])
async def test_a_list_of_a_node_begins_anew_in_every_run_and_at_its_end(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    provider = ScriptedProvider(ManualClock(), ScriptPlayer(read_script(tmp_path / name)))

    async def said(run_id: str, node: str = "n", partition: str = "") -> str:
        return await generate_text(provider, model_request(node=node, run_id=run_id, partition=partition))

    assert [await said("r1"), await said("r1"), await said("r2"), await said("r1")] == ["one", "two", "one", "one"]
    assert await said("r2", partition="other") == "one"
    assert await said("r1", "other") == "Nothing to add."


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not valid JSON"),
        ('{"nodes": {"n": "one"}}', "the node 'n': takes a list of answers"),
        ('{"nodes": {"m": ["x"], "n": ["x", {"contnet": "one"}]}}', "the node 'n', answer 2: .*contnet"),
        ('{"nodes": []}', "nodes"),
        ('{"default": {"contnet": "one"}}', "`default`: .*contnet"),
        ('{"nods": {}}', "nods"),
        ('{"default": 1}', "Expected"),
        ('{"default": "a", "default": "b"}', "repeats"),
        ("[]", "Expected `object`"),
    ],
)
def test_a_script_that_cannot_be_used_is_named(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "script.json"
    file.write_text(text)
    with pytest.raises(ScriptError, match=reason) as caught:
        read_script(file)
    assert str(file) in str(caught.value)
    with pytest.raises(SettingsError, match="--model-script "):
        build_providers(Settings(model_script=str(file)), ManualClock())


def test_a_script_that_is_not_there_or_no_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r"cannot read .*none.json: No such file"):
        read_script(tmp_path / "none.json")
    (tmp_path / "a.yaml").write_text("nodes:")
    with pytest.raises(ScriptError, match=r"a.yaml: .*not valid JSON.* ends with .toml"):
        read_script(tmp_path / "a.yaml")
    (tmp_path / "a.toml").write_text("a =")
    (tmp_path / "b.toml").write_bytes(b"\xff")
    for name in ("a.toml", "b.toml"):
        with pytest.raises(ScriptError, match="not valid TOML"):
            read_script(tmp_path / name)


async def test_the_settings_bring_the_script(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(JSON)
    models, _ = build_providers(Settings(model_script=str(tmp_path / "a.json")), ManualClock())
    request = model_request()
    assert (await generate_text(models.find(request), request)) == "one"


@pytest.mark.rule("model-14")
def test_without_a_script_an_answer_says_what_it_is_and_what_was_said() -> None:
    provider = ScriptedProvider(ManualClock())
    told = "(scripted) No model is connected to this host."
    assert run(generate_text(provider, model_request(" What\n is  it? "))) == f"{told} You said: What is it?"
    assert run(generate_text(provider, ModelRequest("", "", ()))) == told
    assert run(generate_text(provider, model_request("x" * 500))) == f"{told} You said: {'x' * 200} ..."
    last = (Message("user", "first"), Message("user", "second"), Message("assistant", "third"))
    assert run(generate_text(provider, ModelRequest("", "", last))) == f"{told} You said: second"


@pytest.mark.rule("model-14")
async def test_without_a_script_a_wanted_schema_is_met() -> None:
    schema = {"type": "object", "required": ["valid"], "properties": {"valid": {"type": "boolean"}}}
    said = await generate_text(ScriptedProvider(ManualClock()), model_request(response_schema=schema))
    assert msgspec.json.decode(said) == {"valid": True}


def test_an_empty_list_is_no_list() -> None:
    assert Script({"n": ()}).entry_for(model_request("hey"), 0).text.endswith("You said: hey")
