"""What discovery says about models and their envelopes, from the values that the gate and its attempts are made of.

Sources: RFC 0021, 0026, 0030, 0032, 0033, RFC 0094 F.
"""

from typing import Any, Final

from weftwork.protocol.envelope.completion import RELIABILITY_EVENTS, TRUNCATION_MULTIPLIER
from weftwork.protocol.envelope.directive import PROMPT_DIRECTIVE
from weftwork.protocol.limits import Limits

STRICTNESS: Final = "warn"
"""An envelope for an older version of its kind is checked against the present one, and marked."""


def envelope_families(limits: Limits, providers: tuple[str, ...]) -> dict[str, Any]:
    """disc-08 (RFC 0021, RFC 0032): the blocks of a host whose models speak in envelopes."""
    completion = {"distinguishesTruncation": True, "truncationBudgetMultiplier": TRUNCATION_MULTIPLIER}
    reliability = {
        "supported": True,
        "events": list(RELIABILITY_EVENTS),
        "maxRetryAttempts": limits.max_retry_attempts,
        "completion": completion,
    }
    return {
        "aiEnvelope": {"supported": True, "schemaResponseCounterPolicy": "counted"},
        "aiProviders": {"supported": list(providers), "byok": []},
        "envelopeContracts": {"advertised": True},
        "envelopeStrictness": STRICTNESS,
        "envelopes": {
            "reasoning": {"supported": True, "promptDirective": PROMPT_DIRECTIVE},
            "reliability": reliability,
        },
    }
