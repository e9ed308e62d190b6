-- One row per fork: the run that it was forked from, known by its id, so that its forks are found when it is deleted.
CREATE TABLE forks (
  run_no INTEGER PRIMARY KEY,
  partition TEXT NOT NULL,
  source TEXT NOT NULL
) STRICT;
-- Ends in run_no, as every index does: the forks of a run in the order of their creation.
CREATE INDEX forks_by_source ON forks (partition, source);
