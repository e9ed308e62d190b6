-- Whether a run was started by another one, and whether it has started any: a run that is neither pays for nothing of
-- what follows.
ALTER TABLE runs ADD COLUMN is_child INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN has_children INTEGER NOT NULL DEFAULT 0;

-- One row per child. The number of a parent that was deleted is not given out again while a child of it is there: a
-- child has a higher one. The root is known by its id, so that a tree can be counted when its first run is gone.
CREATE TABLE kinship (
  run_no INTEGER PRIMARY KEY,
  parent_no INTEGER NOT NULL,
  partition TEXT NOT NULL,
  root TEXT NOT NULL,
  awaited INTEGER NOT NULL,
  cascades INTEGER NOT NULL
) STRICT;
CREATE INDEX kinship_by_parent ON kinship (parent_no, run_no, awaited, cascades);
CREATE INDEX kinship_by_root ON kinship (partition, root);

-- How a child stands, until its parent has heard it; gone with the end of the parent.
CREATE TABLE news (
  run_no INTEGER PRIMARY KEY,
  parent_no INTEGER NOT NULL,
  node_id TEXT NOT NULL,
  key TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  status TEXT NOT NULL,
  outcome BLOB NOT NULL
) STRICT;
CREATE INDEX news_by_parent ON news (parent_no);

-- Children that are to be cancelled; gone with their end. The parent may be gone first.
CREATE TABLE orders (
  run_no INTEGER PRIMARY KEY,
  parent TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;
