"""An album: pictures that were uploaded or shown by runs, what the host said of them, and whether it keeps its word."""

import contextlib
import hashlib
import threading
from base64 import b64encode
from typing import Any
from urllib.parse import urlsplit

import msgspec

from tests.crash.client import CONNECTION_ERRORS
from tests.crash.oracle import listing
from tests.live import Host, until

UPLOADS = "/v1/host/weftwork/assets"
ENDED = ("completed", "failed", "cancelled")


def image_bytes(number: int) -> bytes:
    """Bytes that look like an image, of a size of their own; some are larger than what is written at once."""
    size = (300_000 if number % 7 == 0 else 2_000) + number
    return b"\x89PNG\r\n\x1a\n" + hashlib.shake_128(str(number).encode()).digest(size)


def image_digest(number: int) -> str:
    return hashlib.sha256(image_bytes(number)).hexdigest()


class ImageRun(msgspec.Struct):
    """A run that shows a picture. `sure`: nothing may keep it from doing so."""

    picture: int
    must_emit: bool = True
    run_id: str | None = None
    deleted: bool = False
    """Somebody tried to."""
    delete_confirmed: bool = False
    """And was told that it is."""


class AssetHistory:
    """Thread-safe as far as its clients need it: each appends, and looks at what is there."""

    def __init__(self) -> None:
        self.uploads: dict[int, str] = {}
        """Picture -> path of its URL, as the host has acknowledged it."""
        self.unheld: set[int] = set()
        """Those of them that stay only as long as a run refers to them."""
        self.image_runs: list[ImageRun] = []
        self.checked = 0
        self._lock = threading.Lock()

    def upload(self, host: Host, number: int) -> int:
        """The status; 0 for no answer."""
        with self._lock:
            # What is being sent again may be held again, or may not.
            self.unheld.add(number)
        with contextlib.suppress(*CONNECTION_ERRORS):
            answer = host.call("POST", UPLOADS, body=image_bytes(number), headers={"Content-Type": "image/png"})
            if answer.status == 201:
                document = answer.document
                assert (document["sha256"], document["bytes"]) == (image_digest(number), len(image_bytes(number))), (
                    document
                )
                assert document["mimeType"] == "image/png"
                with self._lock:
                    self.uploads[number] = urlsplit(document["url"]).path
                    self.unheld.discard(number)
            return answer.status
        return 0

    def start_emitting_run(self, host: Host, number: int) -> ImageRun:
        return self._start(host, ImageRun(number), "shows", {"data": b64encode(image_bytes(number)).decode()})

    def start_referring_run(self, host: Host, number: int) -> ImageRun:
        wish = ImageRun(number, number in self.uploads and number not in self.unheld)
        return self._start(host, wish, "refers", {"photo": f"weftwork-asset:{image_digest(number)}"})

    def _start(self, host: Host, wish: ImageRun, workflow: str, inputs: dict[str, Any]) -> ImageRun:
        self.image_runs.append(wish)
        with contextlib.suppress(*CONNECTION_ERRORS):
            answer = host.call("POST", "/v1/runs", {"workflowId": workflow, "inputs": inputs})
            if answer.status == 201:
                wish.run_id = answer.document["runId"]
        return wish

    def delete(self, host: Host, wish: ImageRun) -> None:
        wish.deleted = True
        with contextlib.suppress(*CONNECTION_ERRORS):
            answer = host.call("DELETE", f"/v1/runs/{wish.run_id}")
            assert answer.status in (204, 404, 409, 503), answer.body
            if answer.status in (204, 404):
                wish.delete_confirmed = True
            elif answer.status == 409:
                wish.deleted = False

    def expire_holds(self) -> None:
        """Time has passed: nobody holds an upload any more."""
        self.unheld |= set(self.uploads)

    @property
    def undeleted_runs(self) -> list[ImageRun]:
        return [wish for wish in self.image_runs if wish.run_id is not None and not wish.deleted]

    def await_ends(self, host: Host) -> None:
        def look() -> bool:
            found = host.call("GET", "/v1/runs?status=pending,running,paused&limit=1")
            return found.status == 200 and not found.document["runs"]

        until(look, "the runs to end")

    def check_assets(self, host: Host) -> set[str]:
        """Everything that was promised is there, whole. The digests of all that has to be."""
        self.await_ends(host)
        needed: set[str] = set()
        runs = listing(host).keys()
        lost = [wish for wish in self.undeleted_runs if wish.run_id not in runs]
        assert not lost, f"runs are lost: {lost}"
        back = [wish for wish in self.image_runs if wish.delete_confirmed and wish.run_id in runs]
        assert not back, f"runs are back that were deleted: {back}"
        sure = {wish.run_id: wish.picture for wish in self.undeleted_runs if wish.must_emit}
        for run_id in runs:
            needed |= self._check_run(host, run_id, sure.get(run_id))
        for number, path in self.uploads.items():
            if number not in self.unheld:
                check_served(host, path, image_digest(number))
                needed.add(image_digest(number))
        partial = list((host.data / "assets" / "partial").iterdir())
        assert not partial, f"there is a part of an asset: {partial}"
        return needed

    def _check_run(self, host: Host, run_id: str, number: int | None) -> set[str]:
        """`number` is the picture that it has shown for sure; otherwise it may have failed, or not have come to it."""
        shown = [event for event in host.log(run_id) if event["type"] == "media.image"]
        assert len(shown) <= 1, f"{run_id} shows its picture {len(shown)} times"
        if not shown:
            assert number is None, f"{run_id} shows nothing: {host.snapshot(run_id).get('error')}"
            return set()
        payload = shown[0]["payload"]
        known = {*self.uploads, *(wish.picture for wish in self.image_runs)}
        digest = next(image_digest(each) for each in known if len(image_bytes(each)) == payload["bytes"])
        assert number is None or digest == image_digest(number), f"{run_id} shows another picture"
        check_served(host, urlsplit(payload["url"]).path, digest)
        self.checked += 1
        return {digest}


def check_served(host: Host, path: str, digest: str) -> None:
    answer = host.call("GET", path, key=None)
    assert answer.status == 200, f"an asset is not served, but {answer.status}: {answer.body[:200]!r}"
    assert hashlib.sha256(answer.body).hexdigest() == digest, "an asset is not what it was"
