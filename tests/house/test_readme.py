"""The front page is short and says how to start; the style page fits one screen."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def words(text: str) -> int:
    """Everything between white space that holds a letter or a digit, code blocks included."""
    return len(re.findall(r"\S*\w\S*", text))


def test_the_readme_is_short() -> None:
    assert words((ROOT / "README.md").read_text("utf-8")) <= 500


def test_the_readme_says_how_to_start_and_how_to_test() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert "make run" in text
    assert "make test" in text


def test_the_style_page_is_short() -> None:
    assert len((ROOT / "STYLE.md").read_text("utf-8").splitlines()) <= 60


def test_words_are_counted() -> None:
    assert words("| one | `two three` |\n|---|---|\n\n- four-and-a-half, 5") == 5
