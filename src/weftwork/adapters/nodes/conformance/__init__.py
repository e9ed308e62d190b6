"""Node types used only by conformance tests and published samples."""
