"""Parent and child runs under SIGKILL."""
