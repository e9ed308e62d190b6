"""`make bench`: what a run costs here, beside a bare web server and two libraries that do similar work."""
