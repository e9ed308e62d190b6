"""Values on the page: numbers and dates as people read them, with the exact value as the title."""

import math
from typing import Any

from tests.adapters.http.page.page_tree import parse
from tests.harness.cases import each_case
from weftwork.adapters.http.page.layout import relative_time
from weftwork.adapters.http.page.messages import load_messages
from weftwork.adapters.http.page.value_view import DisplayBudget, render_value
from weftwork.protocol.forms.visible_text import readable_name

T = load_messages()


@each_case(
    "value, text, title",
    (2026, "2026", ""),
    (-12_345, "-12,345", "-12345"),
    (1_234_567, "1,234,567", "1234567"),
    (2380.5, "2380.5", ""),
    (-0.5, "-0.5", ""),
    (12_345.25, "12,345.25", "12345.25"),
    (1e300, "1e+300", ""),
    (math.inf, "Infinity", ""),
    (True, "Yes", ""),
    (None, "nothing", ""),
    ([], "none", ""),
    ("2026-04-01", "1 April 2026", "2026-04-01"),
    ("2026-02-30", "2026-02-30", ""),
    ("2026-04-01T08:05:00+02:00", "1 April 2026, 06:05 UTC", "2026-04-01T08:05:00+02:00"),
    ("2026-04-01 at noon", "2026-04-01 at noon", ""),
)
def test_a_value_in_words_has_the_exact_one_as_its_title(value: Any, text: str, title: str) -> None:
    tree = parse(render_value(value, DisplayBudget(T)).encode())
    assert tree.text == text
    assert [each.get("title") for each in tree.all() if each.get("title")] == ([title] if title else [])


def test_members_stay_in_the_order_of_their_author() -> None:
    tree = parse(render_value({"zeta": 1, "alpha": 2, "midPoint": 3}, DisplayBudget(T)).encode())
    assert [each.text for each in tree.named("dt")] == ["Zeta", "Alpha", "Mid point"]


@each_case(
    "name, words",
    ("netAmount", "Net amount"),
    ("net_amount", "Net amount"),
    ("due-date", "Due date"),
    ("VAT", "VAT"),
    ("Which one?", "Which one?"),
    ("a b", "a b"),
    ("", ""),
    ("__proto__", "__proto__"),
)
def test_a_name_becomes_words(name: str, words: str) -> None:
    assert readable_name(name) == words


@each_case(
    "seconds, words",
    (0, "just now"),
    (-44, "just now"),
    (-60, "1 minute ago"),
    (3 * 86_400 + 5 * 3_600, "in 3 days"),
    (7 * 86_400 - 1, "in 7 days"),
    (-90 * 60, "2 hours ago"),
    (50, "in 50 seconds"),
    (3_599, "in 1 hour"),
)
def test_a_time_is_relative(seconds: int, words: str) -> None:
    assert relative_time(T, seconds) == words
