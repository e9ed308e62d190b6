"""Answering interrupts from the command line."""
