"""Interaction with people: validation of interrupts and answers, approvals, conversations, tokens."""
