"""Interrupts under SIGKILL."""
