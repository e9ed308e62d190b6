"""Secrets in the URLs of media: found however they are written, and presigned URLs are allowed."""

import pytest

from tests.harness.cases import each_case
from tests.protocol.privacy.test_credential_patterns import CREDENTIALS
from weftwork.protocol.media.media_urls import TOKEN_PARAMETERS, find_url_secret
from weftwork.protocol.privacy.credential_redaction import mask_credentials_in_text

BASE = "https://pictures.example.com/a.png"
SECRET = "orchid lagoon/77"


def found(url: str) -> str | None:
    return find_url_secret(url, lambda text: SECRET in text, lambda text: mask_credentials_in_text(text) != text)


@pytest.mark.rule("media-57")
@each_case(
    "url, what",
    ("https://ada@pictures.example.com/a.png", "a user name or a password"),
    ("https://ada:lovelace@pictures.example.com", "a user name or a password"),
    ("https://:x@pictures.example.com?a=b", "a user name or a password"),
    (f"{BASE}?Access-Token=x", "the parameter access_token"),
    (f"{BASE}?a=1;api%5Fkey=x#part", "the parameter api_key"),
    (f"{BASE}?accessToken=x", "the parameter access_token"),
    (f"{BASE}?a=1&client-Secret=x", "the parameter client_secret"),
    (f"{BASE}?a=1&v=AKIAIOSFODNN7EXAMPLE", "text that looks like a credential"),
    (f"{BASE}?next=https%3A%2F%2Fx.example%2F%3Fk%3Dsk-Q7w8E9r0T1y2U3i4", "text that looks like a credential"),
    (f"{BASE}?sk-Q7w8E9r0T1y2U3i4", "text that looks like a credential"),
    (f"{BASE}?v=orchid+lagoon%2F77", "a secret of the run"),
    (f"{BASE}?v=orchid%2520lagoon%252F77", "a secret of the run"),
    ("https://pictures.example.com/orchid%20lagoon/77/a.png", "a secret of the run"),
    *((f"{BASE}?{name.upper()}=x", f"the parameter {name}") for name in sorted(TOKEN_PARAMETERS)),
)
def test_a_secret_in_a_url_is_found(url: str, what: str) -> None:
    assert found(url) == what


@pytest.mark.rule("media-57")
@each_case("name", *(name for name, text in CREDENTIALS.items() if not set(text) & set(" \n&;#/@")))
def test_every_credential_is_found_in_a_query(name: str) -> None:
    assert found(f"{BASE}?v={CREDENTIALS[name]}") == "text that looks like a credential"


@pytest.mark.rule("media-57")
@each_case(
    "url",
    BASE,
    f"{BASE}?width=20&token=&at=me@example.com",
    "https://pictures.example.com/sk-learn-pipeline-images/@2x.png",
    f"{BASE}?X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20260131&X-Amz-Signature=0af3&X-Amz-Expires=60",
    f"{BASE}?AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Signature=vjby&Expires=1141889120",
    f"{BASE}?sv=2026-01-01&sig=abc%3D&se=2026-02-01",
    "no url at all",
)
def test_what_is_no_secret_is_allowed(url: str) -> None:
    assert found(url) is None
