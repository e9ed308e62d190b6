"""The way out: the guarded client, its guard and its resolver."""
