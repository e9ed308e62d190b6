"""Surfaces: forms as closed documents, their limits, their actions, and the forms of questions (RFC 0102)."""
