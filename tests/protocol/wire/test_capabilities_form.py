"""The schema of discovery holds the blocks about models and envelopes to their form."""

from typing import Any

import pytest

from tests.protocol.envelopes.sample_envelopes import ABSENT, with_value
from weftwork.protocol.json import schema
from weftwork.protocol.limits import Limits
from weftwork.protocol.wire.capabilities import HostOffer, discovery_document


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/envelopeStrictness", "odd"),
        ("/envelopeContracts/advertised", ABSENT),
        ("/envelopes/reasoning/promptDirective", "loud"),
        ("/envelopes/reliability/events/0", {}),
        ("/envelopes/reliability/more", 1),
        ("/envelopes/reliability/maxRetryAttempts", 17),
        ("/envelopes/reliability/completion/distinguishesTruncation", []),
        ("/aiProviders/supported/0", None),
        ("/aiProviders/more", 1),
        ("/aiProviders/realtimeVoice", {"synthesis": "streaming"}),
    ],
)
def test_the_blocks_about_envelopes_have_a_form(pointer: str, value: Any) -> None:
    document = discovery_document(HostOffer("0.1.0", Limits(), envelopes={"error": 1}, providers=("scripted",)))
    assert schema.check("capabilities", document) == []
    assert schema.check("capabilities", with_value(document, pointer, value))
