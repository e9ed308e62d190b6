"""What the engine needs from its surroundings: Protocol classes whose docstrings are contracts."""
