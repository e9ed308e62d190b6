"""`weftwork answer --link`: a link for somebody else, and nothing else on standard output."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.cli.answer.test_answer import EVIL, GATE, RUN, asks, posted
from tests.cli.foreign_host import CannedResponse, ForeignHost
from weftwork.cli.answer import submission

LINKS = f"POST /v1/host/weftwork/runs/{RUN}/interrupts/review/links"


def made(**more: Any) -> CannedResponse:
    end = (datetime.now(UTC) + timedelta(days=2, minutes=1)).isoformat()
    known = {"runId": RUN, "nodeId": "review", "interruptId": "review.1", "intent": "resolve", "token": "t.x"}
    return CannedResponse(201, {**known, "path": "/v1/interrupts/t.x", "expiresAt": end, **more})


def test_a_link_is_printed_alone(foreign: ForeignHost) -> None:
    asks(foreign, GATE)
    foreign.replies[LINKS] = made()
    done = foreign.run_command("answer", RUN, "--link")
    assert (done.exit_code, done.stdout) == (0, f"{foreign.url}/v1/interrupts/t.x\n")
    assert done.stderr.startswith("whoever has it can answer until 20")
    assert done.stderr.endswith(" UTC, in 2 d 0 h.\n")
    (asked,) = posted(foreign)
    assert asked.body == {}
    foreign.replies[LINKS] = made(url="https://public.example/v1/interrupts/t.x", intent="inspect")
    line = ["--for", "ada", "--inspect", "--expires", "2d"]
    done = foreign.run_command("answer", RUN, "--link", *line)
    assert done.stdout == "https://public.example/v1/interrupts/t.x\n"
    assert done.stderr.startswith("ada, and whoever else has it, can see the question until ")
    assert posted(foreign)[1].body == {"for": "ada", "intent": "inspect", "expiresInSeconds": 172_800}
    assert json.loads(foreign.run_command("answer", RUN, "--link", "--json").stdout)["token"] == "t.x"


@pytest.mark.parametrize("url", [f"https://x/{EVIL}", "javascript:alert(1)", 5, "https://x/a b", "http://[x", None])
@pytest.mark.parametrize("path", [None, 5, "v1/x", "/v1/\x1b[2J", "/größe"])
def test_what_is_no_link_is_not_printed(foreign: ForeignHost, url: Any, path: Any) -> None:
    asks(foreign, GATE)
    foreign.replies[LINKS] = made(url=url, path=path)
    done = foreign.run_command("answer", RUN, "--link")
    assert (done.exit_code, done.stdout) == (6, "")


def test_a_link_to_another_question_is_not_handed_out(foreign: ForeignHost) -> None:
    asks(foreign, GATE)
    foreign.replies[LINKS] = made(interruptId="review.2")
    done = foreign.run_command("answer", RUN, "--link")
    assert (done.exit_code, done.stdout) == (7, "")
    assert "meanwhile the node asks something else" in done.stderr


def test_without_the_look_it_would_be(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.cli.answer.target.AnswerTarget.interrupt_id", None)
    with pytest.raises(AssertionError):
        test_a_link_to_another_question_is_not_handed_out(foreign)


def test_a_host_without_links_is_named(foreign: ForeignHost) -> None:
    asks(foreign, GATE)
    done = foreign.run_command("answer", RUN, "--link")
    assert (done.exit_code, "only a weftwork host does" in done.stderr) == (1, True)
    foreign.replies[LINKS] = CannedResponse(404, {"error": "interrupt_not_found", "message": "Gone."})
    assert foreign.run_command("answer", RUN, "--link").exit_code == 7
    foreign.replies[LINKS] = CannedResponse(201, [])
    assert foreign.run_command("answer", RUN, "--link").exit_code == 6


def test_a_link_is_what_a_browser_takes() -> None:
    assert submission._is_link("https://x/y?z")  # pyright: ignore[reportPrivateUsage]
    assert not submission._is_link("https://x/\x1b")  # pyright: ignore[reportPrivateUsage]
