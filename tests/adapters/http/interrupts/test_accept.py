"""Who is shown a page: those who prefer one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weftwork.adapters.http.routes.interrupts import prefers_html


@pytest.mark.parametrize(
    ("accept", "page"),
    [
        (None, False),
        ("", False),
        ("*/*", False),
        ("application/json", False),
        ("text/html", True),
        ("TEXT/HTML", True),
        ("text/html;charset=utf-8", True),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),
        ("application/json, text/html", True),
        ("application/json;q=0.9,text/html", True),
        ("application/json,text/html;q=0.9", False),
        ("text/html;q=0", False),
        ("text/html;q=0.000", False),
        ("text/html;q=1.000", True),
        ("text/html;q=2", False),
        ("text/html;q=x", False),
        ("text/html;q=", False),
        ("text/htm", False),
        (",,;;,text/html", True),
    ],
)
def test_a_page_is_for_those_who_prefer_it(accept: str | None, page: bool) -> None:
    assert prefers_html(accept) is page


@given(st.text(max_size=200))
def test_no_header_breaks_it(accept: str) -> None:
    assert isinstance(prefers_html(accept), bool)
