"""Effects under SIGKILL."""
