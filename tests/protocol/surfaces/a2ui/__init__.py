"""The A2UI bridge: export, import, and the way back of an action."""
