"""The pages say what is so: their commands are run, their tables compared, their links followed."""
