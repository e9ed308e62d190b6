"""What a refusal means to the person in front of the page, and what to do next."""

from typing import Final

import msgspec


class Advice(msgspec.Struct, frozen=True):
    """A heading, and what can be done."""

    title: str
    next: str
    told: bool = False
    """Whether what the host says about it helps as well."""


BY_CODE: Final = {
    "validation_error": Advice(
        "Your answer was not taken",
        "Nothing was recorded, and the link is still good. Go back, correct the answer and send it again.",
        True,
    ),
    "interrupt_already_resolved": Advice(
        "This has been answered",
        "The question has its answer, or it is past its time. If you sent yours twice, the first one counts. There "
        "is nothing left to do here.",
    ),
    "interrupt_gone": Advice(
        "This is no longer asked",
        "The run that asked was cancelled, and its question with it. There is nothing left to do here.",
    ),
    "interrupt_expired": Advice(
        "This link has expired",
        "The question may still be open. Ask whoever sent you the link for a new one.",
    ),
    "interrupt_not_found": Advice(
        "This link leads nowhere",
        "Perhaps a part of it was lost on the way. Open it again from the message in which it was sent, or ask for "
        "a new one.",
    ),
    "forbidden": Advice(
        "You cannot answer with this link",
        "Nothing was recorded. Ask whoever sent you the link for one that is made for you.",
        True,
    ),
    "untrusted_content_blocks_approval": Advice(
        "This answer is not taken", "Nothing was recorded. An approval takes the word of a person only."
    ),
    "payload_too_large": Advice(
        "Your answer is too long", "Nothing was recorded, and the link is still good. Go back and send a shorter one."
    ),
    "service_unavailable": Advice(
        "The host is busy", "Your answer may not have been recorded. Wait for a moment, then open the link again."
    ),
    "internal_error": Advice(
        "Something went wrong here",
        "It is not known whether your answer was recorded. Open the link again: if it was, the page will say so.",
    ),
}
OTHER: Final = Advice("This did not work", "Nothing was recorded. Open the link again, or ask for a new one.", True)
