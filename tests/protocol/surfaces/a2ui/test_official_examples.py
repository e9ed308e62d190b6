"""The examples of the A2UI project, which are in its npm package, are imported or refused with a reason."""

import json
import re
from pathlib import Path

import pytest

from tests.browser.a2ui.renderers import BUILD, INSTALL, has_renderers
from weftwork.a2ui import decode_messages, from_messages, to_messages

EXAMPLES = BUILD.joinpath(
    "node_modules", "@a2ui", "web_core", "src", "v0_9", "schemas", "catalogs", "basic", "examples"
)
IMPORTED = 36
"""So many of the 43 examples of version 0.11.0 become surfaces."""
REFUSED = {
    "00_simple-login-form.json": "secrets",
    "09_login-form.json": "secrets",
    "36_modal.json": "no component of this type",
}

pytestmark = pytest.mark.skipif(not has_renderers(), reason=f"not installed: .venv/bin/python {' '.join(INSTALL)}")


def messages_of(path: Path) -> list[object]:
    document = json.loads(path.read_text("utf-8"))
    return decode_messages(json.dumps(document.get("messages", document)).encode())


def media(messages: list[object]) -> list[str]:
    """The addresses of images and other media."""
    return re.findall(r'"url": "(https?:[^"]+)"', json.dumps(messages))


def test_most_examples_become_surfaces_and_the_others_have_a_reason() -> None:
    paths = sorted(EXAMPLES.glob("*.json"))
    imported: list[str] = []
    for path in paths:
        messages = messages_of(path)
        payload, diagnostics = from_messages(messages)
        reasons = [each.message for each in diagnostics if not each.is_loss]
        assert (payload is None) == bool(reasons), path.name
        if payload is not None:
            imported.append(path.name)
            assert not any(url in json.dumps(payload) for url in media(messages)), path.name
            again, _ = from_messages(to_messages(payload, surface_id="again"))
            assert again == payload, path.name
        elif path.name in REFUSED:
            assert any(REFUSED[path.name] in each for each in reasons), reasons
    assert len(imported) == IMPORTED, imported
    assert not REFUSED.keys() & set(imported)
    assert REFUSED.keys() < {path.name for path in paths}
