"""Fork requests: what is refused, how options are merged, and what a fork has of its source."""

from typing import Any

import pytest

from tests.harness.cases import each_case
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.replay.fork_request import check_fork_point, fork_header, merged_options, parse_fork
from weftwork.protocol.review.spans import RunSpans
from weftwork.protocol.run.events import Fact
from weftwork.protocol.run.header import Fork, Owner, Parent, RunHeader

SOURCE = RunHeader(
    "run_1",
    "live:acme",
    Owner("acme", "key_1"),
    "wf",
    "digest",
    1_000,
    {"a": 1},
    {"model": "m", "temperature": 1},
    ("old",),
    {"team": "x"},
    "scope",
    "https://acme.example/hook",
    parent=Parent("run_0", "call", "child", "core.subWorkflow", "run_0", untrusted=("a",)),
)


@pytest.mark.rule("fork-02")
@each_case(
    "document",
    *[
        {},
        {"mode": "other"},
        {"mode": "branch"},
        {"mode": "branch", "fromSeq": -1},
        {"mode": "branch", "fromSeq": 1.5},
        {"mode": "replay", "runOptionsOverlay": {"tags": []}},
        {"mode": "replay", "more": 1},
        {"mode": "branch", "fromSeq": 0, "runOptionsOverlay": {"input": {}}},
        {"mode": "branch", "fromSeq": 0, "runOptionsOverlay": {"inputs": []}},
    ],
)
def test_a_request_that_is_no_fork_is_a_400(document: Any) -> None:
    with pytest.raises(ClientFault) as caught:
        parse_fork(document)
    assert (caught.value.code, caught.value.status) == ("validation_error", 400)


@pytest.mark.rule("fork-02")
def test_a_replay_begins_at_zero_by_default_and_an_empty_overlay_is_none() -> None:
    assert parse_fork({"mode": "replay", "runOptionsOverlay": {}}).from_seq == 0
    assert parse_fork({"mode": "branch", "fromSeq": 0, "runOptionsOverlay": {}}).overlay == {}


@pytest.mark.rule("fork-02")
def test_a_fork_point_beyond_the_log_is_a_422_that_says_where_the_log_ends() -> None:
    check_fork_point(7, 7)
    with pytest.raises(ClientFault) as caught:
        check_fork_point(8, 7)
    assert (caught.value.code, caught.value.status) == ("validation_error", 422)
    assert caught.value.details == {"pointer": "/fromSeq", "lastSequence": 7}


@pytest.mark.rule("fork-03")
def test_objects_are_merged_and_tags_are_replaced() -> None:
    overlay = {"configurable": {"model": "n"}, "metadata": {"why": "test"}, "tags": ["new"]}
    assert merged_options(SOURCE, overlay) == {
        "configurable": {"model": "n", "temperature": 1},
        "metadata": {"team": "x", "why": "test"},
        "tags": ("new",),
    }
    assert merged_options(SOURCE, {})["tags"] == ("old",)


@pytest.mark.rule("fork-03")
def test_a_fork_cannot_make_content_from_outside_trusted() -> None:
    outside = RunHeader(
        "run_1", "live:acme", SOURCE.owner, "wf", "digest", 1, configurable={"trustBoundary": "untrusted"}
    )
    merged = merged_options(outside, {"configurable": {"trustBoundary": "trusted"}})
    assert merged["configurable"] == {"trustBoundary": "untrusted"}


@pytest.mark.rule("fork-05")
def test_a_fork_belongs_to_the_owner_of_its_source_and_to_nothing_else() -> None:
    request = parse_fork({"mode": "branch", "fromSeq": 3})
    made = fork_header(SOURCE, request, "run_2", 5_000, 9, "00-trace", "broken")
    assert (made.run_id, made.created_at, made.traceparent) == ("run_2", 5_000, "00-trace")
    assert (made.owner, made.definition, made.inputs) == (SOURCE.owner, SOURCE.definition, SOURCE.inputs)
    assert (made.parent, made.scope_id, made.callback_url) == (None, None, None)
    fork = made.fork
    assert fork is not None
    assert (fork.run_id, fork.from_seq, fork.mode, fork.retry) == ("run_1", 3, "branch", "broken")
    assert fork.untrusted == ("a",)
    assert (fork.until, fork.acts_as) == (-1, "")


@pytest.mark.rule("fork-05")
def test_a_replay_of_a_replay_acts_as_the_run_that_was_executed() -> None:
    request = parse_fork({"mode": "replay"})
    first = fork_header(SOURCE, request, "run_2", 5_000, 9)
    second = fork_header(first, request, "run_3", 6_000, 9)
    assert first.fork is not None
    assert second.fork is not None
    assert (first.fork.acts_as, first.fork.until) == ("run_1", 9)
    assert (second.fork.run_id, second.fork.acts_as) == ("run_2", "run_1")
    branch = fork_header(first, parse_fork({"mode": "branch", "fromSeq": 1}), "run_4", 6_000, 9)
    assert isinstance(branch.fork, Fork)
    assert branch.fork.acts_as == ""


@pytest.mark.rule("trace-08")
def test_the_span_of_a_fork_links_to_that_of_its_source_and_shows_a_divergence() -> None:
    made = fork_header(SOURCE, parse_fork({"mode": "replay", "fromSeq": 2}), "run_2", 5_000, 9)
    spans = RunSpans(made)
    (source,) = RunSpans(SOURCE).spans
    (span,) = spans.spans
    assert span["links"] == [{"traceId": source["traceId"], "spanId": source["spanId"]}]
    assert {name: value for name, value in span["attributes"].items() if ".replay." in name} == {
        "openwop.replay.source_run_id": "run_1",
        "openwop.replay.from_seq": 2,
        "openwop.replay.mode": "replay",
    }
    spans.add(Fact(3, "replay.diverged", {}, 6_000))
    assert span["attributes"]["openwop.replay.diverged"] is True
    assert "links" not in source
