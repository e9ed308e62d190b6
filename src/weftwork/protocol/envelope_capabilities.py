"""What discovery says about models and their envelopes, from the values that the gate and its attempts are made of.

Sources: RFC 0021, 0026, 0030, 0032, 0033, RFC 0094 F.
"""

from typing import Any, Final

from weftwork.protocol.envelope.completion import RELIABILITY_EVENTS, TRUNCATION_MULTIPLIER
from weftwork.protocol.envelope.directive import PROMPT_DIRECTIVE
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.parts import Modality, input_family

STRICTNESS: Final = "warn"
"""An envelope for an older version of its kind is checked against the present one, and marked."""


def envelope_families(
    limits: Limits, providers: tuple[str, ...], modalities: frozenset[Modality] = frozenset(), media: bool = False
) -> dict[str, Any]:
    """disc-08 (RFC 0021, RFC 0032): the blocks of a host whose models speak in envelopes.

    disc-09 (RFC 0055 C, RFC 0091): how media are sent, where they are served, and what models take beside text.
    """
    models: dict[str, Any] = {"supported": list(providers), "byok": []}
    if (taken := input_family(modalities, limits.max_bytes_per_part)) is not None:
        models["input"] = taken
    if media:
        models["maxInlineMediaBytes"] = limits.max_inline_media_bytes
    completion = {"distinguishesTruncation": True, "truncationBudgetMultiplier": TRUNCATION_MULTIPLIER}
    reliability = {
        "supported": True,
        "events": list(RELIABILITY_EVENTS),
        "maxRetryAttempts": limits.max_retry_attempts,
        "completion": completion,
    }
    return {
        "aiEnvelope": {"supported": True, "schemaResponseCounterPolicy": "counted"},
        "aiProviders": models,
        "envelopeContracts": {"advertised": True},
        "envelopeStrictness": STRICTNESS,
        "envelopes": {
            "reasoning": {"supported": True, "promptDirective": PROMPT_DIRECTIVE},
            "reliability": reliability,
        },
    }
