-- One row per version of a workflow that a tenant registered, in the order of registration. The document is in
-- definitions; name and description are copies of what lists show, so that a page reads no documents.
CREATE TABLE workflows (
  workflow_no INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  version TEXT NOT NULL,
  digest TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  name TEXT NOT NULL,
  description TEXT,
  current INTEGER NOT NULL CHECK (current IN (0, 1)),
  UNIQUE (tenant, workflow_id, version)
) STRICT;
CREATE UNIQUE INDEX workflows_current ON workflows (tenant, workflow_id) WHERE current = 1;
-- Ends in workflow_no, as every index does: the versions of a workflow in their order.
CREATE INDEX workflows_by_age ON workflows (tenant, workflow_id);
