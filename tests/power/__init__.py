"""Power loss and disk faults under the SQLite store."""
