-- Small facts about the store itself.
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per run: what every append rewrites. run_no is the order of creation and never leaves the store.
-- completed_at is set exactly when the status is terminal, so "completed_at IS NULL" means "live".
CREATE TABLE runs (
  run_no INTEGER PRIMARY KEY,
  partition TEXT NOT NULL,
  run_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  scope_id TEXT,
  status TEXT NOT NULL,
  last_sequence INTEGER NOT NULL,
  started_at INTEGER,
  completed_at INTEGER,
  current_node TEXT,
  executions INTEGER NOT NULL,
  error BLOB,
  outputs BLOB,
  UNIQUE (partition, run_id)
) STRICT;
CREATE INDEX runs_by_status ON runs (partition, status, run_no);
CREATE INDEX runs_by_workflow ON runs (partition, workflow_id, status, run_no);
CREATE INDEX runs_live ON runs (run_no) WHERE completed_at IS NULL;
CREATE INDEX runs_live_in_scope ON runs (partition, scope_id, run_no) WHERE completed_at IS NULL;

-- Kept apart, so that an append never rewrites a large header.
CREATE TABLE run_headers (
  run_no INTEGER PRIMARY KEY,
  header BLOB NOT NULL
) STRICT;

-- id is run_no * 2^26 + sequence: one tree, each run's events side by side and in order, no second index, and
-- rows of a few kilobytes still fit a page (an index tree moves everything over 1 KB out of line).
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  event_id TEXT NOT NULL,
  type TEXT NOT NULL,
  timestamp INTEGER NOT NULL,
  payload BLOB NOT NULL,
  node_id TEXT,
  causation_id TEXT,
  schema_version INTEGER NOT NULL,
  engine_version INTEGER NOT NULL
) STRICT;

-- A plain table with an index, for the same reason: values may be large.
CREATE TABLE run_state (
  run_no INTEGER NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (run_no, kind, name)
) STRICT;

CREATE TABLE hidden (
  hidden_no INTEGER PRIMARY KEY,
  run_no INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  pointer TEXT NOT NULL,
  value BLOB NOT NULL
) STRICT;
CREATE INDEX hidden_by_run ON hidden (run_no, sequence);

CREATE TABLE run_tags (
  partition TEXT NOT NULL,
  tag TEXT NOT NULL,
  run_no INTEGER NOT NULL,
  PRIMARY KEY (partition, tag, run_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
  record_no INTEGER PRIMARY KEY,
  partition TEXT NOT NULL,
  slot TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  outcome BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (partition, slot)
) STRICT;
CREATE INDEX idempotency_by_age ON idempotency (created_at);

CREATE TABLE definitions (
  digest TEXT PRIMARY KEY,
  document BLOB NOT NULL
) STRICT;

CREATE TABLE keys (
  key_no INTEGER PRIMARY KEY,
  key_id TEXT NOT NULL UNIQUE,
  digest BLOB NOT NULL,
  tenant TEXT NOT NULL,
  mode TEXT NOT NULL,
  scopes TEXT NOT NULL,
  label TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT;
