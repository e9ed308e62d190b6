"""Our own conformance workflows: ids, nodes and settings as published, words our own."""
