"""Tests of `weftwork eval`."""
