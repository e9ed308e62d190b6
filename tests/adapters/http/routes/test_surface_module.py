"""The module that renders surfaces in other pages: how it is served, its size, and what its source must not contain."""

import gzip
import re
import shutil
from pathlib import Path

import pytest
from tools import surface_module

from tests.harness.cases import each_case, fails_without
from tests.live import Host
from tests.live.fixtures import host as host
from weftwork.adapters.http.routes.host_info import SURFACE_MODULE
from weftwork.protocol.surfaces import limits
from weftwork.protocol.surfaces.surface import COMPONENTS

ROOT = Path(__file__).parents[4]
PATH = "/v1/host/weftwork/weftwork-surface.js"
MAX_BYTES = 12 * 1024
SOURCE = SURFACE_MODULE.read_text("utf-8")
FORBIDDEN = (
    r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|DOMParser|srcdoc|createContextualFragment|document\.write",
    r"\beval\b|new Function|import\(|setTimeout\(\s*[\"'`]|javascript:",
    r"\.style\b|\.cssText|setAttribute\(\s*[\"'](?:style|on)",
    r"XMLHttpRequest|sendBeacon|WebSocket|EventSource|new Image|localStorage|sessionStorage|document\.cookie",
    r"https?://",
    r"trustedTypes",
)


@pytest.mark.rule("surf-62")
def test_every_page_may_import_the_module(host: Host) -> None:
    answer = host.call("GET", PATH, key=None, headers={"Origin": "https://elsewhere.example"})
    assert (answer.status, answer.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    assert answer.body == SURFACE_MODULE.read_bytes()
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.rule("surf-62")
def test_only_a_url_with_the_version_is_cached_for_good(host: Host) -> None:
    first = host.call("GET", PATH, key=None)
    version = first.headers["etag"].strip('"')
    for query, lasting in (("", False), (f"?v={version}", True), ("?v=other", False), ("?v=", False)):
        answer = host.call("GET", PATH + query, key=None)
        assert ("immutable" in answer.headers["cache-control"]) is lasting
        again = host.call("GET", PATH + query, key=None, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status, again.body) == (304, b"")
        assert again.headers["access-control-allow-origin"] == "*"
        assert again.headers["cache-control"] == answer.headers["cache-control"]


def test_the_module_is_small() -> None:
    assert len(gzip.compress(SURFACE_MODULE.read_bytes(), 9)) <= MAX_BYTES


def test_the_module_imports_nothing_and_cannot_build_markup_or_code() -> None:
    code = re.sub(r"^\s*(?://|/?\*).*$", "", SOURCE, flags=re.MULTILINE)
    assert not re.search(r"^import\b", code, re.MULTILINE)
    found = [match for pattern in FORBIDDEN for match in re.findall(pattern, code)]
    assert found == []
    assert len(re.findall(r"\bfetch\(", code)) == 1


@each_case("line", "node.innerHTML = x", "eval(x)", "node.style.color = x", "new WebSocket(x)", "import('x')")
def test_what_the_module_must_not_contain_is_found(line: str) -> None:
    assert any(re.search(pattern, line) for pattern in FORBIDDEN)


@pytest.mark.rule("surf-60")
def test_the_constants_of_the_module_are_those_of_the_host() -> None:
    assert surface_module.main(["--check"], ROOT) == 0
    constants = surface_module.constants()
    for each in COMPONENTS:
        assert f'"{each.__struct_config__.tag}":' in constants


@pytest.mark.rule("surf-60")
@fails_without(surface_module, "filled", lambda text: text)
def test_a_stale_module_is_found_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / surface_module.MODULE
    module.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / surface_module.MODULE, module)
    with monkeypatch.context() as patched:
        patched.setitem(surface_module.LIMITS, "components", limits.MAX_COMPONENTS + 1)
        assert surface_module.main(["--check"], tmp_path) == 1
        assert surface_module.main([], tmp_path) == 0
        assert f'"components":{limits.MAX_COMPONENTS + 1}' in module.read_text("utf-8")
    assert surface_module.main(["--check"], tmp_path) == 1
