"""Inspecting runs: debug bundles, diffs, spans, annotations."""
