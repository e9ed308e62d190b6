"""Pure decisions: from a run's state and one input to events and actions."""
