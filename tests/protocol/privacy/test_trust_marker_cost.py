"""Hostile content in prompts: taking markers apart takes a time that follows the length of the text, whatever it is."""

import subprocess
import sys

import pytest

BOUND = 60
"""Seconds. What goes back over a text takes hours for these, and what does not takes less than one."""
SIGNS = [
    "Ⓤ",
    "\u222a",
    "ⓊⓃⓉⓇⓊⓈⓉⒺ",
    "🅄🄽🅃🅁🅄🅂🅃🄴",
    "\u22a4",
    "&#85;",
    "%55",
    "\\u0055",
    "&nbsp;",
    "&amp;",
    "\\",
    "%",
    ".",
    "U.",
]
WORK = """
import sys
from weftwork.protocol.privacy.trust import neutralize_markers as neutralised
for sign in sys.argv[1:]:
    text = "<" + sign * (200_000 // len(sign))
    assert neutralised(text) == text
    assert neutralised({"a": [text]}) != ""
"""


@pytest.mark.rule("trust-07")
def test_no_text_takes_long_to_be_taken_apart() -> None:
    done = subprocess.run([sys.executable, "-c", WORK, *SIGNS], timeout=BOUND, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-500:]
