"""The facades, one per resource. HTTP routes and administration call only these modules of the engine."""
