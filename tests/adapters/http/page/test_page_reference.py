"""The reference of the page says what the code does."""

import re
from pathlib import Path

from weftwork.adapters.http.page import form_answer, form_view, question_view
from weftwork.adapters.http.page.form_fields import SHORT_TEXT
from weftwork.adapters.http.page.layout import HEADERS
from weftwork.adapters.http.page.pages import ADVICE_BY_CODE

TEXT = (Path(__file__).parents[4] / "docs" / "reference" / "answer-page.md").read_text("utf-8")


def test_headers() -> None:
    rows = dict(re.findall(r"^\| `([A-Za-z-]+)` \| `([^`]+)` \|$", TEXT, re.MULTILINE))
    said = {name.lower(): value for name, value in rows.items()}
    sent = {name.decode(): re.sub(r"sha256-[^']+", "sha256-…", value.decode()) for name, value in HEADERS}
    assert said == sent


def test_bounds() -> None:
    for bound in (
        form_answer.MAX_FORM_BYTES,
        form_answer.MAX_FIELDS,
        form_answer.MAX_NAME,
        form_answer.MAX_VALUE,
        question_view.MAX_CHARACTERS,
        SHORT_TEXT,
    ):
        assert re.search(rf"(?<![\d,]){bound:,}(?![\d,])", TEXT), bound
    assert form_view.MAX_RADIO_OPTIONS == 7
    assert "from eight on" in TEXT


def test_refusals() -> None:
    rows = set(re.findall(r"^\| `([a-z_]+)` \|", TEXT.partition("## Refusals")[2], re.MULTILINE))
    assert rows <= set(ADVICE_BY_CODE)
    assert {code for code in ADVICE_BY_CODE if code.startswith("interrupt_")} <= rows
