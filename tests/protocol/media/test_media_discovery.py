"""What discovery says of media."""

import pytest

from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, MEDIA_KINDS, UNIVERSAL_KINDS
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.message_parts import Modality
from weftwork.protocol.wire.capabilities import HostOffer, discovery_document


@pytest.mark.rule("disc-09")
def test_media_are_advertised_by_what_is_served_and_what_models_take() -> None:
    kinds = BUILTIN_KINDS.with_displayed(MEDIA_KINDS)
    limits = Limits(max_inline_media_bytes=7, max_bytes_per_part=9)
    more = {"providers": ("scripted",), "modalities": frozenset[Modality]({"image"})}
    document = discovery_document(HostOffer("0.1.0", limits, envelopes=kinds.advertised, **more))
    assert document["supportedEnvelopes"] == [*UNIVERSAL_KINDS, *MEDIA_KINDS]
    assert document["aiProviders"] == {
        "supported": ["scripted"],
        "byok": [],
        "input": {"modalities": ["text", "image"], "maxBytesPerPart": 9},
        "maxInlineMediaBytes": 7,
    }
    # Served and not perceived, or the other way round: each is said by itself.
    served = discovery_document(HostOffer("0.1.0", limits, envelopes=kinds.advertised, providers=("scripted",)))
    assert served["aiProviders"].keys() == {"supported", "byok", "maxInlineMediaBytes"}
    seen = discovery_document(HostOffer("0.1.0", limits, envelopes=BUILTIN_KINDS.advertised, **more))
    assert seen["aiProviders"].keys() == {"supported", "byok", "input"}
