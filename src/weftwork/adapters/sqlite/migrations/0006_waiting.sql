-- parked: the run does nothing but wait; wake_at: when it has something to do by itself. They stand behind large
-- values, but 0, 1 and NULL have no bytes to look for, and a run with outputs has no wake_at.
ALTER TABLE runs ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN wake_at INTEGER;

-- A start looks for runs to go on with and does not meet those that wait.
DROP INDEX runs_live;
CREATE INDEX runs_awake ON runs (run_no) WHERE completed_at IS NULL AND parked = 0;
CREATE INDEX runs_waking ON runs (wake_at) WHERE parked = 1 AND wake_at IS NOT NULL;

-- The interrupts that are open, over all runs; gone with their answer. What lists filter by is all in the indexes, so
-- that a walk along one of them reads nothing else; both are in the order of lists.
CREATE TABLE open_interrupts (
  run_no INTEGER NOT NULL,
  interrupt_id TEXT NOT NULL,
  partition TEXT NOT NULL,
  run_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  node_id TEXT NOT NULL,
  requested_at INTEGER NOT NULL,
  due INTEGER,
  PRIMARY KEY (run_no, interrupt_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX open_by_age ON open_interrupts
  (partition, requested_at, run_id, interrupt_id, kind, node_id, due, workflow_id);
CREATE INDEX open_by_workflow ON open_interrupts
  (partition, workflow_id, requested_at, run_id, interrupt_id, kind, node_id, due);

-- Questions that were open before there was this list.
INSERT INTO open_interrupts
SELECT run_no, row ->> 'interruptId', partition, run_id, workflow_id, row ->> 'kind', row ->> 'nodeId',
  CAST(round((julianday(row ->> 'requestedAt') - 2440587.5) * 86400000) AS INTEGER), NULL
FROM (
  SELECT runs.run_no, partition, run_id, workflow_id, CAST(value AS TEXT) AS row
  FROM run_state JOIN runs USING (run_no)
  WHERE kind = 'interrupt' AND completed_at IS NULL
)
WHERE row ->> 'status' = 'open';
