-- fence: that of the executor that has taken the run; 0 if none has. retry_at: when it tries again to load the run. No
-- append assigns them. The fence stands behind the outputs, which may be large, but only an ended run has outputs.
ALTER TABLE runs ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN retry_at INTEGER;

-- Replaces runs_awake: an executor looks for runs with a lower fence than its own, in the order of creation.
DROP INDEX runs_awake;
CREATE INDEX runs_untaken ON runs (fence, run_no) WHERE completed_at IS NULL AND parked = 0;
CREATE INDEX runs_retried ON runs (fence, retry_at) WHERE retry_at IS NOT NULL;
