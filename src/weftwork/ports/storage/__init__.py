"""The storage ports: what a store has to guarantee."""
