"""Figures, targets and the report."""
