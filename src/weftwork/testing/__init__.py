"""Fakes and conformance suites that adopters can run against their own adapters."""
