"""Media in the kit: assets come in by the inputs, and what is shown comes out with its bytes."""

from pathlib import Path
from typing import Any

import weftwork
from tests.adapters.python.fake_node_host import single_node_workflow
from weftwork.conformance.nodes.media_emit import sample_media
from weftwork.testing import Asset, Crash, Shown, run_node, run_workflow

PNG = sample_media("image", 80)


@weftwork.node("acme.sizes")
async def sizes(ctx: weftwork.Context, given: Any) -> list[int]:
    return [len((await ctx.read_media(each)).data) for each in given["all"]]


def test_an_asset_is_a_reference_in_json(tmp_path: Path) -> None:
    file = tmp_path / "dot.png"
    file.write_bytes(PNG)
    asset = Asset(file)
    assert dict(asset) == {"mediaRef": asset.media_ref, "mimeType": "image/png", "bytes": 80}
    assert Asset(PNG, "text/html")["mimeType"] == "application/octet-stream"
    assert len(asset) == 3


def test_assets_may_stand_anywhere_in_the_inputs() -> None:
    given = {"all": [Asset(PNG), Asset(b"text"), {**Asset(PNG), "more": 1}]}
    assert run_node(sizes, inputs={"given": given}).outputs == {"output": [80, 4, 80]}
    document = single_node_workflow("sizes", "acme.sizes", {"given": {"all": [Asset(b"12345")]}})
    assert run_workflow(document, nodes=[sizes]).outputs["n"] == {"output": [5]}


def test_without_the_upload_nothing_is_found() -> None:
    asset = Asset(PNG)
    failed = run_node(sizes, inputs={"given": {"all": [dict(asset)]}})
    assert failed.error is not None
    assert failed.error.code == "media_not_found"


def test_what_is_shown_has_its_bytes_and_its_node() -> None:
    @weftwork.node("acme.show")
    async def show(ctx: weftwork.Context) -> None:
        await ctx.emit_image(PNG, alt="A dot", inline=True)
        await ctx.emit_file(b"text", name="a.txt")

    result = run_workflow(single_node_workflow("show", "acme.show"), nodes=[show], faults=[Crash(at=3)])
    assert result.lives == 2
    assert result.nodes["n"].media == result.media
    first, second = result.media
    assert isinstance(first, Shown)
    assert (first.kind, first.data, first.node_id, first.payload["alt"]) == ("image", PNG, "n", "A dot")
    assert (second.kind, second.data, second.payload["name"]) == ("file", b"text", "a.txt")
    assert ("base64" in first.payload, "url" in second.payload) == (True, True)


def test_what_the_log_hides_is_shown_without_its_bytes() -> None:
    config = {"kind": "file", "text": "pin {{variables.pin}}", "alt": "A pin"}
    document = single_node_workflow("hides", "core.media.emit", config=config)
    document["variables"] = [{"name": "pin", "type": "string", "sensitive": True}]
    result = run_workflow(document, inputs={"pin": "s3cret-4711"})
    assert result.error is None
    (shown,) = result.media
    assert (shown.data, shown.payload["url"]) == (b"", "[REDACTED:n.url]")
    assert "4711" not in f"{result.events}"
