"""`make bench`: the cost of a run, compared with a bare web server and two libraries that do similar work."""
