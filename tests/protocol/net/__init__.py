"""Tests of weftwork.protocol.net."""
