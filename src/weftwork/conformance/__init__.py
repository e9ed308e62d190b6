"""Everything that exists only for conformance tests. A host imports it only if a switch asks for it.

`--conformance` brings `workflows`: workflows, prompts and node types. `--test-seams` brings `test_endpoints`. Nothing
is imported here, so that each switch loads its own part alone.
"""
