"""Tests of weftwork.adapters.postgres, against real servers."""
