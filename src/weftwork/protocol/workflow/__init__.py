"""Workflow definitions: validation, the execution plan, node types, channels and run options."""
