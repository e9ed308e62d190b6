"""Everything that exists only for conformance tests. A host imports it only if an option enables it.

`--conformance` loads `workflows`: workflows, prompts and node types. `--test-seams` loads `test_endpoints`. This module
imports nothing, so that each option loads only its own part.
"""
