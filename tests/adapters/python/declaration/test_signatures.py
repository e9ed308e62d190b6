"""Signatures and kinds of envelopes of declared nodes."""

import contextlib
import inspect
import json
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from types import FunctionType
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

import weftwork
from tests.adapters.python.fake_node_host import FakeNodeHost
from tests.adapters.python.test_values import jsons, kinds
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import for_all
from weftwork.adapters.python import node_runner
from weftwork.adapters.python.declaration import node_discovery as module
from weftwork.adapters.python.declaration.decorator import node_of
from weftwork.adapters.python.declaration.envelope_kind import EnvelopeKind
from weftwork.adapters.python.declaration.node_discovery import NodeLoadError, find_envelope_kinds, find_nodes
from weftwork.adapters.python.values import as_json, convert
from weftwork.app import Host
from weftwork.ports.node_outcome import Completed, Failed, Suspended
from weftwork.protocol.envelopes.kinds import UNIVERSAL_KINDS, KindDefinition
from weftwork.protocol.json import schema
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.envelope_kinds import load_kinds

NAMES = ("a", "b", "value")


@st.composite
def signatures(draw: st.DrawFn) -> dict[str, tuple[Any, bool]]:
    """Ports with their types and whether they have a default; those without stand first."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
    optional = draw(st.integers(0, len(names)))
    return {name: (draw(kinds), at >= len(names) - optional) for at, name in enumerate(names)}


def function_of(ports: dict[str, tuple[Any, bool]]) -> Any:
    """An async function that gives back what it was called with."""
    names: dict[str, Any] = {"default": msgspec.UNSET}
    source = ", ".join(f"{name}=default" if optional else name for name, (_, optional) in ports.items())
    exec(f"async def made(ctx, {source}): return dict(locals())", names)
    function = names["made"]
    assert isinstance(function, FunctionType)
    function.__annotations__ = {
        name: kind | msgspec.UnsetType if optional else kind for name, (kind, optional) in ports.items()
    }
    return function


@for_all(100, signatures(), st.dictionaries(st.sampled_from([*NAMES, "other"]), jsons, max_size=4), full=4_000)
def test_a_function_is_called_exactly_with_what_its_schema_takes(
    ports: dict[str, tuple[Any, bool]], inputs: dict[str, Any]
) -> None:
    function = function_of(ports)
    assert list(inspect.signature(function).parameters) == ["ctx", *ports]
    seen: list[dict[str, Any]] = []

    async def called(ctx: Any, **given: Any) -> None:
        seen.append(given)

    try:
        node = node_of(weftwork.node("acme.made")(function))
    except TypeError:
        return
    assert node is not None
    spied = msgspec.structs.replace(
        node, function=called, signature=msgspec.structs.replace(node.signature, return_kind="nothing")
    )
    called.__weftwork_node__ = msgspec.structs.replace(  # type: ignore[attr-defined]
        spied, declaration=msgspec.structs.replace(node.declaration, outputs={"type": "object"})
    )
    fits = schema.check_inline(node.declaration.inputs, inputs, "") == []
    outcome = FakeNodeHost().run(called, **inputs)
    if not fits:
        assert isinstance(outcome, Failed)
        assert outcome.code in ("node_input_invalid", "node_input_missing")
        assert seen == []
        return
    assert outcome == Completed({})
    assert seen == [{name: convert(inputs[name], kind) for name, (kind, _) in ports.items() if name in inputs}]
    assert as_json(seen[0]).keys() <= inputs.keys()


@fails_without(node_runner, "convert", lambda value, kind: value)
def test_what_a_node_does_to_its_inputs_stays_in_it() -> None:
    @weftwork.node("acme.rude")
    async def rude(ctx: Any, items: list[Any], *, config: dict[str, Any]) -> None:
        items[0]["seen"] = True
        config["inner"].append(1)

    items: list[Any] = [{}]
    config: dict[str, Any] = {"inner": []}
    assert FakeNodeHost().run(rude, items=items, config=config) == Completed({})
    assert (items, config) == ([{}], {"inner": []})


@fails_without("weftwork.adapters.python.calls.invocation.Invocation.close", lambda self: None)
def test_a_question_cannot_be_swallowed() -> None:
    @weftwork.node("acme.swallow")
    async def swallow(ctx: weftwork.Context) -> int:
        with contextlib.suppress(BaseException):
            await ctx.interrupt("why")
        return 1

    assert isinstance(FakeNodeHost().run(swallow), Suspended)


@fails_without(node_runner.schema, "check_inline", lambda *_: [])
def test_an_output_that_is_not_declared_does_not_get_out() -> None:
    @weftwork.node("acme.lie")
    async def lie(ctx: Any) -> int:
        return "text"  # type: ignore[return-value]

    assert isinstance(FakeNodeHost().run(lie), Failed)


@fails_without(node_runner, "as_json", lambda value: value)
def test_what_no_log_can_hold_does_not_get_out() -> None:
    @weftwork.node("acme.infinite")
    async def infinite(ctx: Any) -> Any:
        return {"a": float("inf")}

    assert isinstance(FakeNodeHost().run(infinite), Failed)


SCHEMA: dict[str, Any] = {"type": "object", "properties": {"steps": {"type": "array"}}}
KIND = "import weftwork\n\nplan = weftwork.EnvelopeKind('{0}', version={1}, schema={2})\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def schema_file(folder: Path, name: str, document: Any) -> Path:
    return write(folder / f"{name}.schema.json", document if isinstance(document, str) else json.dumps(document))


def vendor(settings: Settings) -> dict[str, int]:
    return {name: version for name, version in load_kinds(settings).advertised.items() if name not in UNIVERSAL_KINDS}


def refusal(**settings: Any) -> str:
    with pytest.raises(SettingsError) as refused:
        load_kinds(Settings(**settings))
    said = str(refused.value)
    assert "\n" not in said
    return said


def test_a_module_with_kinds_alone(module_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(module_folder)
    path = write(module_folder / "kind_module.py", KIND.format("vendor.acme.plan", 2, SCHEMA))
    (kind,) = find_envelope_kinds(["kind_module"], installed=False)
    assert kind.kind == KindDefinition("vendor.acme.plan", 2, SCHEMA, own_schema=True)
    assert kind.place == f"{path}:3"
    assert repr(kind) == "<EnvelopeKind vendor.acme.plan 2>"
    assert find_nodes(["kind_module"], installed=False) == []
    assert vendor(Settings(nodes=("kind_module", "kind_module"))) == {"vendor.acme.plan": 2}
    host = Host(Settings(store="memory", nodes=("kind_module",)))
    assert host.kinds.find("vendor.acme.plan") == kind.kind
    assert load_kinds(Settings(), [kind, kind]).find("vendor.acme.plan") is kind.kind
    monkeypatch.setattr(module, "entry_points", lambda group: [EntryPoint("acme", "kind_module", group)])
    assert vendor(Settings()) == {"vendor.acme.plan": 2}


def test_a_package_with_kinds_below_it_and_a_module_with_nothing(
    module_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imports = "from kind_pack.inner import plan\nfrom their_kinds import plan as other\n"
    write(module_folder / "kind_pack/__init__.py", imports)
    write(module_folder / "kind_pack/inner.py", KIND.format("vendor.acme.plan", 1, SCHEMA))
    write(module_folder / "their_kinds.py", KIND.format("vendor.other.plan", 1, SCHEMA))
    assert vendor(Settings(nodes=("kind_pack",))) == {"vendor.acme.plan": 1}
    # Sabotage: a kind that says it was made where it was only imported.
    (lent,) = find_envelope_kinds(["their_kinds"], installed=False)
    monkeypatch.setattr(lent, "module", "kind_pack")
    assert vendor(Settings(nodes=("kind_pack",))) == {"vendor.acme.plan": 1, "vendor.other.plan": 1}
    write(module_folder / "empty_module.py", "")
    with pytest.raises(NodeLoadError, match="the module empty_module has no nodes"):
        find_nodes(["empty_module"], installed=False)
    assert find_envelope_kinds(["empty_module"], installed=False) == []


def test_types_make_schemas_and_a_schema_is_kept_as_it_was() -> None:
    schema: dict[str, Any] = {"type": "object", "required": ("a",)}
    kind = EnvelopeKind("vendor.acme.plan", schema=schema)
    schema["type"] = "array"
    assert kind.kind.schema == {"type": "object", "required": ["a"]}

    class Plan(msgspec.Struct):
        steps: list[str]

    @dataclass
    class Note:
        text: str

    plan = EnvelopeKind("vendor.acme.plan", schema=Plan)
    assert plan.kind.schema["properties"] == {"steps": {"type": "array", "items": {"type": "string"}}}
    assert plan.kind.schema["required"] == ["steps"]
    assert EnvelopeKind("local.note", schema=Note).kind.schema["properties"] == {"text": {"type": "string"}}


@pytest.mark.rule("env-40")
@each_case(
    "given, error, said",
    ({"name": "plan"}, ValueError, "'plan' cannot be the name of an envelope kind: it must be like vendor.acme.plan"),
    ({"name": "media.image"}, ValueError, "it is a kind of the protocol"),
    ({"name": "prd.create"}, ValueError, "must be like"),
    ({"name": "vendor.weftwork.x"}, ValueError, "it has a reserved prefix"),
    ({"name": 7}, TypeError, "an envelope kind needs a name"),
    ({"version": 0}, ValueError, "must be an integer of 1 or more, not 0"),
    ({"version": True}, ValueError, "must be an integer of 1 or more, not True"),
    ({"schema": []}, TypeError, "the schema of the kind '[a-z.]+' is not an object"),
    ({"schema": {"default": object()}}, TypeError, "the schema of the kind '[a-z.]+' is not JSON"),
    ({"schema": {1: {2, 3}, None: 1}}, TypeError, "the schema of the kind '[a-z.]+' is not JSON"),
    ({"schema": {"default": "\ud800"}}, TypeError, "the schema of the kind '[a-z.]+' is not JSON"),
)
def test_what_cannot_work_is_refused_at_once(given: dict[str, Any], error: type[Exception], said: str) -> None:
    members: Any = {"name": "vendor.acme.plan", "schema": SCHEMA, **given}
    with pytest.raises(error, match=f"{__file__}:[0-9]+: .*{said}"):
        EnvelopeKind(members.pop("name"), **members)


def test_a_module_with_a_wrong_kind_is_told_by_file_and_line(module_folder: Path) -> None:
    path = write(module_folder / "bad_kinds.py", "\n" + KIND.format("media.plan", 1, SCHEMA))
    said = refusal(nodes=("bad_kinds",))
    assert said.startswith(f"--nodes bad_kinds: ValueError: {path}:4: 'media.plan' cannot be") or f"{path}:4: " in said
    schema = {"type": "nothing"}
    path = write(module_folder / "worse_kinds.py", KIND.format("vendor.acme.plan", 1, schema))
    assert refusal(nodes=("worse_kinds",)).startswith(
        f"{path}:3: the kind 'vendor.acme.plan' cannot be registered: at "
    )


@pytest.mark.rule("env-41", "env-42")
def test_files_and_folders(tmp_path: Path) -> None:
    folder = tmp_path / "kinds"
    identified = {**SCHEMA, "$id": "https://acme.example/plan", "x-version": 4}
    schema_file(folder, "vendor.acme.plan", identified)
    schema_file(folder, "prd.create", {})
    write(folder / "notes.json", "{")
    single = schema_file(tmp_path, "local.note", {"x-version": 2})
    kinds = load_kinds(Settings(envelope_kinds=(str(folder), str(single))))
    assert kinds.find("vendor.acme.plan") == KindDefinition("vendor.acme.plan", 4, SCHEMA)
    assert kinds.find("local.note") == KindDefinition("local.note", 2, {})
    assert kinds.find("prd.create") == KindDefinition("prd.create", 1, {})
    assert [*kinds.advertised][4:] == ["local.note", "prd.create", "vendor.acme.plan"]


@each_case(
    "name, document, said",
    ("vendor.acme.plan", "{", "/: "),
    ("vendor.acme.plan", '{"type": "object", "type": "object"}', "/type: "),
    ("vendor.acme.plan", "[]", "the schema of an envelope kind must be a JSON object"),
    ("vendor.acme.plan", {"x-version": "2"}, "at /x-version must be an integer from 1 to 1000000"),
    ("vendor.acme.plan", {"$ref": "file:///etc/passwd"}, "at /$ref must be #/$defs/"),
    ("vendor.acme.plan", {"items": {"$ref": "#"}}, "at /items/$ref must be #/$defs/"),
    ("vendor.acme.plan", {"description": "x" * 140_000}, "is larger than 131072 bytes"),
    ("media.image", {}, "the name is a kind of the protocol"),
    ("error", {}, "the name is a kind of the protocol"),
    ("Vendor.acme.plan", {}, "the name must be like vendor.acme.plan"),
)
def test_files_that_hold_no_kind(tmp_path: Path, name: str, document: Any, said: str) -> None:
    path = schema_file(tmp_path, name, document)
    for source in (path, tmp_path):
        found = refusal(envelope_kinds=(str(source),))
        assert found.startswith(f"--envelope-kinds {path}: ")
        assert said in found
        assert "passwd" not in found
    path.unlink()


def test_places_that_hold_no_kinds(tmp_path: Path) -> None:
    assert refusal(envelope_kinds=(str(tmp_path),)) == (
        f"--envelope-kinds {tmp_path}: the folder has no *.schema.json file"
    )
    missing = tmp_path / "vendor.acme.plan.schema.json"
    assert refusal(envelope_kinds=(str(missing),)).endswith("No such file or directory")
    other = write(tmp_path / "plan.json", "{}")
    assert "must be a folder, or a file such as" in refusal(envelope_kinds=(str(other),))


@pytest.mark.rule("env-41")
def test_a_file_and_a_module_that_disagree(module_folder: Path) -> None:
    path = write(module_folder / "kind_here.py", KIND.format("vendor.acme.plan", 1, SCHEMA))
    file = schema_file(module_folder, "vendor.acme.plan", {"type": "object"})
    said = refusal(nodes=("kind_here",), envelope_kinds=(str(file),))
    assert said.startswith(f"{path}:3: ")
    assert "already registers version 1 of the kind 'vendor.acme.plan' with another schema" in said
    assert f"--envelope-kinds {file}" in said
    schema_file(module_folder, "vendor.acme.plan", {"type": "object", "x-version": 2})
    assert vendor(Settings(nodes=("kind_here",), envelope_kinds=(str(file),))) == {"vendor.acme.plan": 2}
