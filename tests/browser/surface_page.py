"""A page that renders a surface with `weftwork-surface.js`, and a server that answers as the routes of surfaces do.

The page has the strictest policy: no inline script or style, and no string that becomes markup (Trusted Types). Its
server records every request, every action, and every report of a breach of the policy.
"""

import copy
import json
import re
import threading
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

from tests.browser.chromium import Chromium, Tab
from tests.browser.local_server import LocalServer
from weftwork.adapters.http.routes.host_info import SURFACE_MODULE
from weftwork.protocol.errors import ClientFault, error_document
from weftwork.protocol.surfaces.actions import BoundSurface, resolve_action
from weftwork.protocol.surfaces.surface import parse_surface

EDITS: tuple[tuple[str, str], ...] = ()
"""Changes of the module, as (text, other text), for tests of what happens without one of its guards."""
POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'; report-uri /report"
)
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<script type="module" src="/page.js"></script></head>
<body><main><h1>A page of somebody</h1><h2>Your form</h2><div id="form"></div><button id="after">After</button></main>
</body></html>
"""
SCRIPT = """
import * as kit from "/v1/host/weftwork/weftwork-surface.js";
window.kit = kit;
window.pressed = [];
window.breaches = [];
// A dialog would block the page, and nothing else would tell that a script ran.
for (const name of ["alert", "confirm", "prompt"]) window[name] = () => { window.breaches.push("a script ran"); };
document.addEventListener("securitypolicyviolation", (event) => window.breaches.push(event.violatedDirective));
window.show = (view, options) => {
  window.form = kit.renderSurface(document.getElementById("form"), view, {
    onAction: async (...about) => { window.pressed.push(about); },
    ...options,
  });
};
"""
SURFACE_PATH = "/v1/host/weftwork/runs/run-1/surfaces/env-1"
TOKEN_PATH = "/v1/host/weftwork/interrupts/token-1"


def button(name: str, label: str | None = None, target: str = "resume") -> dict[str, Any]:
    return {"component": "action.button", "id": name, "label": label or name.title(), "action": {"target": target}}


def field(kind: str, name: str, label: str | None = None, **more: Any) -> dict[str, Any]:
    return {"component": f"field.{kind}", "id": name, "label": label or name.title(), **more}


OPTIONS = [{"value": "r1", "label": "River"}, {"value": "r2", "label": "Road"}]
BOOKING: list[dict[str, Any]] = [
    {"component": "heading", "text": "Your stay", "level": 2},
    {"component": "text", "text": "We need this to book.\nIt takes a minute."},
    field("text", "guest", "Name", required=True, placeholder="As in your passport"),
    field("date", "arrival", "First night", required=True),
    {"component": "heading", "text": "Room", "level": 5},
    field("select", "room", "Room", required=True, options=OPTIONS),
    field("checkbox", "breakfast", "Breakfast", default=True),
    button("book", "Book it"),
    button("later", "Ask me later"),
]


def payload_of(*components: dict[str, Any], title: str | None = "Book a room", **more: Any) -> dict[str, Any]:
    surface = {"components": list(components), **({} if title is None else {"title": title})}
    return {"catalogVersion": "0.9.1", "surface": surface, **more}


def view_of(payload: Any, **more: Any) -> dict[str, Any]:
    """The JSON of `GET …/surfaces/{surfaceId}`."""
    payload = copy.deepcopy(payload)
    components = payload.get("surface", {}).get("components", []) if isinstance(payload, dict) else []
    listed = [each for each in components if isinstance(each, dict) and each.get("component") == "action.button"]
    actions = [
        {"id": each.get("id"), "label": each.get("label"), "target": (each.get("action") or {}).get("target")}
        for each in listed
    ]
    return {
        "surfaceId": "env-1",
        "runId": "run-1",
        "nodeId": "ask",
        "interruptId": "ask.0",
        "status": "open",
        "contentTrust": "trusted",
        "payload": payload,
        "actions": actions,
        "render": True,
        **more,
    }


def booking(**more: Any) -> dict[str, Any]:
    return view_of(payload_of(*BOOKING), **more)


def module_source() -> bytes:
    text = SURFACE_MODULE.read_text("utf-8")
    for old, new in EDITS:
        if text.count(old) != 1:
            raise LookupError(f"not once in the module: {old}")
        text = text.replace(old, new)
    return text.encode()


class SurfaceServer(LocalServer):
    """Serves the page, the module, and one surface with its actions."""

    def __init__(self, view: Any = None, policy: str = POLICY, cors: str | None = None) -> None:
        self.view = view if view is not None else booking()
        self.kind = "custom"
        self.policy, self.cors = policy, cors
        self.page, self.script, self.module = PAGE, SCRIPT, module_source()
        self.paths: list[str] = []
        """Method and path of each request."""
        self.actions: list[tuple[str, Any]] = []
        """Id and answer of each action that was accepted."""
        self.posts: list[dict[str, Any]] = []
        """Path, headers and body of each POST of an action."""
        self.reports: list[str] = []
        self.failures: list[tuple[int, Any]] = []
        """Responses for the next actions, instead of their result."""
        self.gate = threading.Event()
        """Actions are answered while it is set."""
        self.gate.set()
        super().__init__(self._handler())

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __exit__(self, *about: Any) -> None:
        self.gate.set()
        super().__exit__(*about)

    def act(self, action: str, body: Any) -> tuple[int, Any]:
        """As the route does: the answer of the stored surface, or the error."""
        if self.failures:
            return self.failures.pop(0)
        surface = parse_surface(self.view["payload"])
        assert surface is not None
        bound = BoundSurface(surface, self.kind, is_untrusted=self.view["contentTrust"] != "trusted")
        try:
            answer = resolve_action(bound, action, body["values"])
        except ClientFault as fault:
            return fault.status, error_document(fault.code, fault.message, fault.details)
        self.actions.append((action, answer))
        return 200, {"runId": "run-1", "nodeId": "ask", "status": "running"}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                server.paths.append(f"GET {self.path}")
                if path == "/page":
                    self._send(200, server.page.encode(), "text/html; charset=utf-8")
                elif path == "/page.js":
                    self._send(200, server.script.encode(), "text/javascript")
                elif path == "/v1/host/weftwork/weftwork-surface.js":
                    self._send(200, server.module, "text/javascript; charset=utf-8")
                elif path in (SURFACE_PATH, f"{TOKEN_PATH}/surface"):
                    self._send_json(200, server.view)
                else:
                    self._send_json(404, error_document("not_found", "There is nothing at this path."))

            def do_POST(self) -> None:
                server.paths.append(f"POST {self.path}")
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.path == "/report":
                    server.reports.append(body.decode())
                    return self._send(204, b"", "text/plain")
                assert self.headers["content-type"] == "application/json"
                found = re.fullmatch(rf"(?:{SURFACE_PATH}|{TOKEN_PATH})/actions/([^/]+)", self.path)
                server.posts.append({"path": self.path, "headers": dict(self.headers), "body": json.loads(body)})
                server.gate.wait(60)
                if found is None:
                    return self._send_json(404, error_document("not_found", "There is nothing at this path."))
                return self._send_json(*server.act(unquote(found[1]), json.loads(body)))

            def do_OPTIONS(self) -> None:
                server.paths.append(f"OPTIONS {self.path}")
                self._send(204, b"", "text/plain")

            def _send_json(self, status: int, document: Any) -> None:
                self._send(status, json.dumps(document).encode(), "application/json")

            def _send(self, status: int, body: bytes, content_type: str) -> None:
                self.send_response(status)
                self.send_header("content-security-policy", server.policy)
                if server.cors is not None:
                    self.send_header("access-control-allow-origin", server.cors)
                    self.send_header("access-control-allow-headers", "authorization, content-type, idempotency-key")
                self.send_header("content-type", content_type)
                if status != 204:
                    self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        return Handler


class SurfacePage:
    """The page in a tab. At the end, nothing was requested but the page, its script and the module."""

    def __init__(self, browser: Chromium, server: SurfaceServer | None = None) -> None:
        self.server = server or SurfaceServer()
        self.allowed = {"/page", "/page.js", "/v1/host/weftwork/weftwork-surface.js"}
        self._browser = browser
        self.tab: Tab

    def __enter__(self) -> Self:
        self.server.__enter__()
        self.tab = self._browser.tab()
        self.tab.screen(1100, 900)
        self.tab.open(f"{self.server.address}/page")
        assert self.run("typeof window.kit") == "object"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                found = self.breaches()
                assert found == [], found
        finally:
            self.tab.close()
            self.server.__exit__(kind, error, trace)

    def run(self, expression: str) -> Any:
        """The value of an expression, or of its promise."""
        said = self.tab.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def show(self, view: Any, options: str = "{}") -> None:
        self.run(f"show({json.dumps(view)}, {options})")

    def connect(self, url: str = SURFACE_PATH, options: str = "{}", wait: bool = True) -> None:
        """Let the page fetch the surface itself. The address and those of its actions are then allowed."""
        path = url.partition("?")[0].removesuffix("/surface")
        self.allowed |= {url, *(f"{path}/actions/{name}" for name in ("book", "later"))}
        self.run(
            "window.answers = []; window.faults = [];"
            f"window.form = kit.connectSurface(document.getElementById('form'), {{url: {json.dumps(url)},"
            " onAnswered: (...about) => answers.push(about), onError: (error) => faults.push(error.message),"
            f" ...{options}}});" + ("form.ready" if wait else "null")
        )

    def update(self, view: Any) -> None:
        self.run(f"form.update({json.dumps(view)})")

    def settle(self) -> None:
        """Let the tasks run that are waiting in the page."""
        self.run("new Promise((done) => setTimeout(done))")

    def text(self, selector: str = "#form") -> str:
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    @property
    def state(self) -> str:
        return self.run("document.querySelector('.wfs').dataset.state")

    @property
    def pressed(self) -> list[Any]:
        return self.run("window.pressed")

    def control(self, label: str) -> str:
        """The selector of the control with this label."""
        found = self.run(
            "[...document.querySelectorAll('.wfs-label')]"
            f".find(e => e.firstChild.data === {json.dumps(label)})?.htmlFor"
        )
        assert found, f"no field {label}"
        return f"#{found}"

    def fill(self, label: str, text: str) -> None:
        self.tab.fill(self.control(label), text)

    def choose(self, label: str, value: str | bool) -> None:
        """Choose an option, enter a date, or check a box, as the element of the browser does."""
        name = "checked" if isinstance(value, bool) else "value"
        self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(self.control(label))}); e.{name} = "
            f"{json.dumps(value)}; e.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"
        )

    def fill_in(self) -> None:
        """All that the booking needs."""
        self.fill("Name", "Ada")
        self.choose("First night", "2026-02-03")
        self.choose("Room", "1")

    def press(self, label: str) -> None:
        self.run(
            f"[...document.querySelectorAll('.wfs button')].find(e => e.textContent === {json.dumps(label)})"
            ".setAttribute('data-now', '')"
        )
        self.tab.click("[data-now]")
        self.run("document.querySelector('[data-now]')?.removeAttribute('data-now')")

    def breaches(self) -> list[str]:
        """What happened that must not: requests to others, reports of the policy, complaints of the console."""
        # Two frames are drawn, so what begins with the elements has begun.
        for _ in range(2):
            self.tab.call("Page.captureScreenshot", format="jpeg", quality=1)
        self.tab._settle()
        prefix = self.server.address
        asked = [url for url in self.tab.requests if not url.startswith("data:image/svg+xml;base64,")]
        wrong = [url for url in asked if url.removeprefix(prefix).partition("?")[0] not in self.allowed]
        wrong += [path for path in self.server.paths if path.split(" ")[1].partition("?")[0] not in self.allowed]
        complaints = [text for text in self.tab.complaints if "responded with a status of" not in text]
        return wrong + complaints + self.server.reports + ["alert"] * self.tab.alerts + self.run("window.breaches")
