"""How media are to be shown: the payload of their envelope and its rendering hint, which must agree.

Sources: RFC 0055 B (rendering), RFC 0055 C (media kinds).
"""

from typing import Any, Final

from weftwork.protocol.envelopes.kinds import MEDIA_KINDS
from weftwork.protocol.envelopes.outcome import OutcomeDetail
from weftwork.protocol.json.values import is_object

DISPLAYS: Final = {kind: kind.removeprefix("media.") for kind in MEDIA_KINDS}
"""media-81 (RFC 0055 B): how each kind is displayed."""
MAX_ALT: Final = 2_000
"""Characters of a description or a title; more is cut."""


def rendering_hint(kind: str, payload: dict[str, Any], title: str = "") -> dict[str, Any]:
    """media-81 (RFC 0055 B): the hint for those who show it, made from what the payload says."""
    told = {"mimeType": payload.get("mimeType"), "alt": payload.get("alt"), "title": title}
    return {"display": DISPLAYS[kind], **{name: text for name, text in told.items() if text}}


def mirror_hint(document: dict[str, Any]) -> dict[str, Any]:
    """media-82 (RFC 0055 B): an envelope of media whose payload and hint say the same, wherever only one says it."""
    payload, meta = document.get("payload"), document.get("meta", {})
    hint: Any = meta.get("rendering", {}) if is_object(meta) else None
    if not is_object(payload) or not is_object(meta) or not is_object(hint):
        return document
    for name in ("mimeType", "alt"):
        if name not in payload and isinstance(hint.get(name), str):
            payload = {**payload, name: hint[name]}
    title = hint.get("title")
    shown = {**hint, **rendering_hint(document["type"], payload, title if isinstance(title, str) else "")}
    return {**document, "payload": payload, "meta": {**meta, "rendering": shown}}


def check_media_url(payload: dict[str, Any]) -> OutcomeDetail | None:
    """media-83 (RFC 0055 C): what is no web address is no URL of media in a run; bytes go inline by base64 alone."""
    if payload.get("url", "https://").startswith(("https://", "http://")):
        return None
    message = "must begin with https:// or http://; send bytes as base64"
    return OutcomeDetail("/payload/url", "#/properties/url", "pattern", message)
