"""Node types that a host has with `--conformance`."""
