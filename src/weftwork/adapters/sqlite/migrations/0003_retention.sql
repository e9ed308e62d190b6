-- Runs that ended before an instant are found without looking at the others.
CREATE INDEX runs_ended ON runs (partition, completed_at) WHERE completed_at IS NOT NULL;

-- What is kept of a deleted run: where it stood in listings, so that a page that ended with it has a next one,
-- and whether anything that carries its number may still have to go.
CREATE TABLE deleted_runs (
  run_no INTEGER PRIMARY KEY,
  partition TEXT NOT NULL,
  run_id TEXT NOT NULL,
  deleted_at INTEGER NOT NULL,
  purged INTEGER NOT NULL
) STRICT;
CREATE INDEX deleted_by_id ON deleted_runs (partition, run_id, run_no);
CREATE INDEX deleted_unpurged ON deleted_runs (run_no) WHERE purged = 0;
CREATE INDEX deleted_by_age ON deleted_runs (deleted_at) WHERE purged = 1;
