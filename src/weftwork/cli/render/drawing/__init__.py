"""Drawings of a workflow, as text and as Mermaid."""
