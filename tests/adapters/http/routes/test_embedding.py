"""Pages of other origins: which of them may call the surface of a link, and that no page may call anything else."""

from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without
from tests.live import KEY, InProcessHost, open_in_process, weftwork
from weftwork.adapters.http import app
from weftwork.protocol.wire import embedding
from weftwork.protocol.wire.embedding import EMBEDDED_OPERATIONS, embedding_headers, is_origin
from weftwork.protocol.wire.v1.routes import ROUTES

SHOP = "https://shop.example"
TOKEN = "a" * 40
SURFACE = f"/v1/host/weftwork/interrupts/{TOKEN}/surface"
ACTION = f"/v1/host/weftwork/interrupts/{TOKEN}/actions/book"
ALLOWED = "access-control-allow-origin"


async def ask(host: InProcessHost, method: str, path: str, origin: str, key: str = "") -> Any:
    document = {"values": {}} if method == "POST" else None
    return await host.call(method, path, document, headers={"origin": origin} if origin else {}, key=key)


@pytest.mark.rule("surf-64")
@fails_without(embedding, "EMBEDDED_OPERATIONS", frozenset(), errors=(KeyError,))
async def test_a_listed_page_can_read_the_surface_of_a_link_and_its_errors() -> None:
    async with open_in_process(embed_origins=(SHOP,)) as host:
        for method, path in (("GET", SURFACE), ("POST", ACTION)):
            answer = await ask(host, method, path, SHOP)
            assert (answer.status, answer.document["error"]) == (404, "interrupt_not_found")
            assert (answer.headers[ALLOWED], answer.headers["vary"]) == (SHOP, "origin")
            preflight = await ask(host, "OPTIONS", path, SHOP)
            assert (preflight.status, preflight.body) == (204, b"")
            assert preflight.headers[ALLOWED] == SHOP
            assert preflight.headers["access-control-allow-methods"] == "GET, POST"
            assert preflight.headers["access-control-allow-headers"] == "content-type, idempotency-key"
            assert "access-control-allow-credentials" not in preflight.headers


@pytest.mark.rule("surf-64")
@fails_without(app, "embedding_headers", lambda *_, **__: [(b"access-control-allow-origin", b"*")])
async def test_no_other_page_and_no_other_path_is_allowed() -> None:
    async with open_in_process(embed_origins=(SHOP,)) as host:
        for origin in (
            "https://evil.example",
            "https://shop.example.evil.example",
            "http://shop.example",
            "null",
            "",
        ):
            for method, path in (("GET", SURFACE), ("POST", ACTION), ("OPTIONS", SURFACE), ("OPTIONS", ACTION)):
                answer = await ask(host, method, path, origin)
                assert ALLOWED not in answer.headers
                assert answer.status != 204
        for path in ("/v1/runs", "/v1/runs/x/interrupts", f"/v1/interrupts/{TOKEN}", "/.well-known/openwop", "/x"):
            for method in ("GET", "OPTIONS"):
                assert ALLOWED not in (await ask(host, method, path, SHOP, KEY)).headers
        refused = await ask(host, "OPTIONS", "/v1/host/weftwork/runs/x/surfaces/y", SHOP, KEY)
        assert (refused.status, ALLOWED in refused.headers) == (405, False)


@pytest.mark.rule("surf-64")
async def test_without_a_list_no_page_is_allowed_and_with_a_star_every_page() -> None:
    async with open_in_process() as host:
        for method in ("GET", "OPTIONS"):
            answer = await ask(host, method, SURFACE, SHOP)
            assert not {ALLOWED, "vary"} & answer.headers.keys()
        assert (await ask(host, "OPTIONS", SURFACE, SHOP, KEY)).status == 405
    async with open_in_process(embed_origins=("*",)) as host:
        assert (await ask(host, "GET", SURFACE, "null")).headers[ALLOWED] == "*"


@pytest.mark.rule("surf-64")
def test_no_operation_that_needs_a_key_can_be_embedded() -> None:
    routes = {route.operation_id: route for route in ROUTES}
    assert {routes[name].scope for name in EMBEDDED_OPERATIONS} == {None}
    private = frozenset(name for name, route in routes.items() if route.scope is not None)
    assert embedding_headers(frozenset({"*"}), private, SHOP) == []
    assert embedding_headers(frozenset({"*"}), private, SHOP, is_preflight=True) == []


@each_case(
    "text, valid",
    ("*", True),
    (SHOP, True),
    ("http://localhost:8000", True),
    ("http://[::1]:8000", True),
    ("https://shop.example/", False),
    ("https://Shop.example", False),
    ("shop.example", False),
    ("https://*.example", False),
    ("https://a@b", False),
    ("null", False),
    ("", False),
    ("https://shop.example\r\n", False),
)
def test_an_origin_is_what_a_browser_sends(text: str, valid: bool) -> None:
    assert is_origin(text) is valid


def test_the_setting_is_checked(tmp_path: Path) -> None:
    wrong = weftwork(tmp_path, "serve", "--port", "0", env={"WEFTWORK_EMBED_ORIGINS": "shop.example"})
    assert wrong.returncode == 2
    assert "WEFTWORK_EMBED_ORIGINS must be a list of origins, like https://shop.example, or *" in wrong.stderr
