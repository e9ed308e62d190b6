"""The organisation on the pages: what the settings may say, what is refused at start, and what the pages then show."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.adapters.http.page.page_tree import parse
from tests.adapters.http.page.sample_questions import approval
from tests.browser.polyglots import PIXEL
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import for_all
from tests.live.host import Host, start_host
from weftwork.adapters.http.page import messages
from weftwork.adapters.http.page.messages import load_messages, parse_messages
from weftwork.adapters.http.page.pages import render_question
from weftwork.adapters.http.page.site import LOGO_PATH, Site
from weftwork.protocol.people import organisation
from weftwork.protocol.people.organisation import (
    DARK_BACKGROUNDS,
    LIGHT_BACKGROUNDS,
    MIN_CONTRAST,
    InvalidOrganisation,
    contrast,
    palette,
)
from weftwork.settings import SettingsError, load_settings
from weftwork.wiring.organisation import MAX_LOGO_BYTES, build_site


def site_of(folder: Path, text: str) -> Site:
    file = folder / "weftwork.toml"
    file.write_text(text, "utf-8")
    return build_site(load_settings({"data": str(folder)}, {}, str(file)))[0]


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(SettingsError) as refused:
        site_of(folder, text)
    return str(refused.value)


@pytest.mark.rule("surf-68")
@each_case(
    "text, said",
    ("name = 3", "weftwork.toml:2: organisation.name: write text in quotes"),
    ('name = " "', "weftwork.toml:2: organisation.name: write text in quotes"),
    ('name = "a\\u0007"', "organisation.name: write a name of at most 80 characters"),
    (f'name = "{"a" * 81}"', "organisation.name: write a name of at most 80 characters"),
    ('colour = "blue"', 'organisation.colour: write a colour as "#" and six hexadecimal digits'),
    ('colour = "#fd0"', 'organisation.colour: write a colour as "#" and six hexadecimal digits'),
    (
        'colour = "#ffdd00"',
        "has a contrast of 1.3 with the background of the pages, and text needs 4.5",
    ),
    ('color = "#1749b8"', "organisation.color: unknown setting; did you mean colour?"),
    ('language = "tlh"', "organisation.language: must be one of the languages of the pages: en"),
    ('language = "../en"', "organisation.language: must be one of the languages of the pages: en"),
    ('name = "A"\nlogo = "no.png"', "weftwork.toml:3: organisation.logo: cannot read"),
    ('name = "A"\nlogo = "weftwork.toml"', "is not a PNG, JPEG or WebP image; convert it"),
    ('name = "A"\nlogo = "large.png"', f"is larger than {MAX_LOGO_BYTES} bytes; use a smaller image"),
    ('logo = "logo.png"', 'organisation.logo: add name = "..." as well'),
)
def test_a_wrong_setting_is_refused_with_what_to_write(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "large.png").write_bytes(PIXEL + b"x" * MAX_LOGO_BYTES)
    (tmp_path / "logo.png").write_bytes(PIXEL)
    assert said in refusal(tmp_path, f"[organisation]\n{text}\n")


def test_the_organisation_is_a_table(tmp_path: Path) -> None:
    assert "weftwork.toml:1: organisation: write a table" in refusal(tmp_path, 'organisation = "A"\n')


@pytest.mark.rule("surf-68")
@fails_without(organisation, "_least_contrast", lambda colour, backgrounds: 21.0)
def test_text_in_the_colour_can_be_read_on_every_page() -> None:
    for colour in ("#1749b8", "#7a0019", "#000000", "#005f3c"):
        made = palette(colour)
        assert min(contrast(made.light, each) for each in LIGHT_BACKGROUNDS) >= MIN_CONTRAST
        assert min(contrast(made.dark, each) for each in DARK_BACKGROUNDS) >= MIN_CONTRAST
    for colour in ("#ffdd00", "#8fb4ff"):
        with pytest.raises(InvalidOrganisation):
            palette(colour)


@for_all(150, number=st.integers(0, 0xFFFFFF))
def test_any_colour_can_be_read_or_another_one_is_named(number: int) -> None:
    try:
        made = palette(f"#{number:06x}")
    except InvalidOrganisation as refused:
        made = palette(refused.message.rpartition(' "')[2].rstrip('"'))
    pairs = [(made.light, made.light_ink), (made.dark, made.dark_ink)]
    pairs += [(made.light, each) for each in LIGHT_BACKGROUNDS] + [(made.dark, each) for each in DARK_BACKGROUNDS]
    assert min(contrast(*pair) for pair in pairs) >= MIN_CONTRAST


def test_the_pages_show_the_organisation(tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(PIXEL)
    text = '[organisation]\nname = "Harbour <Foods>"\nlogo = "logo.png"\ncolour = "#7A0019"\nlanguage = "en"\n'
    site = site_of(tmp_path, text)
    tree = parse(render_question(approval(), "token", site=site))
    assert tree.named("header")[0].text == "Harbour <Foods>"
    assert tree.named("title")[0].text == "Your approval is needed · Harbour <Foods>"
    assert [(each.get("src"), each.get("alt")) for each in tree.named("img")] == [(LOGO_PATH, "")]
    policy = dict(site.headers)[b"content-security-policy"].decode()
    assert "img-src 'self';" in policy
    assert "--accent:#7a0019" in tree.named("style")[0].text
    plain = parse(render_question(approval(), "token"))
    assert plain.named("img") == []
    assert "img-src" not in dict(Site().headers)[b"content-security-policy"].decode()


def test_another_language_is_one_file_and_what_it_lacks_is_english() -> None:
    english = load_messages()
    document: dict[str, Any] = {
        "language": {
            "name": "Deutsch",
            "direction": "ltr",
            "thousands": ".",
            "decimal": ",",
            "months": ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli"] + ["?"] * 5,
            "date": "{day}. {month} {year}",
            "time": "{date}, {hour:02}:{minute:02} UTC",
            "list": ", ",
            "and": " und ",
        },
        "texts": {"approval": "Ihre Freigabe wird gebraucht"},
        "rules": {"Approve": "Freigeben", "Comment": "Anmerkung"},
    }
    german = parse_messages("de", document)
    assert german("cut") == english("cut")
    question = approval(artifactData={"amount": 12345.5, "day": "2026-03-05", "all": 1234567})
    tree = parse(render_question(question, "token", site=Site(messages=german)))
    assert tree.named("html")[0].get("lang") == "de"
    assert tree.named("h1")[0].text == "Ihre Freigabe wird gebraucht"
    assert "Freigeben" in [each.text for each in tree.named("button")]
    for text in ("12.345,5", "5. März 2026", "1.234.567", "Anmerkung"):
        assert text in tree.text


def test_every_language_has_the_texts_and_names_of_english() -> None:
    english = load_messages()
    for tag in messages.languages():
        found = load_messages(tag)
        assert len(found.language.months) == 12
        for key, text in english.texts.items():
            assert sorted(messages.NAME.findall(found.texts[key])) == sorted(messages.NAME.findall(text)), (tag, key)


@pytest.fixture(scope="module")
def branded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("branded")
    (folder / "logo.png").write_bytes(PIXEL)
    (folder / "data").mkdir()
    config = folder / "weftwork.toml"
    config.write_text('[organisation]\nname = "Harbour Foods"\nlogo = "logo.png"\n', "utf-8")
    with start_host(folder, "--config", str(config)) as host:
        yield host


def test_the_host_serves_the_logo_itself(branded: Host) -> None:
    answer = branded.call("GET", "/v1/host/weftwork/organisation/logo", key=None)
    assert (answer.status, answer.headers["content-type"], answer.body) == (200, "image/png", PIXEL)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]


def test_a_host_without_a_logo_has_none(tmp_path: Path) -> None:
    with start_host(tmp_path) as host:
        assert host.call("GET", "/v1/host/weftwork/organisation/logo", key=None).status == 404
