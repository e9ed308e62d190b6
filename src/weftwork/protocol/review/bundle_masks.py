"""Masks for the parts of a debug bundle: credentials, media and long base64 are replaced."""

from typing import Any

import msgspec

from weftwork.protocol.json.values import map_texts
from weftwork.protocol.privacy.credential_patterns import may_hold_credential
from weftwork.protocol.privacy.credential_redaction import mask_credentials, mask_credentials_in_text
from weftwork.protocol.review.bundle_media import AssetLink, elide_long_base64, may_hold_media, reference_media


def mask_document(document: bytes, link: AssetLink | None) -> bytes:
    """Encoded JSON without credentials, media and long base64. Returned unchanged if it contains none of them."""
    if may_hold_media(document):
        return msgspec.json.encode(mask_value(msgspec.json.decode(document), link))
    if may_hold_credential(document):
        return msgspec.json.encode(mask_credentials(msgspec.json.decode(document)))
    return document


def mask_value(value: Any, link: AssetLink | None) -> Any:
    """bundle-02, bundle-08: replace the media, mask the credentials and elide the long base64 of a value."""
    # Media first: its digest must not depend on the masks. Long base64 last, because a credential that was cut in the
    # middle is no longer recognised.
    return map_texts(reference_media(value, link), lambda text: elide_long_base64(mask_credentials_in_text(text)))
