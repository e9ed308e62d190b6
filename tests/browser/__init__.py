"""A real browser on the page behind a link."""
