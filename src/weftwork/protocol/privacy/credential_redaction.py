"""Masks credentials that are recognised by their form, in documents for readers.

Masking leaves the tokens of asset URLs as they are: they consist of random characters, which can look like a
credential, and a changed token is invalid.

A run that has received a credential masks it with CredentialMatcher. Most runs never receive one, and pay nothing: the
engine searches only what callers send, in bytes that are encoded anyway.

Sources: readings (Credentials in what people send), OpenWOP debug-bundle.
"""

from functools import partial
from typing import Any, Final

from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.values import is_array, is_object, map_texts
from weftwork.protocol.media.asset_references import decode_asset_token, find_asset_tokens, rewrite_around_tokens
from weftwork.protocol.privacy.credential_patterns import (
    CREDENTIAL,
    MARKER,
    find_credentials,
    may_hold_credential,
    patterns_in,
)
from weftwork.protocol.privacy.secret_matcher import MAX_TEXT, SecretMatcher, redaction_marker, replace_literals

_OPTIONS: Final = ("tags", "metadata", "configurable")
SECRET_MEDIA: Final = redaction_marker("media")
"""Replaces the token of media that contain a secret."""
MAX_CREDENTIALS: Final = 64
"""Credentials of one run that are learnt, so that copies of another form are found too. All are found by their form."""


def mask_credentials_in_text(text: str) -> str:
    """bundle-02 (OpenWOP debug-bundle): the text with everything masked that looks like a credential."""
    for pattern in patterns_in(text):
        text = rewrite_around_tokens(text, partial(pattern.sub, MARKER))
    return text


def mask_credentials(value: Any) -> Any:
    """A copy of a JSON value with the credentials in its texts and member names masked. Members keep their order."""
    return map_texts(value, mask_credentials_in_text)


def mask_options(document: dict[str, Any]) -> dict[str, Any]:
    """hide-09: a snapshot or list entry of a run with the credentials masked that the options of its request and the
    names of its inputs contain. An input that the workflow does not declare is a variable too, so the caller can choose
    the names of variables. Changes the document."""
    for name in _OPTIONS:
        value: Any = document.get(name)
        if value and may_hold_credential(encode_stored(value)):
            document[name] = mask_credentials(list(value) if name == "tags" else value)
    variables: Any = document.get("variables")
    if variables and may_hold_credential(encode_stored(list(variables))):
        document["variables"] = mask_credentials(variables)
    return document


class CredentialMatcher(SecretMatcher):
    """A SecretMatcher that also finds credentials by their form, once the run has received one."""

    def __init__(self) -> None:
        super().__init__()
        self._credentials = 0
        self._secret_assets: set[bytes] = set()

    def learn_asset(self, sha256: bytes) -> None:
        """hide-08: learn that the bytes of an asset contain what must not be shown. Its tokens are masked, because they
        open it."""
        self._secret_assets.add(sha256)

    def _secret_tokens(self, text: str) -> list[str]:
        tokens = find_asset_tokens(text) if self._secret_assets else []
        return [each for each in tokens if (of := decode_asset_token(each)) and of[0].sha256 in self._secret_assets]

    def learn_credentials(self, value: Any) -> bool:
        """hide-09 (readings, Credentials in what people send): learn the credentials in a value; whether there are any.

        A credential that is already known under the name of a sensitive value keeps that name.
        """
        if not may_hold_credential(encode_stored(value)):
            return False
        found = False
        for text in find_credentials(value):
            found = True
            if self._credentials >= MAX_CREDENTIALS:
                break
            if text not in self._secrets and text[:MAX_TEXT] not in self._learnt:
                self._credentials += 1
                self.learn_secret(CREDENTIAL, text)
        self._credentials = self._credentials or int(found)
        return found

    def is_absent(self, value: Any) -> bool:
        shows_asset = bool(self._secret_assets) and self.shows_secret_asset(encode_stored(value).decode())
        return not shows_asset and super().is_absent(value)

    def shows_secret_asset(self, text: str) -> bool:
        """Whether a text has a URL that opens an asset with a secret."""
        return bool(self._secret_tokens(text))

    def is_absent_in_json(self, encoded: bytes) -> bool:
        return super().is_absent_in_json(encoded) and not (self._credentials and may_hold_credential(encoded))

    def _is_clean(self, value: Any) -> bool:
        if isinstance(value, str):
            return super()._is_clean(value) and (not self._credentials or mask_credentials_in_text(value) == value)
        if self.names_marker(value) is not None:
            return False
        return all(map(self._is_clean, value.values() if is_object(value) else value if is_array(value) else ()))

    def names_marker(self, value: Any) -> str | None:
        if not self._credentials or not is_object(value):
            return None
        return MARKER if any(mask_credentials_in_text(name) != name for name in value) else None

    def mask_counted(self, text: str) -> tuple[str, int]:
        tokens = self._secret_tokens(text)
        count = len(tokens)
        if tokens:
            text = replace_literals(text, tokens, SECRET_MEDIA)

        def mask(part: str) -> str:
            nonlocal count
            masked, found = super(CredentialMatcher, self).mask_counted(part)
            count += found
            return masked

        masked = rewrite_around_tokens(text, mask)
        if not self._credentials or (visible := mask_credentials_in_text(masked)) == masked:
            return masked, count
        return visible, count + 1
