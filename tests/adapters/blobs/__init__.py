"""Tests of weftwork.adapters.blobs."""
