"""Worker processes that evaluate expressions."""
