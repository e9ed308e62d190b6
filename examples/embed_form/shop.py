"""The backend of a page that shows a form of a workflow: it has the API key, and the page gets a signed link."""

import argparse
import json
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER = Path(__file__).parent
FILES = {"/": ("page.html", "html"), "/shop.js": ("shop.js", "javascript"), "/shop.css": ("shop.css", "css")}
POLICY = "default-src 'none'; style-src 'self'; script-src 'self' HOST; connect-src 'self' HOST; base-uri 'none'; \
form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"


class Shop(ThreadingHTTPServer):
    def __init__(self, port: str, host: str, key: str) -> None:
        super().__init__(("127.0.0.1", int(port)), Visit)
        self.host, self.key = host, key

    def call(self, path: str, document: object = None) -> dict:
        body = None if document is None else json.dumps(document).encode()
        request = urllib.request.Request(self.host + path, body, {"Authorization": f"Bearer {self.key}"})  # noqa: S310
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return json.load(answer)

    def start_booking(self) -> str:
        """The address of the form of a new run."""
        run = "/v1/runs/" + self.call("/v1/runs", {"workflowId": "stay", "inputs": {"city": "Basel"}})["runId"]
        while not (waiting := self.call(f"{run}/interrupts")["interrupts"]):
            time.sleep(0.05)
        link = self.call(f"/v1/host/weftwork{run[3:]}/interrupts/{waiting[0]['nodeId']}/links", {})
        return f"{self.host}/v1/host/weftwork/interrupts/{link['token']}/surface"


class Visit(BaseHTTPRequestHandler):
    server: Shop

    def do_GET(self) -> None:
        name, media_type = FILES.get(self.path, ("", ""))
        text = (FOLDER / name).read_text("utf-8").replace("HOST", self.server.host) if name else ""
        self.send(200 if name else 404, text, f"text/{media_type or 'plain'}")

    def do_POST(self) -> None:
        self.send(201, json.dumps({"form": self.server.start_booking()}), "application/json")

    def send(self, status: int, text: str, media_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Security-Policy", POLICY.replace("HOST", self.server.host))
        self.end_headers()
        self.wfile.write(text.encode())


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    [options.add_argument(f"--{name}", required=True) for name in ("port", "host", "key")]
    Shop(**vars(options.parse_args())).serve_forever()
