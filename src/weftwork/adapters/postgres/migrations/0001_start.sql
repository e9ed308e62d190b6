-- The schema is the search path of the connection. Every text column that is compared has the collation "C": order and
-- equality must not depend on the locale of the server.

-- The order of creation. A sequence is not the order of commits: a lower number may appear later.
CREATE SEQUENCE run_numbers;

-- One row per run: what every append rewrites. completed_at is set exactly when the status is terminal, so
-- "completed_at IS NULL" means "live". parked: the run only waits; wake_at: when it must be woken. fence: the executor
-- that took the run, 0 for none; retry_at: when that executor tries again to load it. queue and touched_at are for
-- executors that share the work.
CREATE TABLE runs (
  run_no bigint PRIMARY KEY,
  partition text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  workflow_id text COLLATE "C" NOT NULL,
  scope_id text COLLATE "C",
  status text COLLATE "C" NOT NULL,
  last_sequence integer NOT NULL,
  started_at bigint,
  completed_at bigint,
  current_node text COLLATE "C",
  executions bigint NOT NULL,
  error bytea,
  outputs bytea,
  parked boolean NOT NULL,
  wake_at bigint,
  is_child boolean NOT NULL DEFAULT false,
  has_children boolean NOT NULL DEFAULT false,
  fence bigint NOT NULL DEFAULT 0,
  retry_at bigint,
  queue text COLLATE "C",
  touched_at bigint,
  UNIQUE (run_id, partition)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX runs_by_status ON runs (partition, status, run_no);
CREATE INDEX runs_by_workflow ON runs (partition, workflow_id, status, run_no);
CREATE INDEX runs_live_in_scope ON runs (partition, scope_id, run_no) WHERE completed_at IS NULL;
CREATE INDEX runs_untaken ON runs (fence, run_no) WHERE completed_at IS NULL AND NOT parked;
CREATE INDEX runs_waking ON runs (wake_at, run_no) WHERE parked AND wake_at IS NOT NULL;
CREATE INDEX runs_to_retry ON runs (fence, retry_at, run_no) WHERE retry_at IS NOT NULL;
CREATE INDEX runs_ended ON runs (partition, completed_at) WHERE completed_at IS NOT NULL;

-- Kept apart, so that an append never rewrites a large header.
CREATE TABLE run_headers (
  run_no bigint PRIMARY KEY,
  header bytea NOT NULL
);

CREATE TABLE events (
  run_no bigint NOT NULL,
  sequence integer NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  timestamp bigint NOT NULL,
  payload bytea NOT NULL,
  node_id text COLLATE "C",
  causation_id text COLLATE "C",
  schema_version integer NOT NULL,
  engine_version integer NOT NULL,
  interrupt_id text COLLATE "C",
  content_trust text COLLATE "C",
  PRIMARY KEY (run_no, sequence)
);

CREATE TABLE run_state (
  run_no bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value bytea NOT NULL,
  PRIMARY KEY (run_no, kind, name)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);

-- hidden_no is the order of values of the same event.
CREATE TABLE hidden (
  run_no bigint NOT NULL,
  sequence integer NOT NULL,
  hidden_no bigint GENERATED ALWAYS AS IDENTITY,
  pointer text COLLATE "C" NOT NULL,
  value bytea NOT NULL,
  PRIMARY KEY (run_no, sequence, hidden_no)
);

CREATE TABLE run_tags (
  partition text COLLATE "C" NOT NULL,
  tag text COLLATE "C" NOT NULL,
  run_no bigint NOT NULL,
  PRIMARY KEY (partition, tag, run_no)
);

CREATE TABLE idempotency (
  partition text COLLATE "C" NOT NULL,
  slot text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  outcome bytea NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (partition, slot)
);
CREATE INDEX idempotency_by_age ON idempotency (created_at);

-- What is kept of a deleted run: its position in listings, so that a page that ended with it has a next one, and
-- whether rows with its number may remain.
CREATE TABLE deleted_runs (
  run_no bigint PRIMARY KEY,
  partition text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  deleted_at bigint NOT NULL,
  purged boolean NOT NULL
);
CREATE INDEX deleted_by_id ON deleted_runs (partition, run_id, run_no);
CREATE INDEX deleted_unpurged ON deleted_runs (run_no) WHERE NOT purged;
CREATE INDEX deleted_by_age ON deleted_runs (deleted_at) WHERE purged;

-- The open interrupts of all runs. The indexes have all columns of the filters, in the order of lists.
CREATE TABLE open_interrupts (
  run_no bigint NOT NULL,
  interrupt_id text COLLATE "C" NOT NULL,
  partition text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  workflow_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  node_id text COLLATE "C" NOT NULL,
  requested_at bigint NOT NULL,
  due bigint,
  PRIMARY KEY (run_no, interrupt_id)
);
CREATE INDEX open_by_age ON open_interrupts
  (partition, requested_at, run_id, interrupt_id) INCLUDE (kind, node_id, due, workflow_id);
CREATE INDEX open_by_workflow ON open_interrupts
  (partition, workflow_id, requested_at, run_id, interrupt_id) INCLUDE (kind, node_id, due);

-- One row per child run. A child has a higher number than its parent. The root is known by its id, so that a tree can
-- be counted when its first run is deleted.
CREATE TABLE children (
  run_no bigint PRIMARY KEY,
  parent_no bigint NOT NULL,
  partition text COLLATE "C" NOT NULL,
  root text COLLATE "C" NOT NULL,
  awaited boolean NOT NULL,
  cascades boolean NOT NULL
);
CREATE INDEX children_by_parent ON children (parent_no, run_no);
CREATE INDEX children_by_root ON children (partition, root);

-- The result of a child that its parent has not applied yet; deleted with the end of the parent.
CREATE TABLE child_results (
  run_no bigint PRIMARY KEY,
  parent_no bigint NOT NULL,
  node_id text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  sequence integer NOT NULL,
  status text COLLATE "C" NOT NULL,
  outcome bytea NOT NULL
);
CREATE INDEX child_results_by_parent ON child_results (parent_no);

-- Children that are to be cancelled; deleted with their end. The parent may be deleted before that.
CREATE TABLE cancel_requests (
  run_no bigint PRIMARY KEY,
  parent text COLLATE "C" NOT NULL,
  reason text NOT NULL
);

-- One row per fork: its source, known by its id, so that its forks are found when it is deleted.
CREATE TABLE forks (
  run_no bigint PRIMARY KEY,
  partition text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL
);
CREATE INDEX forks_by_source ON forks (partition, source, run_no);

CREATE TABLE annotations (
  run_no bigint NOT NULL,
  annotation_no bigint GENERATED ALWAYS AS IDENTITY,
  annotation_id text COLLATE "C" NOT NULL,
  document bytea NOT NULL,
  PRIMARY KEY (run_no, annotation_no),
  UNIQUE (run_no, annotation_id)
);

-- Bytes of tenants, which are stored elsewhere under `key`; asset_no is the order of creation.
CREATE TABLE assets (
  asset_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  partition text COLLATE "C" NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL UNIQUE,
  size bigint NOT NULL,
  media_type text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  held_until bigint NOT NULL,
  UNIQUE (sha256, partition)
);
CREATE INDEX assets_by_age ON assets (partition, asset_no);
CREATE INDEX assets_by_time ON assets (partition, created_at, asset_no);
CREATE INDEX assets_by_hold ON assets (held_until, asset_no);

-- Which run refers to which asset. The foreign key is what keeps a reference and the deletion of its asset apart: each
-- of the two waits for the other, and the later one fails.
CREATE TABLE asset_refs (
  run_no bigint NOT NULL,
  asset_no bigint NOT NULL REFERENCES assets,
  PRIMARY KEY (run_no, asset_no)
);
CREATE INDEX asset_refs_by_asset ON asset_refs (asset_no);

-- What a partition has, so that nobody has to count it.
CREATE TABLE asset_usage (
  partition text COLLATE "C" PRIMARY KEY,
  count bigint NOT NULL,
  size bigint NOT NULL
);

-- Keys of assets that were deleted and whose bytes are to be deleted.
CREATE TABLE deleted_blobs (
  blob_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key text COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE definitions (
  digest text COLLATE "C" PRIMARY KEY,
  document bytea NOT NULL
);

-- One row per version of a workflow that a tenant registered, in the order of registration.
CREATE TABLE workflows (
  workflow_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  workflow_id text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  name text NOT NULL,
  description text,
  current boolean NOT NULL,
  UNIQUE (tenant, workflow_id, version)
);
CREATE UNIQUE INDEX workflows_current ON workflows (tenant, workflow_id) WHERE current;
CREATE INDEX workflows_by_age ON workflows (tenant, workflow_id, workflow_no);

CREATE TABLE keys (
  key_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key_id text COLLATE "C" NOT NULL UNIQUE,
  digest bytea NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  mode text COLLATE "C" NOT NULL,
  scopes text[] NOT NULL,
  label text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint
);

CREATE TABLE signing_keys (
  key_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kid text COLLATE "C" NOT NULL UNIQUE,
  secret bytea NOT NULL,
  created_at bigint NOT NULL,
  retired_at bigint
);

-- Who executes runs, by slot: the epoch of an executor is the fence of the runs that it takes.
CREATE TABLE elections (
  slot text COLLATE "C" PRIMARY KEY,
  epoch bigint NOT NULL,
  holder text NOT NULL,
  engine_version integer NOT NULL
);
