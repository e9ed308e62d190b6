"""The settings file: which line a message names, and what is refused with which advice."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import example_count
from weftwork.settings import SettingsError, load_settings
from weftwork.settings_file import MAX_PATH, SettingPath, SettingsFile, find_lines

DOCUMENT = '''\
port = 8000  # [not.a.table]
nodes = [
  "a", # = {
  'c]',
]
[providers.local]
type = "openai-compatible"
"credential" = "env:KEY"
timeouts = { connect = 5, first_byte = 30.5 }
text = """
[not.a.table]
x = 1 \\""""
literal = \'\'\'
y = 2\'\'\'\'
last = 1
[[providers.local.models]]
name = "tiny"
capabilities = ["structured-output", "x",
  "y"]
price = { input = 0.10, output = 0.40 }

[[providers.local.models]]
name = "b"
[providers.local.models.price]
input = 1
[providers."my.own"]
models = [ {name = "a", price = {input=1.5}}, {name = 'b'} ]
"a b".c = 1979-05-27T07:32:00Z
'''
LOCAL = ("providers", "local")
OWN = ("providers", "my.own")
LINES: dict[SettingPath, int] = {
    ("port",): 1,
    ("nodes",): 2,
    ("nodes", 1): 4,
    LOCAL: 6,
    (*LOCAL, "type"): 7,
    (*LOCAL, "credential"): 8,
    (*LOCAL, "timeouts"): 9,
    (*LOCAL, "timeouts", "first_byte"): 9,
    (*LOCAL, "text"): 10,
    (*LOCAL, "literal"): 13,
    (*LOCAL, "last"): 15,
    (*LOCAL, "models", 0): 16,
    (*LOCAL, "models", 0, "capabilities", 0): 18,
    (*LOCAL, "models", 0, "capabilities", 2): 19,
    (*LOCAL, "models", 0, "price", "output"): 20,
    (*LOCAL, "models", 1): 22,
    (*LOCAL, "models", 1, "name"): 23,
    (*LOCAL, "models", 1, "price"): 24,
    (*LOCAL, "models", 1, "price", "input"): 25,
    OWN: 26,
    (*OWN, "models", 0, "price", "input"): 27,
    (*OWN, "models", 1, "name"): 27,
    (*OWN, "a b", "c"): 28,
}


def test_every_key_has_its_line() -> None:
    assert tomllib.loads(DOCUMENT)
    lines = find_lines(DOCUMENT)
    assert {path: lines.get(path) for path in LINES} == LINES
    assert ("not", "a", "table") not in lines
    file = SettingsFile("w.toml", {}, lines)
    assert file.place((*LOCAL, "models", 0, "absent")) == "w.toml:16"
    assert file.place((*LOCAL, "absent")) == "w.toml:6"
    assert file.place(("absent",)) == ""


NAMES = st.text("ab.\"'[]{}=,# \\", min_size=1, max_size=4)
SCALARS = st.one_of(st.integers(0, 99).map(str), st.just("0.5"), st.just("true"), NAMES.map(lambda text: quoted(text)))


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def inline(values: Any) -> Any:
    arrays = st.lists(values, max_size=3).map(lambda items: "[" + ", ".join(items) + "]")
    tables = st.dictionaries(NAMES, values, max_size=3).map(
        lambda items: "{" + ", ".join(f"{quoted(name)} = {value}" for name, value in items.items()) + "}"
    )
    return arrays | tables


@settings(max_examples=example_count(60), deadline=None)
@given(st.dictionaries(NAMES, st.recursive(SCALARS, inline, max_leaves=8), max_size=4), st.integers(0, 3))
def test_the_lines_of_a_document_cover_its_values(members: dict[str, str], blank: int) -> None:
    gap = "\n" * blank
    text = "".join(f"{gap}{quoted(name)} = {value}\n" for name, value in members.items())
    lines = find_lines(text)
    expected = {path for path in paths_of(tomllib.loads(text)) if len(path) <= MAX_PATH}
    # A number with a dot is two tokens, so a line can be known for more than there is, never for less.
    assert expected <= set(lines)
    assert {lines[(name,)] for name in members} == {(at + 1) * (blank + 1) for at in range(len(members))}


def paths_of(value: Any, path: SettingPath = ()) -> set[SettingPath]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = {path} if path else set[SettingPath]()
    return found.union(*(paths_of(each, (*path, name)) for name, each in items))


def load(folder: Path, text: str) -> Any:
    (folder / "w.toml").write_text(text)
    return load_settings({"data": str(folder)}, {}, str(folder / "w.toml"))


@pytest.mark.rule("model-30")
def test_the_tables_of_providers_are_settings(tmp_path: Path) -> None:
    found = load(tmp_path, '[providers.b]\ntype = "scripted"\n[providers.a]\ntype = "scripted"\nscript = "x"\n')
    assert [(each.name, each.options) for each in found.providers] == [("b", {}), ("a", {"script": "x"})]
    assert load(tmp_path, "").providers == ()


@pytest.mark.rule("model-30")
@each_case(
    "text, message",
    ("\nprot = 1\n", "w.toml:2: unknown setting prot; did you mean port?"),
    ('\n\nport = "x"\n', "w.toml:3: port must be a whole number"),
    ("log-level = 'x'\n", "w.toml:1: log_level must be one of"),
    ("port = \n", "w.toml is not valid TOML"),
    ('\n[provider.a]\ntype = "x"\n', "w.toml:2: provider is a list of MODULE:CLASS; the table of a provider is"),
    (f"port = {'[' * 5000}{']' * 5000}\n", "w.toml has arrays or tables that are nested too deeply"),
    ("\nproviders = 1\n", "w.toml:2: providers must be tables; write [providers.NAME]"),
    ("[provider]\nx = 1\n", "w.toml:1: provider is a list of MODULE:CLASS"),
    ("[provders.a]\n", "w.toml:1: unknown setting provders; did you mean providers?"),
    ("\n[providers.a]\n", "w.toml:2: providers.a: add the type"),
    ("[providers.a]\ntype = 'x'\n\ncredential = 'sk-4711'\n", "w.toml:4: providers.a.credential: write env:NAME"),
    ("[providers.a]\ntype = 'x'\n[[providers.a.models]]\n", "w.toml:3: providers.a.models.0: write the name"),
    ("[providers]\na = 1\n", "w.toml:2: providers.a: write a table"),
    ("[providers.'sk\\n4711']\n", "w.toml:1: providers....: the name of a provider"),
)
def test_a_bad_file_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, text)
    assert message in str(caught.value)
    assert "4711" not in str(caught.value)


def test_the_environment_cannot_hold_tables(tmp_path: Path) -> None:
    environment = {"WEFTWORK_PROVIDERS": "x", "WEFTWORK_FILE": "x", "WEFTWORK_PROVIDER": "a:B,c:D"}
    found = load_settings({"data": str(tmp_path)}, environment)
    assert (found.providers, found.file, found.provider) == ((), SettingsFile(), ("a:B", "c:D"))
