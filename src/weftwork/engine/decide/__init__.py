"""Pure decisions: a run's state and one input in, events and effects out."""
