"""Rendering of documents and run progress as text lines."""
