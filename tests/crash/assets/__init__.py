"""Assets under SIGKILL."""
