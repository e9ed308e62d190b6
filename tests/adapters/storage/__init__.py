"""The storage suite on every store, and sabotage that it must notice."""
