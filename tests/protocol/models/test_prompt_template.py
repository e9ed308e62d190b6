"""Prompt templates and references to them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from weftwork.protocol.json import schema
from weftwork.protocol.models.prompt_templates import (
    MAX_TEMPLATE_BYTES,
    REF_SCHEMA,
    VARIABLE_SOURCES,
    PromptRef,
    PromptTemplate,
    PromptTemplates,
    check_template,
    config_refs,
    parse_ref,
    parse_template,
    prompt_family,
    uses_templates,
)
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.models import load_templates


@pytest.mark.rule("prompt-01")
@pytest.mark.parametrize(
    ("given", "expected", "text"),
    [
        ("prompt:writer", PromptRef("writer"), "prompt:writer"),
        ("prompt:a.b-c_d@1.2.3", PromptRef("a.b-c_d", "1.2.3"), "prompt:a.b-c_d@1.2.3"),
        ("prompt:a@1.2.3-rc.1+build", PromptRef("a", "1.2.3-rc.1+build"), "prompt:a@1.2.3-rc.1+build"),
        ({"templateId": "a"}, PromptRef("a"), "prompt:a"),
        (
            {"templateId": "a", "version": "1.0.0", "libraryId": "lib", "variableOverrides": {"x": 1}},
            PromptRef("a", "1.0.0", "lib", {"x": 1}),
            "prompt:a@1.0.0",
        ),
    ],
)
def test_references(given: Any, expected: PromptRef, text: str) -> None:
    assert schema.check_inline(REF_SCHEMA, given, "") == []
    assert parse_ref(given) == expected
    assert parse_ref(given).text == text


@pytest.mark.rule("prompt-01")
@pytest.mark.parametrize(
    "given",
    [
        *(
            "writer",
            "prompt:",
            "prompt:A",
            "prompt:a@1",
            "prompt:a@1.0",
            "prompt:a@",
            "prompt:a b",
            " prompt:a",
            "prompt:a\n",
        ),
        *(f"prompt:{'a' * 129}", "prompt:.a", "prompt:a@1.0.0 ", 7, None, [], {}, {"templateId": "A"}),
        *({"templateId": "a", "version": "1"}, {"templateId": "a", "more": 1}, {"templateId": "a", "libraryId": ""}),
    ],
)
def test_what_is_no_reference(given: Any) -> None:
    assert schema.check_inline(REF_SCHEMA, given, "") != []


@pytest.mark.rule("prompt-01")
def test_where_a_config_names_them() -> None:
    config = {
        "userPromptRef": "prompt:u",
        "systemPromptRef": "prompt:s",
        "fewShotPromptRefs": ["prompt:f", {"templateId": "g"}],
        "additionalPromptRefs": ["prompt:m"],
        "prompt": "x",
    }
    assert [(kind, ref.template_id) for kind, ref in config_refs(config)] == [
        ("system", "s"),
        ("user", "u"),
        ("few-shot", "f"),
        ("few-shot", "g"),
        (None, "m"),
    ]
    assert uses_templates(config, {})
    assert uses_templates({}, {"system": "prompt:s"})
    assert not uses_templates({"prompt": "x"}, {})


VERSIONS = ["1.0.0-2", "1.0.0-11", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0", "1.0.9", "1.0.10"]


def version(text: str) -> PromptTemplate:
    return PromptTemplate("t", text, "user", "x")


@pytest.mark.rule("prompt-03")
def test_the_highest_version_is_found() -> None:
    for count, highest in enumerate(VERSIONS, 1):
        below = PromptTemplates([version(each) for each in reversed(VERSIONS[:count])])
        assert below.find(PromptRef("t")) == version(highest)
    templates = PromptTemplates(map(version, VERSIONS))
    assert len(templates) == len(VERSIONS)
    assert templates.find(PromptRef("t", "1.0.0")) == version("1.0.0")
    for missing in (PromptRef("other"), PromptRef("t", "3.0.0"), PromptRef("t", library_id="pack")):
        assert templates.find(missing) is None
    with pytest.raises(ValueError, match=r"version 1\.0\.0 of the prompt template t is there twice"):
        PromptTemplates([version("1.0.0"), PromptTemplate("t", "1.0.0", "user", "y")])


@pytest.mark.rule("prompt-02")
def test_templates_of_the_package() -> None:
    templates = load_templates(Settings(conformance=True))
    ids = ["writer-system", "writer-user", "schema-hint", "few-shot", "few-shot-2"]
    kinds = ["system", "user", "schema-hint", "few-shot", "few-shot"]
    for name, kind in zip(ids, kinds, strict=True):
        found = templates.find(PromptRef(f"conformance.prompt.{name}", "1.0.0"))
        assert found is not None
        assert (found.kind, found.variables) == (kind, ())
        assert found.ref.text == f"prompt:conformance.prompt.{name}@1.0.0"
    assert len(templates) == 5
    assert len(load_templates(Settings())) == 0


WHOLE: dict[str, Any] = {"templateId": "acme.letter", "version": "1.0.0", "kind": "user", "text": "Dear {{name}}"}


@pytest.mark.rule("prompt-02")
@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"kind": "assistant"}, "/kind"),
        ({"text": "x" * (MAX_TEMPLATE_BYTES + 1)}, "/text"),
        ({"version": "1"}, "/version"),
        ({"templateId": "Acme"}, "/templateId"),
        ({"more": 1}, "/more"),
        ({"variables": [{"name": "x-y", "type": "string", "required": True}]}, "/variables/0/name"),
        ({"variables": [{"name": "x", "type": "date", "required": True}]}, "/variables/0/type"),
        ({"variables": [{"name": "x", "type": "string"}]}, "/variables/0"),
        ({"variables": [{"name": "x", "type": "string", "required": True, "source": "env"}]}, "/variables/0/source"),
    ],
)
def test_documents_that_are_no_templates(tmp_path: Path, change: dict[str, Any], pointer: str) -> None:
    assert check_template(WHOLE) == []
    assert [each.pointer for each in check_template({**WHOLE, **change})] == [pointer]
    file = tmp_path / "letter.json"
    file.write_text(json.dumps({**WHOLE, **change}))
    with pytest.raises(SettingsError, match=re.escape(f"--prompts {file}: {pointer} ")):
        load_templates(Settings(prompts=(str(tmp_path),)))


def test_templates_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "letter.json").write_text(json.dumps(WHOLE))
    (tmp_path / "notes.txt").write_text("{")
    found = load_templates(Settings(prompts=(str(tmp_path),))).find(PromptRef("acme.letter"))
    assert found == parse_template(WHOLE)
    (tmp_path / "twice.json").write_text(json.dumps({**WHOLE, "text": "other"}))
    with pytest.raises(SettingsError, match="is there twice"):
        load_templates(Settings(prompts=(str(tmp_path),)))
    (tmp_path / "twice.json").write_text("{")
    with pytest.raises(SettingsError, match=re.escape(str(tmp_path / "twice.json"))):
        load_templates(Settings(prompts=(str(tmp_path),)))
    with pytest.raises(SettingsError, match="there is no such folder"):
        load_templates(Settings(prompts=(str(tmp_path / "none"),)))


@pytest.mark.rule("prompt-11")
def test_the_block_is_there_with_templates() -> None:
    assert prompt_family(0) is None
    block = prompt_family(5)
    assert block is not None
    assert block["variableSources"] == list(VARIABLE_SOURCES)
    assert "secret" not in block["variableSources"]
    least = {"clarificationRounds": 1, "schemaRounds": 1, "envelopesPerTurn": 1}
    root = {"protocolVersion": "1.1", "supportedEnvelopes": [], "schemaVersions": {}, "limits": least, "prompts": block}
    assert schema.check("capabilities", root) == []
    assert schema.check("capabilities", {**root, "prompts": {**block, "more": 1}}) != []
