"""Chromium over the DevTools protocol, by two pipes: no driver, no package, no port."""

import itertools
import json
import os
import queue
import shutil
import subprocess
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

WAIT = 120.0
NAMES = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-default-apps --disable-extensions --disable-dev-shm-usage "
    "--mute-audio --hide-scrollbars --remote-debugging-pipe"
).split()


def installed() -> str | None:
    """The browser of this machine, or the one that WEFTWORK_BROWSER names."""
    named = os.environ.get("WEFTWORK_BROWSER")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


def executable() -> str:
    """There is no test without one."""
    found = installed()
    assert found, f"No browser: install Chromium ({', '.join(NAMES)}) or set WEFTWORK_BROWSER to its path."
    return found


class Chromium:
    """One browser process with one tab at a time."""

    def __init__(self, profile: Path) -> None:
        # The browser reads from descriptor 3 and writes to descriptor 4.
        script = 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null'
        command = ["sh", "-c", script, "sh", executable(), *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._out, self._in = self._process.stdin, self._process.stdout
        self._numbers = itertools.count(1)
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._listeners: dict[str, queue.Queue[dict[str, Any]]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closing the pipe ends the browser; if it does not, it is killed with all its processes."""
        self._out.close()
        try:
            self._process.wait(WAIT)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, 9)
            self._process.wait(WAIT)
        self._reader.join(WAIT)
        self._in.close()

    def tab(self) -> "Tab":
        """A tab in a context of its own: nothing is left of another one."""
        context = self.call("Target.createBrowserContext", {})["browserContextId"]
        self.call("Browser.setDownloadBehavior", {"behavior": "deny", "browserContextId": context})
        target = self.call("Target.createTarget", {"url": "about:blank", "browserContextId": context})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        self._listeners[session] = queue.Queue()
        return Tab(self, session, target, self._listeners[session])

    def call(self, method: str, params: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        number = next(self._numbers)
        answer: queue.Queue[dict[str, Any]] = queue.Queue()
        self._answers[number] = answer
        message = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        self._out.write(json.dumps(message).encode() + b"\0")
        said = answer.get(timeout=WAIT)
        assert "error" not in said, (method, said)
        return said["result"]

    def _read(self) -> None:
        rest = b""
        while piece := self._in.read(65_536):
            *whole, rest = (rest + piece).split(b"\0")
            for text in whole:
                message = json.loads(text)
                if "id" in message:
                    self._answers.pop(message["id"]).put(message)
                elif message.get("sessionId") in self._listeners:
                    self._listeners[message["sessionId"]].put(message)


class Tab:
    """A page as a person has it, and what it did behind their back."""

    def __init__(self, browser: Chromium, session: str, target: str, events: "queue.Queue[dict[str, Any]]") -> None:
        self._browser, self._session, self._target, self._events = browser, session, target, events
        self.requests: list[str] = []
        """Addresses that were asked for, in their order."""
        self.complaints: list[str] = []
        """What the console says at the level of a warning or an error."""
        self.alerts = 0
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, params, self._session)

    def close(self) -> None:
        self._browser.call("Target.closeTarget", {"targetId": self._target})

    def screen(self, width: int, height: int, phone: bool = False, dark: bool = False, scale: float = 1) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": phone}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Emulation.setTouchEmulationEnabled", enabled=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, url: str) -> None:
        """Go there, and return when the page and all that belongs to it is loaded."""
        self._settle()
        self.call("Page.navigate", url=url)
        self.loaded()

    def visit(self, url: str) -> bool:
        """Go there; whether there is a page, and not something to save or nothing at all."""
        self._settle()
        if "errorText" in self.call("Page.navigate", url=url):
            self._settle()
            return False
        self.loaded()
        return True

    def loaded(self) -> None:
        """Wait for the next page."""
        while True:
            event = self._events.get(timeout=WAIT)
            self._note(event)
            if event["method"] == "Page.loadEventFired":
                self._settle()
                return

    def evaluate(self, expression: str) -> Any:
        """What a script of ours sees; the page's own policy does not concern it."""
        said = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        """One stroke of a key."""
        about = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **about, **_text(text))
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def write(self, text: str) -> None:
        """Text into what has the focus."""
        self.call("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """A press of the mouse in the middle of an element, which is brought into sight before."""
        place = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'});"
            " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            at = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=kind, **at)

    def fill(self, selector: str, text: str) -> None:
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        self.evaluate("document.activeElement.select && document.activeElement.select()")
        self.write(text)

    def _settle(self) -> None:
        """Take in what was reported until now."""
        self.evaluate("1")
        while not self._events.empty():
            self._note(self._events.get_nowait())

    def _note(self, event: dict[str, Any]) -> None:
        method, params = event["method"], event["params"]
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("warning", "error"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(str(params["args"]))
        elif method == "Page.javascriptDialogOpening":
            self.alerts += 1
            self.call("Page.handleJavaScriptDialog", accept=False)


def _text(text: str) -> dict[str, str]:
    return {"text": text, "unmodifiedText": text} if text else {}
