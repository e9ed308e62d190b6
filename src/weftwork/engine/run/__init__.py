"""One live run: its inbox, its loop, its appends and its timers."""
