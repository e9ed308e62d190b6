"""All runs of a host: execution, admission, recovery, alarms, parent-child messages."""
