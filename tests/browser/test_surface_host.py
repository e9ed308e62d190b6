"""Surfaces of a real host in a page of another origin: the example of docs/how-to/embed-a-form.md, in Chromium."""

import importlib.util
import re
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from tests.browser.chromium import Chromium, Tab
from tests.examples.pages import EXAMPLES, ROOT
from tests.live import KEY, Host, start_host, until
from tests.live.steering import cancel, payloads, register
from tests.live.tokens import approval_workflow, created_link

pytestmark = pytest.mark.slow

FOLDER = EXAMPLES / "embed_form"
GATE = approval_workflow("surface-gate", title="Offer 17", actions=["accept", "reject"])


def shop_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("embed_form_shop", FOLDER / "shop.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def shop() -> Iterator[Any]:
    module = shop_module()
    module.Visit.log_message = lambda *_: None
    server = module.Shop("0", "", KEY)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(120)


@pytest.fixture(scope="module")
def host(shop: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    env = {"WEFTWORK_EMBED_ORIGINS": f"http://127.0.0.1:{shop.server_port}"}
    folder = tmp_path_factory.mktemp("embed")
    with start_host(folder, "--workflows", FOLDER, store="memory", env=env) as host:
        shop.host = host.address
        yield host


@pytest.fixture
def tab(browser: Chromium, host: Host) -> Iterator[Tab]:
    opened = browser.tab()
    opened.screen(800, 900)
    yield opened
    opened.close()


def state(tab: Tab) -> str | None:
    return tab.evaluate("document.querySelector('.wfs')?.dataset.state")


def wait_for(tab: Tab, wanted: str) -> None:
    until(lambda: state(tab) == wanted, f"the form to be {wanted}", 30)


def newest_run(host: Host) -> str:
    return host.call("GET", "/v1/runs?limit=1").document["runs"][0]["runId"]


def fill_in(tab: Tab) -> None:
    tab.fill(".wfs input[type=text]", "Ada")
    tab.evaluate("document.querySelector('.wfs input[type=date]').value = '2026-02-03'")


def test_the_example_books_a_room(host: Host, shop: Any, tab: Tab) -> None:
    tab.open(f"http://127.0.0.1:{shop.server_port}/")
    wait_for(tab, "open")
    assert tab.evaluate("document.querySelector('.wfs-title').innerText") == "Book a room in Basel"
    assert "Form from Harbour Hotel" in tab.evaluate("document.body.innerText")
    tab.click(".wfs button")
    assert tab.evaluate("document.querySelectorAll('[aria-invalid=true]').length") == 2
    fill_in(tab)
    tab.click(".wfs button")
    wait_for(tab, "sent")
    until(lambda: tab.evaluate("!document.getElementById('thanks').hidden"), "the page to be told", 20)
    run_id = newest_run(host)
    (resolved,) = payloads(host, run_id, "interrupt.resolved")
    assert resolved["resumeValue"] == {"guest": "Ada", "arrival": "2026-02-03", "breakfast": True, "action": "book"}
    assert until(lambda: host.snapshot(run_id)["status"] == "completed", "the run to end", 20)
    tab._settle()
    origins = {url.split("/")[2] for url in tab.requests if url.startswith("http")}
    assert origins == {f"127.0.0.1:{shop.server_port}", f"127.0.0.1:{host.port}"}
    assert not any(KEY in url for url in tab.requests)
    assert KEY not in tab.evaluate("document.documentElement.outerHTML")
    assert [text for text in tab.complaints if "400" not in text] == []


def test_a_form_that_was_withdrawn_says_so(host: Host, shop: Any, tab: Tab) -> None:
    tab.open(f"http://127.0.0.1:{shop.server_port}/")
    wait_for(tab, "open")
    cancel(host, newest_run(host))
    fill_in(tab)
    tab.click(".wfs button")
    wait_for(tab, "closed")
    tab.click(".wfs button")
    assert payloads(host, newest_run(host), "interrupt.resolved") == []


def test_the_form_that_the_host_derives_for_an_approval(host: Host, shop: Any, tab: Tab) -> None:
    """The page has no key: it answers by the link, with the buttons of the approval."""
    run_id = host.create(register(host, GATE))
    link = created_link(host, run_id)
    form = f"{host.address}/v1/host/weftwork/interrupts/{link['token']}/surface"
    shop.start_booking = lambda: form
    try:
        tab.open(f"http://127.0.0.1:{shop.server_port}/")
        wait_for(tab, "open")
        buttons = tab.evaluate("[...document.querySelectorAll('.wfs button')].map(each => each.innerText)")
        assert len(buttons) == 2
        tab.click(".wfs-action button")
        wait_for(tab, "sent")
        (received,) = payloads(host, run_id, "approval.received")
        assert received["action"] == "accept"
        # Visited again, the link says that there is nothing left to do.
        tab.open(f"http://127.0.0.1:{shop.server_port}/")
        until(lambda: state(tab) in ("failed", "closed"), "the notice", 30)
    finally:
        del shop.start_booking


def test_a_page_that_is_not_listed_cannot_read_or_answer(browser: Chromium, host: Host, shop: Any, tab: Tab) -> None:
    other = shop_module()
    server = other.Shop("0", host.address, KEY)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        tab.open(f"http://127.0.0.1:{server.server_port}/")
        until(lambda: state(tab) == "failed", "the refusal", 30)
        tab._settle()
        assert any("blocked by CORS policy" in text for text in tab.complaints)
        run_id = newest_run(host)
        assert host.snapshot(run_id)["status"].startswith("waiting")
    finally:
        server.shutdown()
        server.server_close()
        thread.join(120)


def test_the_page_of_the_documentation_shows_the_script_of_the_example() -> None:
    page = (ROOT / "docs" / "how-to" / "embed-a-form.md").read_text("utf-8")
    (shown,) = re.findall(r"```js\n(.*?)```", page, re.DOTALL)
    assert shown in (FOLDER / "shop.js").read_text("utf-8")
    (rules,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    policy = shop_module().POLICY.replace("HOST", "https://flows.example.org")
    assert sorted(rules.replace("\n", " ").strip().split("; ")) == sorted(policy.split("; "))
