"""The fake way out: what the guard refuses is refused, everything else is answered by the test and by nobody else."""

import asyncio
from typing import Any

import pytest

import weftwork
from weftwork.ports.outbound import FetchFailed, FetchRefused, OutboundRequest
from weftwork.testing import FakeOutbound, UnexpectedRequest, respond, run_node

URL = "https://api.example.com/orders"


def fetch(outbound: FakeOutbound, url: str = URL, **more: Any) -> Any:
    return asyncio.run(outbound.fetch(OutboundRequest(url, **more)))


@pytest.mark.parametrize(
    ("answer", "status", "content"),
    [
        (204, 204, b""),
        ("text", 200, b"text"),
        (b"\x00", 200, b"\x00"),
        ({"a": [1]}, 200, b'{"a":[1]}'),
        ([1], 200, b"[1]"),
        (respond(418, content="tea", headers={"X-Pot": "yes"}), 418, b"tea"),
        (lambda request: {"method": request.method}, 200, b'{"method":"GET"}'),
    ],
)
def test_an_answer_is_what_is_shortest_to_write(answer: Any, status: int, content: bytes) -> None:
    found = fetch(FakeOutbound({URL: answer}))
    assert (found.status, found.content, found.url) == (status, content, URL)


def test_a_function_may_wait_and_a_table_tells_methods_apart() -> None:
    async def later(request: OutboundRequest) -> Any:
        await asyncio.sleep(0)
        return {"asked": request.url}

    assert fetch(FakeOutbound(later)).content == b'{"asked":"%s"}' % URL.encode()
    outbound = FakeOutbound({f"POST {URL}": 201, URL: 200})
    assert (fetch(outbound, method="POST").status, fetch(outbound).status) == (201, 200)
    assert [request.method for request in outbound.requests] == ["POST", "GET"]


def test_answers_one_after_the_other_and_failures() -> None:
    outbound = FakeOutbound({URL: iter([503, FetchFailed("reset", True), 200])})
    assert fetch(outbound).status == 503
    with pytest.raises(FetchFailed):
        fetch(outbound)
    assert fetch(outbound).status == 200
    with pytest.raises(UnexpectedRequest, match="no further answer"):
        fetch(outbound)


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example.com/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://localhost/",
        "https://a.example:8443/",
    ],
)
def test_what_the_guard_refuses_by_sight_is_refused(url: str) -> None:
    outbound = FakeOutbound(lambda request: 200)
    with pytest.raises(FetchRefused):
        fetch(outbound, url)
    with pytest.raises(FetchRefused):
        fetch(FakeOutbound(lambda request: respond(302, headers={"Location": url})))
    assert outbound.requests == []


def test_redirects_are_followed_and_rules_can_be_those_of_the_host() -> None:
    outbound = FakeOutbound({URL: respond(302, headers={"Location": "/new"}), "https://api.example.com/new": "there"})
    assert fetch(outbound).url == "https://api.example.com/new"
    assert fetch(outbound, redirects=False).status == 302
    with pytest.raises(FetchFailed, match="redirects"):
        fetch(FakeOutbound(lambda request: respond(302, headers={"Location": URL})))
    assert fetch(FakeOutbound({"http://a.example:8080/": 200}, http=True, ports=(8080,)), "http://a.example:8080/")


def test_an_unexpected_request_fails_the_test_even_if_the_node_hides_it() -> None:
    @weftwork.node("acme.hides")
    async def hides(ctx: weftwork.Context) -> None:
        try:
            await ctx.fetch(URL)
        except Exception:
            ctx.log.info("never mind")

    with pytest.raises(UnexpectedRequest, match=f"no answer for GET {URL}"):
        run_node(hides)
    assert run_node(hides, fetch={URL: 200}).status == "completed"
