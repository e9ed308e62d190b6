"""Nodes in Python that ask a model: one for a value and a text, one for an envelope of its own kind."""

from typing import Literal

import msgspec

import weftwork


class Reading(msgspec.Struct):
    article: str
    mood: Literal["calm", "angry"]


class Ticket(msgspec.Struct, forbid_unknown_fields=True):
    title: str
    urgent: bool


class Reply(msgspec.Struct):
    article: str
    text: str


ticket_kind = weftwork.EnvelopeKind("vendor.example.ticket", schema=Ticket)


@weftwork.node("example.reply")
async def reply(ctx: weftwork.Context, letter: str) -> Reply:
    """Reads a complaint, and answers in a tone that fits."""
    quoted = ctx.quote(letter, source="letter")
    read = await ctx.call_ai(f"Which article is it about, and how does the writer feel? {quoted}", schema=Reading)
    tone = "Say sorry first." if read.data.mood == "angry" else "Be brief."
    answer = await ctx.call_ai(f"Answer this letter. {quoted}", system=f"You are a shop. {tone}", stream=True)
    return Reply(read.data.article, answer.text)


@weftwork.node("example.ticket")
def ticket(ctx: weftwork.PlainContext, letter: str) -> Ticket:
    """Makes a ticket of a complaint. A model that is in doubt asks a person first."""
    made = ctx.generate_envelope(ticket_kind, ctx.quote(letter, source="letter"), system="You write tickets.")
    if made.envelope_type == "error":
        raise weftwork.NodeError("no_ticket", "The model could make no ticket of this letter.")
    return msgspec.convert(made.payload, Ticket)
