"""`weftwork runs fork` and `weftwork runs retry`."""
