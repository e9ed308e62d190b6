"""Model calls under SIGKILL."""
