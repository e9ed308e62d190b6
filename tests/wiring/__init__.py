"""Tests of the wiring."""
