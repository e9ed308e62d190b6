"""Looking back at runs: debug bundles, diffs, spans, annotations."""
