"""The page says as whom one answers, who asks, and what one has said before."""

import pytest

from tests.adapters.http.page.page_tree import parse
from tests.adapters.http.page.sample_questions import KINDS, quorum
from weftwork.adapters.http.page import pages


@pytest.mark.parametrize(("action", "said"), [("accept", "approved"), ("reject", "rejected")])
def test_who_has_voted_is_told_so(action: str, said: str) -> None:
    tree = parse(pages.render_question({**quorum(), "voted": action}, "token"))
    assert f"You have {said}. Sending again changes your vote." in tree.text
    assert tree.named("h1")[0].text == "Your vote is recorded"
    assert [each.get("value") for each in tree.named("button")] == ["accept", "reject"]


def test_without_the_look_at_the_vote_it_would_be_asked_as_if_nothing_had_happened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("weftwork.adapters.http.page.question_view.has_voted", lambda *_: False)
    with pytest.raises(AssertionError):
        test_who_has_voted_is_told_so("accept", "approved")


@pytest.mark.parametrize("kind", [*KINDS])
def test_it_says_who_asks_and_as_whom_one_answers(kind: str) -> None:
    text = parse(pages.render_question({**KINDS[kind], "for": "Ada <b>"}, "token")).text
    assert "Asked by: sales · ask" in text
    assert "You answer as" in text
    assert "Ada <b>" in text
    assert "You answer as" not in parse(pages.render_question(KINDS[kind], "token")).text
