"""Base64 is cut out of what is shown; everything that people read stays as it is."""

import re
from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.media.inline_media import ELIDED_PREFIX, MAX_STREAMED_RUN, Base64Elider, elide_base64

runs = st.builds(str.__mul__, st.sampled_from(["A", "b+/", "Zm9v", "_-", "=", "9"]), st.integers(1, 400))
words = st.text("ab c.,\n\"'é🧵", max_size=20)
marks = st.sampled_from(
    [' {"base64":"', ' {\\"base64\\" : \\"', " 'base64' :\n '", " data:image/png;base64,", ' "sha":"']
)
prose = st.lists(runs | words | st.builds(str.__add__, marks, runs), max_size=8).map("".join)

MARKED = re.compile(r"""((?:base64\\?["']\s*:\s*\\?["'])|;base64,)([A-Za-z0-9+/=_\\\r\n-]+)""")


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in pairwise(ends)]


@pytest.mark.rule("media-14")
@settings(max_examples=example_count(400), deadline=None)
@given(prose, st.lists(st.integers(0, 5000), max_size=30), st.integers(1, 600))
def test_where_it_is_cut_makes_no_difference(text: str, places: list[int], most: int) -> None:
    whole = Base64Elider(most).feed(text)
    assert whole == MARKED.sub(lambda found: found[1] + found[2][:most], text)
    elider = Base64Elider(most)
    pieces = cut(text, places)
    shown = [elider.feed(piece) for piece in pieces]
    assert "".join(shown) == whole
    assert all(len(after) <= len(before) for after, before in zip(shown, pieces, strict=True))


@pytest.mark.rule("media-14")
def test_a_stream_goes_on_behind_the_run() -> None:
    elider = Base64Elider()
    pieces = ['{"base6', '4": "', *["iVBORw0KGgo=" * 10] * 20, "", "/9j", '"} and', " done"]
    before = len('{"base64": "')
    shown = [elider.feed(piece) for piece in pieces]
    assert len(shown) == len(pieces)
    assert len("".join(shown)) == before + MAX_STREAMED_RUN + len('"} and done')
    assert shown[-2:] == ['"} and', " done"]
    assert list(accumulate(map(len, shown)))[7] == before + MAX_STREAMED_RUN


@pytest.mark.rule("media-14")
@given(words, runs)
def test_what_is_not_said_to_be_base64_is_shown_whole(lead: str, run: str) -> None:
    elider = Base64Elider(1)
    assert elider.feed(lead) + elider.feed(run) == lead + run


@pytest.mark.rule("media-14")
@settings(max_examples=example_count(300), deadline=None)
@given(prose, st.integers(1, 600))
def test_a_text_says_how_much_is_gone(text: str, most: int) -> None:
    found = elide_base64(text, most)
    long = [run for run in re.findall(r"[A-Za-z0-9+/=_-]+", text) if len(run) > most]
    assert found.count(" characters left out)") == len(long)
    left = sum(map(int, re.findall(r"\.\.\.\((\d+) characters left out\)", found)))
    assert left == sum(len(run) - min(ELIDED_PREFIX, most) for run in long)
    if not long:
        assert found == text


@pytest.mark.rule("media-14")
def test_megabytes_become_a_line() -> None:
    found = elide_base64('{"image":"' + "A" * 5_000_000 + '","said":"hello"}', 1024)
    assert found == '{"image":"' + "A" * 64 + '...(4999936 characters left out)","said":"hello"}'
