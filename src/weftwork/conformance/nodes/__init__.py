"""Node types of hosts with `--conformance`."""
