"""What people are asked and may answer: interrupts, approvals, conversations, tokens."""
