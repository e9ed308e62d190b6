"""The tests. `tests.live` runs real hosts for those that need one."""
